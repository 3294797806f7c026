# SPDX-License-Identifier: Apache-2.0
"""The journal of repairs in a lake: a Delta table of events, to which commits only add.

An event is committed as the version that follows the one that was looked at, so what it was based
on still holds when it is there. The number of that version is the event's own: no other has it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from scrub.errors import RelationMismatch, StoreUnavailable, first_line
from scrub.model.table import Column
from scrub.model.types import ColumnType, TypeName
from scrub.stores.delta.commit import until_committed
from scrub.stores.delta.entries import EntriesInFiles, entry_schema, find_entries
from scrub.stores.delta.files import NewFiles
from scrub.stores.delta.journal_names import JOURNAL
from scrub.stores.delta.log import list_log, openable
from scrub.stores.delta.snapshot import DeltaSnapshot, open_snapshot
from scrub.stores.entry_states import shape_by
from scrub.stores.locations import is_local, join

_STRING = ColumnType(TypeName.STRING)
_COLUMNS = (
    Column(name="run", type=_STRING),
    Column(name="event", type=_STRING),
    Column(name="number", type=ColumnType(TypeName.BIGINT)),
    Column(name="position", type=ColumnType(TypeName.INT)),
    Column(name="written", type=ColumnType(TypeName.TIMESTAMP)),
    Column(name="content", type=_STRING),  # JSON
)


class EventKind(StrEnum):
    """What an event tells."""

    BEGIN = "begin"
    REPAIR = "repair"  # a change that is about to be committed to an index
    UNDO = "undo"  # a change that is about to be taken back
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of the journal."""

    run: str
    kind: EventKind
    number: int  # the version of the journal that brought it
    position: int  # among those of this version
    written: datetime
    content: Mapping[str, Any]


class DeltaJournal:
    """The events of all runs in one lake."""

    def __init__(self, root: str, options: Mapping[str, str]) -> None:
        self.root = root
        self.options = options

    def add(
        self,
        run: str,
        kind: EventKind,
        contents: Sequence[Mapping[str, Any]],
        demand: Callable[[DeltaSnapshot], None] = lambda _: None,
    ) -> int:
        """Commit events, unless `demand` raises over the version they come after; their number."""
        self._create()

        def attempt(snapshot: DeltaSnapshot) -> bool:
            demand(snapshot)
            number = snapshot.version + 1
            written = datetime.now(UTC)
            columns = zip(
                *[
                    (run, kind.value, number, position, written, json.dumps(content))
                    for position, content in enumerate(contents)
                ],
                strict=True,
            )
            schema = entry_schema(_COLUMNS)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
            return _commit(snapshot, pa.Table.from_arrays(arrays, schema=schema))

        return self._until_committed(attempt)

    def of_run(self, run: str, snapshot: DeltaSnapshot | None = None) -> list[Event]:
        """Everything that is remembered of a run, in order."""
        return self._events("run", [run], snapshot)

    def of_kinds(self, *kinds: EventKind, snapshot: DeltaSnapshot | None = None) -> list[Event]:
        """Such events of all runs, in order."""
        return self._events("event", [kind.value for kind in kinds], snapshot)

    def remove(self, runs: Sequence[str]) -> None:
        """Remove all events of some runs; files that held them stay until a vacuum."""

        def attempt(snapshot: DeltaSnapshot) -> bool:
            found = _find(snapshot, "run", runs)
            return not found.places or _commit_without(snapshot, found)

        if self.is_there and runs:
            self._until_committed(attempt)

    @property
    def is_there(self) -> bool:
        log = list_log(join(self.root, JOURNAL), self.options)
        return log is not None and bool(log.versions)

    def _events(
        self, column: str, values: Sequence[str], snapshot: DeltaSnapshot | None
    ) -> list[Event]:
        if snapshot is not None:
            return _events(_find(snapshot, column, values).entries)
        if not self.is_there:
            return []
        with self._open() as opened:
            return _events(_find(opened, column, values).entries)

    def _create(self) -> None:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        if self.is_there:
            return
        uri = join(self.root, JOURNAL)
        if is_local(uri):
            pafs.LocalFileSystem().create_dir(join(uri, "_delta_log"))
        try:
            with openable(uri) as location:
                DeltaTable.create(
                    location, entry_schema(_COLUMNS), storage_options=dict(self.options) or None
                )
        except (DeltaError, OSError) as error:
            if self.is_there:
                return  # somebody else was first
            raise StoreUnavailable(
                f"the journal {uri} cannot be created: {first_line(error)}",
                hint="without a journal nothing is repaired",
            ) from error

    def _open(self) -> AbstractContextManager[DeltaSnapshot]:
        return open_snapshot(self.root, JOURNAL, self.options)

    def _until_committed(self, attempt: Callable[[DeltaSnapshot], bool]) -> int:
        number = 0

        def in_latest() -> bool:
            nonlocal number
            with self._open() as snapshot:
                _demand_columns(snapshot)
                # Read before the commit, after which delta-rs may show the new version.
                number = snapshot.version + 1
                return attempt(snapshot)

        until_committed(JOURNAL, in_latest)
        return number


def _demand_columns(snapshot: DeltaSnapshot) -> None:
    known = set(snapshot.schema.names)
    if missing := [column.name for column in _COLUMNS if column.name not in known]:
        raise RelationMismatch(
            f"Delta table {snapshot.uri} is no journal of repairs: it has no column {missing[0]}",
            hint=f"{JOURNAL} is the name under which scrub keeps its journal",
        )


def _find(snapshot: DeltaSnapshot, column: str, values: Sequence[str]) -> EntriesInFiles:
    """Events by one column; files of others are passed over by their bounds."""
    shape = shape_by([column], _COLUMNS, JOURNAL)
    return find_entries(snapshot, shape, pa.table({column: pa.array(values, pa.string())}))


def _events(found: pa.Table) -> list[Event]:
    events = [
        Event(
            run=row["run"],
            kind=EventKind(row["event"]),
            number=row["number"],
            position=row["position"],
            written=row["written"],
            content=json.loads(row["content"]),
        )
        for row in found.to_pylist()
    ]
    return sorted(events, key=lambda event: (event.number, event.position))


def _commit(snapshot: DeltaSnapshot, events: pa.Table) -> bool:
    with NewFiles(snapshot) as new:
        new.write(events)
        return new.commit()


def _commit_without(snapshot: DeltaSnapshot, found: EntriesInFiles) -> bool:
    with NewFiles(snapshot) as new:
        return new.commit(new.write_without(found.places))
