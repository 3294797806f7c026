# SPDX-License-Identifier: Apache-2.0
"""Writing to a Delta table from a user's own job, which brings its indexes up to date afterwards.

The table is committed first, in one commit, by primary key; the indexes then follow. If a job is
killed in between, the table is written, and whoever follows next brings the indexes up to date.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from scrub.app.building.delta_selection import build_of, select_table
from scrub.app.building.follow import FollowRequest, FollowRound, follow_once
from scrub.catalog import Catalog
from scrub.errors import RelationMismatch, StoreUnavailable, UsageError, first_line
from scrub.model.table import Index, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ACTION = "scrub action"
_ATTEMPTS_MAX = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWrite:
    """What one write did: the table's new version, rows by what became of them, the indexes."""

    version: int
    inserted: int
    updated: int
    deleted: int
    indexes: FollowRound


def open_table(
    catalog: Path | str, table: str, *, spark: "SparkSession | None" = None
) -> "OpenTable":
    """A Delta table of the catalog, to be written to."""
    path = Path(catalog)
    loaded, chosen = select_table(path, table)
    return OpenTable(path, loaded, chosen, spark)


class OpenTable:
    """A table whose indexes are caught up after each write."""

    def __init__(
        self, path: Path, catalog: Catalog, table: Table, spark: "SparkSession | None"
    ) -> None:
        self._path = path
        self._catalog = catalog
        self._table = table
        self._spark = spark

    def write(self, upserts: pa.Table | None = None, deletes: pa.Table | None = None) -> TableWrite:
        """Insert or replace rows, and delete others, by primary key and in one commit.

        `upserts` holds whole rows, `deletes` at least the primary key. A key may come once.
        """
        source = self._source(upserts, deletes)
        version, metrics = self._merge(source) if source.num_rows else (self._version(), {})
        return TableWrite(
            version=version,
            inserted=metrics.get("num_target_rows_inserted", 0),
            updated=metrics.get("num_target_rows_updated", 0),
            deleted=metrics.get("num_target_rows_deleted", 0),
            indexes=self._catch_up(),
        )

    def _catch_up(self) -> FollowRound:
        names = [index.name for index in self._table.indexes]
        following = tuple(index.name for index in self._table.indexes if self._follows(index))
        if not following:
            return FollowRound(passed_over=names)
        request = FollowRequest(table=self._table.name, indexes=following, catalog=self._path)
        return follow_once(request, spark=self._spark)

    def _follows(self, index: Index) -> bool:
        if self._catalog.stores[index.store].kind != "delta":
            return False
        return build_of(self._catalog, self._table, index).look().shown is not None

    def _source(self, upserts: pa.Table | None, deletes: pa.Table | None) -> pa.Table:
        """Rows of both kinds in one table, each with what is to be done."""
        key = list(self._table.primary_key)
        parts = []
        for rows, action, needed in (
            (upserts, "upsert", [column.name for column in self._table.columns]),
            (deletes, "delete", key),
        ):
            if rows is None or not rows.num_rows:
                continue
            if missing := [name for name in needed if name not in rows.column_names]:
                raise UsageError(
                    f"rows to {action} in {self._table.name} lack: {', '.join(missing)}"
                )
            chosen = rows if action == "upsert" else rows.select(key)
            actions = pa.repeat(pa.scalar(action), rows.num_rows)
            parts.append(chosen.append_column(_ACTION, actions))
        if not parts:
            return pa.table({_ACTION: pa.array([], pa.string())})
        source = pa.concat_tables(parts, promote_options="permissive")
        for name in key:
            if source.column(name).null_count:
                raise UsageError(f"a row of {self._table.name} has no {name}: it may not be NULL")
        counts = source.group_by(key).aggregate([([], "count_all")]).column("count_all")
        if pc.max(counts).as_py() > 1:
            raise UsageError(
                f"a primary key of {self._table.name} comes more than once in one write",
                hint="write each row once: in `upserts`, or in `deletes`",
            )
        return source

    def _open(self) -> Any:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        from scrub.stores.delta.store import DeltaStore
        from scrub.stores.locations import join

        store = DeltaStore(self._catalog.stores[self._table.store])
        location = join(store.root, self._table.relation)
        try:
            return DeltaTable(location, storage_options=store.options or None)
        except DeltaError as error:
            raise RelationMismatch(
                f"Delta table {self._table.relation}: {first_line(error)}"
            ) from error

    def _version(self) -> int:
        return int(self._open().version())

    def _merge(self, source: pa.Table) -> tuple[int, dict[str, Any]]:
        from deltalake.exceptions import CommitFailedError

        def attempt() -> tuple[int, dict[str, Any]]:
            table = self._open()
            known = {field.name for field in table.schema().fields}
            columns = [name for name in source.column_names if name != _ACTION]
            if strange := [name for name in columns if name not in known]:
                raise UsageError(f"{self._table.relation} has no column {', '.join(strange)}")
            same_key = " AND ".join(f"t.{_q(n)} = s.{_q(n)}" for n in self._table.primary_key)
            values = {_q(name): f"s.{_q(name)}" for name in columns}
            metrics = (
                table.merge(source, same_key, source_alias="s", target_alias="t")
                .when_matched_delete(f"s.{_q(_ACTION)} = 'delete'")
                .when_matched_update(values, f"s.{_q(_ACTION)} = 'upsert'")
                .when_not_matched_insert(values, f"s.{_q(_ACTION)} = 'upsert'")
                .execute()
            )
            return int(table.version()), metrics

        return _patiently(attempt, CommitFailedError, self._table.relation)


def _patiently(
    attempt: Callable[[], tuple[int, dict[str, Any]]], conflict: type[Exception], relation: str
) -> tuple[int, dict[str, Any]]:
    """Again when another writer came between: the merge then sees what that one wrote."""
    for number in range(_ATTEMPTS_MAX):
        try:
            return attempt()
        except conflict:
            time.sleep(random.uniform(0, min(0.02 * 2**number, 2.0)))
    raise StoreUnavailable(f"Delta table {relation}: others committed first, again and again")


def _q(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
