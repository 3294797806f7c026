# SPDX-License-Identifier: Apache-2.0
"""The builds of a PostgreSQL store: beginning one, taking one over, looking at them.

One process at a time runs builds of a table. It holds a lock that ends with its session, so a dead
process holds nobody up, and it signs the build, so that workers it left behind notice and stop.
"""

import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property

import psycopg

from scrub.errors import StoreUnavailable, UsageError
from scrub.model.build import Method, State
from scrub.model.command_line import backfill_line
from scrub.model.table import Index, Store, Table
from scrub.stores.building import Blocker
from scrub.stores.postgres.blocking import writers_of
from scrub.stores.postgres.building.beginning import NewBuild, begin, entries_of, rehearse
from scrub.stores.postgres.building.build import PostgresBuild
from scrub.stores.postgres.building.builds import Build, Builds, Range, share_counts
from scrub.stores.postgres.building.place import BuildPlace
from scrub.stores.postgres.building.renewing import demand_renewable, renew
from scrub.stores.postgres.building.standing import Standing, standing_of
from scrub.stores.postgres.connections import Connection, connect, conninfo_of
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.index_names import IndexNames
from scrub.stores.postgres.relations import find_relation
from scrub.stores.postgres.session_locks import holder_of, try_lock, unlock_all

_POLL_SECONDS = 0.1
ENDED = (State.PUBLIC, State.REVERSED)


