# SPDX-License-Identifier: Apache-2.0
"""The stores that can be written to: how a test makes a relation, opens it, and looks at it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from scrub.model.entry_shape import EntryShape, Tombstones
from scrub.model.table import Store
from scrub.stores.delta_entries import entry_schema
from scrub.stores.delta_writes import DeltaWriter
from scrub.stores.writing import WritableStore


@dataclass(frozen=True)
class WritableFormat:
    """A store to hold to the contract of conditional writes."""

    name: str
    create: Callable[[Path, EntryShape], None]  # an empty relation for the shape
    open: Callable[[Path], WritableStore]
    rows: Callable[[Path, EntryShape], list[dict[str, Any]]]  # all, tombstones included
    tombstones: frozenset[Tombstones] = field(default_factory=lambda: frozenset(Tombstones))
    lacks: frozenset[str] = frozenset()  # types that the store does not hold
    commits: Callable[[Path, EntryShape], int] | None = None  # how many there were, if it counts


def _create_delta(root: Path, shape: EntryShape) -> None:
    DeltaTable.create(str(root / shape.relation), entry_schema(shape.columns))


def _open_delta(root: Path) -> WritableStore:
    return DeltaWriter(Store(name="lake", kind="delta", path=str(root)))


def _rows_of_delta(root: Path, shape: EntryShape) -> list[dict[str, Any]]:
    table = DeltaTable(str(root / shape.relation)).to_pyarrow_table(columns=list(shape.names))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _commits_of_delta(root: Path, shape: EntryShape) -> int:
    return DeltaTable(str(root / shape.relation)).version()


WRITABLE_FORMATS = [
    WritableFormat(
        name="delta",
        create=_create_delta,
        open=_open_delta,
        rows=_rows_of_delta,
        tombstones=frozenset({Tombstones.NONE, Tombstones.NULL_VALUE}),
        commits=_commits_of_delta,
    ),
]
