# SPDX-License-Identifier: Apache-2.0
"""Planning the check of a table in key-value layout: what is read, and by whom; pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checks.buckets import bucket_bits
from checks.registry import PHYSICAL
from scrub.errors import UsageError
from scrub.model.kv import KeyChoice
from scrub.model.plan import IndexPlan, PairRelation, PairsPlan, Side, TablePlan, WholePlan
from scrub.model.relation import RelationFacts, SplitKind
from scrub.model.request import CheckRequest, Engine
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import ColumnType, TypeName

BINARY = ColumnType(TypeName.BINARY)
STAMP = "ts"  # the column of versions
PAIR = tuple(Column(name=name, type=BINARY) for name in ("key", "value"))

_KEY, _ROW, _VALUE = (
    EntryColumn(name=name, source=name, type=BINARY) for name in ("key", "row", "value")
)
PAIR_INDEX = Index(
    name="pairs", store="", relation="", key=(_KEY,), suffix=(_ROW,), stored=(_VALUE,)
)
PAIR_TABLE = Table(
    name="pairs",
    store="",
    relation="",
    columns=tuple(Column(name=name, type=BINARY) for name in ("key", "row", "value")),
    primary_key=("key", "row"),
)
"""Entries as the merge join knows them: bytes that identify, and bytes that are stored.

A key alone does not identify the entry of a unique index: whose it is stands in its value.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPairs:
    """A relation that holds pairs of a table, and which of its pairs these are."""

    facts: RelationFacts
    keys: KeyChoice


def stamp_of(facts: RelationFacts) -> Column | None:
    """The column that tells which version of a pair is the latest, if there are several."""
    known = facts.columns.get(STAMP)
    return None if known is None else Column(name=STAMP, type=known)


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedPairs:
    """A table of pairs, its relations at the snapshots to compare, and what to look at."""

    table: Table
    relations: tuple[HeldPairs, ...]  # the first holds the rows
    indexes: tuple[Index, ...]  # to be compared with the rows
    physical: bool
    constraints: bool = False  # whether its rows are decoded to check them

    @property
    def snapshot(self) -> str:
        return ", ".join(dict.fromkeys(of.facts.snapshot.label for of in self.relations))


def plan_pairs(
    request: CheckRequest, pinned: PinnedPairs, native_refusal: str | None = None
) -> TablePlan:
    """Decide how the pairs of a table are read."""
    table, held = pinned.table, pinned.relations
    unopened = next(_unopened(held), native_refusal)
    obstacle = unopened or next(_together(table, held), None)
    if request.engine is Engine.NATIVE and obstacle:
        raise UsageError(
            f"--engine native cannot read {table.name}: {obstacle}", hint="use --engine auto"
        )
    reason = "asked for" if request.engine is Engine.SQL else obstacle
    are_files = unopened is None and request.engine is not Engine.SQL
    relations = tuple(
        PairRelation(
            side=Side(
                facts=of.facts,
                engine=Engine.SQL if reason else Engine.NATIVE,
                reason=reason or "tasks open the files",
                columns=tuple(c.name for c in (*PAIR, stamp_of(of.facts)) if c is not None),
            ),
            keys=of.keys,
        )
        for of in held
    )
    sides = {(of.facts.store, of.facts.relation): of.side for of in relations}
    rows = [of.facts.rows for of in held]
    return TablePlan(
        table=table,
        side=relations[0].side,
        indexes=tuple(
            IndexPlan(index=index, side=sides[index.store, index.relation])
            for index in pinned.indexes
        ),
        bucket_bits=bucket_bits(None if None in rows else sum(n for n in rows if n is not None)),
        whole=(_plan_physical(table, are_files=are_files),) if pinned.physical else (),
        notes=tuple(_notes(held, native_refusal, obstacle)),
        pairs=PairsPlan(relations=relations, are_files=are_files),
    )


def _plan_physical(table: Table, *, are_files: bool) -> WholePlan:
    assert table.kv is not None
    unsorted = "the order of keys was not checked: Spark read the files"
    notes = (unsorted,) if table.kv.sorted and not are_files else ()
    columns = tuple(column.name for column in PAIR)
    return WholePlan(check=PHYSICAL.name, columns=columns, notes=notes)


def _notes(
    held: Sequence[HeldPairs], native_refusal: str | None, obstacle: str | None
) -> Iterator[str]:
    for of in held:
        if not of.facts.snapshot.pinned:
            yield f"{of.facts.relation} offers no snapshot: two readings of it may differ"
    if native_refusal and obstacle == native_refusal:
        yield f"Spark read everything: {native_refusal}"


def _unopened(held: Sequence[HeldPairs]) -> Iterator[str]:
    """Why tasks cannot open files by themselves."""
    for of in held:
        if not of.facts.native:
            yield of.facts.native_reason
        if any(split.kind is not SplitKind.PARQUET for split in of.facts.splits):
            yield f"{of.facts.relation} is not in files"
        for name in ("key", "value"):
            if of.facts.columns[name] != BINARY:
                yield f"column {name} of {of.facts.relation} is not binary"


def _together(table: Table, held: Sequence[HeldPairs]) -> Iterator[str]:
    """Why pairs of several files must be brought together first."""
    assert table.kv is not None
    if any(STAMP in of.facts.columns for of in held):
        yield "only Spark brings the versions of a pair together"
    if len(table.kv.families) > 1:
        yield "only Spark brings the families of a row together"
