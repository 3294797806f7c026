# SPDX-License-Identifier: Apache-2.0
"""What the rows of a Delta table demand of an index: what repairs judge entries by.

An index that follows its table is judged by the version that it shows, which its own log holds, so
that nothing can come in between. Any other index is judged by the latest version of the table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from scrub.codec.json_values import to_table
from scrub.errors import RelationMismatch, UsageError
from scrub.model.command_line import follow_line
from scrub.model.entry_shape import EntryShape
from scrub.model.index_shape import shape_of
from scrub.model.repair import Action
from scrub.model.table import Index, Table
from scrub.stores.delta.lake import Lake
from scrub.stores.delta.marks import followed_version, require_same_table
from scrub.stores.delta.rows import DemandCache
from scrub.stores.delta.snapshot import DeltaSnapshot
from scrub.stores.entry_states import Values
from scrub.stores.recovering import key_columns
from scrub.stores.row_entries import RowEntries, native_row_entries, with_evident_types

EntriesOf = Callable[[Table, Index], RowEntries]


@dataclass(frozen=True, slots=True)
class Demanded:
    """The entries that rows should have, for each key, in one version of the table."""

    entries: list[list[Values]]
    version: int
    is_latest: bool  # the table may have moved on since


class DemandSource(Protocol):
    """Where repairs learn what an index should hold: from rows in columns, or from pairs."""

    def shape(self, table: Table, index: Index) -> EntryShape:
        """The columns of the index's entries, with their types."""

    def demanded(
        self, snapshot: DeltaSnapshot, table: Table, index: Index, actions: Sequence[Action]
    ) -> Demanded:
        """What the rows that some actions concern demand of a version of the index."""


def entries_without_spark(table: Table, index: Index) -> RowEntries:
    """What makes entries where every engine agrees on the index's expressions; else a refusal."""
    made = native_row_entries(table, with_evident_types(table, index))
    if made is None:
        texts = ", ".join(f"'{text}'" for text in index.expressions)
        raise UsageError(
            f"index {index.name} is not repaired: only Spark can evaluate {texts}",
            hint="rebuild the index: drop it, and build it again with scrub backfill",
        )
    return made


@dataclass(frozen=True, slots=True)
class RowDemands:
    """The demands of rows in columns; `maker` turns rows into entries of an index."""

    lake: Lake
    maker: EntriesOf = entries_without_spark
    _cache: DemandCache = field(default_factory=DemandCache)

    def shape(self, table: Table, index: Index) -> EntryShape:
        return shape_of(table, self.maker(table, index).index)

    def demanded(
        self, snapshot: DeltaSnapshot, table: Table, index: Index, actions: Sequence[Action]
    ) -> Demanded:
        maker = self.maker(table, index)
        version = _version_shown(snapshot, table, maker.index)
        keys = to_table([action.primary_key or {} for action in actions], key_columns(table))
        with self.lake.open(table.store, table.relation, version) as of_table:
            require_same_table(snapshot, of_table, maker.index.name, RelationMismatch)
            entries = self._cache.of(of_table, table, maker, keys)
            return Demanded(entries, of_table.version, version is None)


def _version_shown(snapshot: DeltaSnapshot, table: Table, index: Index) -> int | None:
    """The version of the table that an index is judged by; None for the latest."""
    followed = followed_version(snapshot, table.relation)
    if followed is not None or index.reflects is None:
        return followed
    if index.reflects.version is None:
        raise UsageError(
            f"index {index.name} is not repaired: it reflects the table with a lag that only a "
            "check resolves",
            hint="name the version (reflects: {version: N}), or have the index follow: "
            + follow_line(table, index.name),
        )
    return index.reflects.version
