# SPDX-License-Identifier: Apache-2.0
"""One version of a Delta table as its writers see it: files with their bounds, and what to keep."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from scrub.errors import RelationMismatch, RelationMissing, StoreUnavailable, first_line
from scrub.stores.delta.features import unsupported
from scrub.stores.delta.log import openable
from scrub.stores.files.data_files import DataFile
from scrub.stores.files.partition_values import partition_text
from scrub.stores.locations import has_scheme, join, normalise

_WRITTEN_RIGHT = frozenset(
    {
        "appendOnly",  # the library refuses to remove files of such a table
        "changeDataFeed",  # without change files, added and removed files are the feed
        "checkConstraints",  # when there are none, see below
        "columnMapping",  # when its mode is none
        "deletionVectors",  # when no file carries one
        "generatedColumns",  # when there are none
        "invariants",  # when there are none
        "timestampNtz",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    }
)
_DEMANDS = ("delta.generationExpression", "delta.invariants", "delta.identity.start")


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFile(DataFile):
    """A data file of a version, with what the log tells of its rows."""

    path: str  # as the log spells it
    rows: int | None
    lowest: Mapping[str, Any]
    highest: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaSnapshot:
    """An opened version; `table` belongs to delta-rs and commits the next one."""

    relation: str
    uri: str
    table: Any
    options: Mapping[str, str]

    @property
    def version(self) -> int:
        return int(self.table.version())

    @property
    def id(self) -> str:
        """Another one for a table that was made again under the same name."""
        return str(self.table.metadata().id)

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(self.table.schema().to_arrow())

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return tuple(self.table.metadata().partition_columns)

    @property
    def configuration(self) -> Mapping[str, str]:
        return dict(self.table.metadata().configuration)

    def files(self) -> list[SnapshotFile]:
        return files_of(self.uri, self.table)


def files_of(uri: str, table: Any) -> list[SnapshotFile]:
    """The files of a version that delta-rs has opened."""
    actions = pa.table(table.get_add_actions(flatten=False)).to_pylist()
    return [
        SnapshotFile(
            path=action["path"],
            uri=resolve(uri, action["path"]),
            bytes=action["size_bytes"],
            rows=action.get("num_records"),
            partition={n: partition_text(v) for n, v in (action.get("partition") or {}).items()},
            lowest=action.get("min") or {},
            highest=action.get("max") or {},
        )
        for action in actions
    ]


@contextmanager
def open_snapshot(
    root: str, relation: str, options: Mapping[str, str], version: int | None = None
) -> Iterator[DeltaSnapshot]:
    """The latest version of a relation, or the one named, opened by delta-rs."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    uri = join(root, relation)
    with openable(uri) as location:
        try:
            table = DeltaTable(location, version=version, storage_options=dict(options) or None)
        except TableNotFoundError as error:
            raise RelationMissing(
                f"there is no Delta table {relation} in {root}",
                hint="an index that is not there yet must be built first, with scrub backfill run",
            ) from error
        except (DeltaError, OSError, ValueError) as error:
            raise StoreUnavailable(f"Delta log of {relation}: {first_line(error)}") from error
        yield DeltaSnapshot(relation=relation, uri=uri, table=table, options=options)


def require_writable(snapshot: DeltaSnapshot) -> None:
    """Refuse by name a table whose writers have duties that are not known here."""
    reason = unsupported(snapshot.table)
    strange = set(snapshot.table.protocol().writer_features or ()) - _WRITTEN_RIGHT
    if reason is None and strange:
        reason = f"uses the table feature {', '.join(sorted(strange))}, which scrub does not write"
    if reason is None and any(k.startswith("delta.constraints.") for k in snapshot.configuration):
        reason = "has constraints of its own, which scrub does not evaluate"
    if reason is None:
        for column in snapshot.table.schema().fields:
            demands = [name for name in _DEMANDS if name in column.metadata]
            if demands:
                reason = f"has the property {demands[0]} on column {column.name}"
    if reason is not None:
        raise RelationMismatch(f"Delta table {snapshot.relation} cannot be written to: it {reason}")


def resolve(table_uri: str, path: str) -> str:
    """A path of the log, which is percent-encoded once, as a location."""
    from urllib.parse import unquote

    if has_scheme(path):
        return normalise(path) if path.startswith("file:") else unquote(path)
    return unquote(path) if path.startswith("/") else join(table_uri, unquote(path))