class PostgresBuilds:
    """Builds of one store, through one session that holds the lock of whoever runs them."""

    def __init__(self, store: Store) -> None:
        self.schema = store.schema or "public"
        self.conninfo = conninfo_of(store.url, store.options)
        self.builds = Builds(self.schema)

    @cached_property
    def connection(self) -> Connection:
        connection = connect(self.conninfo)
        connection.autocommit = True
        return connection

    def close(self) -> None:
        if "connection" in self.__dict__:
            # The server notices only a moment later that a session has ended.
            with suppress(psycopg.Error):
                unlock_all(self.connection)
            self.connection.close()

    def entries(self, table: Table, indexes: Sequence[Index]) -> tuple[EntrySql, ...]:
        return entries_of(self.connection, self.schema, table, indexes)

    def rows_expected(self, table: Table) -> int | None:
        return find_relation(self.connection, self.schema, table.relation).rows

    def begin(
        self,
        table: Table,
        indexes: Sequence[Index],
        method: Method,
        rows_per_second: int | None,
        owner: str | None = None,
    ) -> PostgresBuild:
        """A new build. Raises GaveWay while writers hold the table's lock."""
        self.hold(table)
        self._demand_free(table)
        new = NewBuild(self.schema, owner, table, method, self.entries(table, indexes))
        build = begin(self.connection, new, rows_per_second)
        return self._signed(table, build, method, new.entries)

    def _demand_free(self, table: Table) -> None:
        """One build of a table at a time: refuse if another is not over."""
        if (other := self.unfinished(table)) is not None:
            raise UsageError(
                f"table {table.name}: a build of {', '.join(other.indexes)} is under way "
                f"({other.state})",
                hint=f"go on with it: {backfill_line('resume', table)}; or reverse it: "
                + backfill_line("cancel", table, "--execute"),
            )

    def rehearse(
        self, table: Table, indexes: Sequence[Index], method: Method, owner: str | None = None
    ) -> tuple[EntrySql, ...]:
        """What a new build would make; refuses what `begin` would, and changes nothing."""
        self._demand_free(table)
        new = NewBuild(self.schema, owner, table, method, self.entries(table, indexes))
        rehearse(self.connection, new)
        return new.entries

    def take_over(self, table: Table, record: Build) -> PostgresBuild:
        """Run a build that another process began, and does not run any more."""
        self.hold(table)
        entries = self.entries(table, self._described(table, record))
        return self._signed(table, record.id, record.method, entries)

    def take_over_to_remove(
        self, table: Table, record: Build, patience_seconds: float = 0.0
    ) -> PostgresBuild:
        """The same for whoever removes what it made; one that still runs notices, and stops.

        That needs no more than names, so an index can be removed whose columns are gone.
        """
        names = self.names_of(table, record)
        if patience_seconds:
            self.builds.change(self.connection, record.id, runner=uuid.uuid4().hex)
        self._hold_soon(table, patience_seconds)
        return self._signed(table, record.id, record.method, (), names)

    def names_of(self, table: Table, record: Build) -> tuple[IndexNames, ...]:
        """How things are called that a build made."""
        return tuple(
            IndexNames(index=index.name, schema=self.schema, relation_name=index.relation)
            for index in self._described(table, record)
        )

    @staticmethod
    def _described(table: Table, record: Build) -> list[Index]:
        """What a build makes; refuses if the catalog no longer describes it."""
        indexes = [index for index in table.indexes if index.name in record.indexes]
        if len(indexes) != len(record.indexes):
            gone = sorted(set(record.indexes) - {index.name for index in indexes})
            raise UsageError(
                f"the catalog no longer has index {', '.join(gone)} of table {table.name}, which "
                "is being built",
                hint="put it back, to resume or to cancel the build",
            )
        return indexes

    def _signed(
        self,
        table: Table,
        build: int,
        method: Method,
        entries: tuple[EntrySql, ...],
        names: tuple[IndexNames, ...] = (),
    ) -> PostgresBuild:
        runner = uuid.uuid4().hex
        self.builds.change(self.connection, build, runner=runner)
        at = (self.conninfo, self.schema, table.relation, build, runner, method)
        return PostgresBuild(BuildPlace(*at, entries, names))

    def _hold_soon(self, table: Table, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.hold(table)
            except StoreUnavailable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_POLL_SECONDS)

    def holder(self, table: Table) -> str | None:
        """The session that runs a build of the table now."""
        return holder_of(self.connection, self._lock_name(table))

    def _lock_name(self, table: Table) -> str:
        return f"scrub builds {self.schema}.{table.relation}"

    def hold(self, table: Table) -> None:
        """Be the one that runs builds of this table."""
        if try_lock(self.connection, self._lock_name(table)):
            return
        raise StoreUnavailable(
            f"another process runs a build of table {table.name}: "
            + (self.holder(table) or "it has just begun"),
            hint=f"look at it with: {backfill_line('status', table)}",
        )

    def standing(self, table: Table, record: Build) -> list[Standing]:
        """How what keeps the indexes of a build fits the table by now."""
        relation = find_relation(self.connection, self.schema, table.relation)
        return [
            standing_of(self.connection, relation, names) for names in self.names_of(table, record)
        ]

    def renew(self, table: Table, indexes: Sequence[Index], owner: str | None) -> None:
        """Make the functions of public indexes anew. Raises GaveWay while writers must go first."""
        self.hold(table)
        relation = find_relation(self.connection, self.schema, table.relation)
        for entry in self.entries(table, indexes):
            renew(self.connection, relation, entry, owner, table.catalog)

    def rehearse_renewal(self, table: Table, indexes: Sequence[Index], owner: str | None) -> None:
        """Refuse what `renew` would; nothing is changed."""
        relation = find_relation(self.connection, self.schema, table.relation)
        for entry in self.entries(table, indexes):
            demand_renewable(self.connection, relation, entry, owner, table.catalog)

    def published(self, first: Build, entries: Mapping[str, int]) -> dict[str, Build]:
        """The records of indexes that one build has published, each with its own counts."""
        return share_counts(self.connection, self.builds, first, entries)

    def of_table(self, table: Table) -> list[Build]:
        return self.builds.of_table(self.connection, table.name)

    def unfinished(self, table: Table) -> Build | None:
        found = self.of_table(table)
        return next((build for build in found if build.state not in ENDED), None)

    def ranges(self, build: Build) -> list[Range]:
        return self.builds.ranges_of(self.connection, build.id)

    def writers(self, table: Table) -> list[Blocker]:
        """Who writes to the table now, or holds what it wrote."""
        return writers_of(self.connection, self.schema, table.relation)

    def adjust(self, build: Build, **values: object) -> None:
        """Change the pace, or pause; workers see it with their next chunk."""
        self.builds.change(self.connection, build.id, **values)
