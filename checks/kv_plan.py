# SPDX-License-Identifier: Apache-2.0
"""A check of a table in key-value layout, decided: what is read, by whom, and what is not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checks.kv_keys import KeyChoice
from checks.native_fingerprint import NumberedSplit
from checks.plan import bucket_bits
from scrub.errors import UsageError
from scrub.model.kv import KvTable
from scrub.model.relation import RelationFacts, SplitKind
from scrub.model.request import CheckRequest, Engine
from scrub.model.table import Column, Index, Table
from scrub.model.types import ColumnType, TypeName

BINARY = ColumnType(TypeName.BINARY)
STAMP = "ts"  # the column of versions
PAIR = tuple(Column(name=name, type=BINARY) for name in ("key", "value"))


@dataclass(frozen=True, slots=True, kw_only=True)
class KvRelation:
    """A relation that holds pairs of the table, and which of its pairs these are."""

    facts: RelationFacts
    keys: KeyChoice

    @property
    def stamp(self) -> Column | None:
        """The column that tells which version of a pair is the latest, if there are several."""
        known = self.facts.columns.get(STAMP)
        return None if known is None else Column(name=STAMP, type=known)


@dataclass(frozen=True, slots=True, kw_only=True)
class KvPlan:
    """A table in key-value layout: which relations hold its pairs, what to look at, and how."""

    table: Table
    relations: tuple[KvRelation, ...]  # the first holds the rows
    indexes: tuple[str, ...]  # to be compared with the rows
    bucket_bits: int
    engine: Engine  # NATIVE or SQL, never AUTO
    reason: str  # why this engine
    are_files: bool = False  # whether tasks can open what Spark reads, too
    notes: tuple[str, ...] = ()

    @property
    def kv(self) -> KvTable:
        assert self.table.kv is not None, "only tables in key-value layout come here"
        return self.table.kv

    @property
    def snapshot(self) -> str:
        return ", ".join(dict.fromkeys(of.facts.snapshot.label for of in self.relations))

    @property
    def is_native(self) -> bool:
        return self.engine is Engine.NATIVE

    @property
    def looks_at_order(self) -> bool:
        """Whether files are said to be sorted, and tasks can open them to see."""
        return self.kv.sorted and self.are_files

    @property
    def splits(self) -> tuple[NumberedSplit, ...]:
        """The splits of all relations, numbered through."""
        splits = [(r, split) for r, of in enumerate(self.relations) for split in of.facts.splits]
        return tuple(NumberedSplit(n, r, split) for n, (r, split) in enumerate(splits))

    def relation_of(self, index: str) -> int:
        """The number of the relation that holds an index's entries."""
        of = self.table.index(index)
        places = [(relation.facts.store, relation.facts.relation) for relation in self.relations]
        return places.index((of.store, of.relation))


def plan_pairs(
    table: Table,
    relations: Sequence[KvRelation],
    indexes: Sequence[Index],
    request: CheckRequest,
    native_refusal: str | None = None,
) -> KvPlan:
    """Decide how the pairs of some relations are read; the table's relation is the first."""
    unopened = next(_unopened(relations), native_refusal)
    obstacle = unopened or next(_together(table, relations), None)
    if request.engine is Engine.NATIVE and obstacle:
        raise UsageError(
            f"--engine native cannot read {table.name}: {obstacle}", hint="use --engine auto"
        )
    reason = "asked for" if request.engine is Engine.SQL else obstacle
    notes = [
        f"{of.facts.relation} offers no snapshot: two readings of it may differ"
        for of in relations
        if not of.facts.snapshot.pinned
    ]
    if native_refusal and obstacle == native_refusal:
        notes.append(f"Spark read everything: {native_refusal}")
    rows = [of.facts.rows for of in relations]
    return KvPlan(
        table=table,
        relations=tuple(relations),
        indexes=tuple(index.name for index in indexes),
        bucket_bits=bucket_bits(None if None in rows else sum(n for n in rows if n is not None)),
        engine=Engine.SQL if reason else Engine.NATIVE,
        reason=reason or "tasks open the files",
        are_files=unopened is None and request.engine is not Engine.SQL,
        notes=tuple(notes),
    )


def _unopened(relations: Sequence[KvRelation]) -> Iterator[str]:
    """Why tasks cannot open files by themselves."""
    for of in relations:
        if not of.facts.native:
            yield of.facts.native_reason
        if any(split.kind is not SplitKind.PARQUET for split in of.facts.splits):
            yield f"{of.facts.relation} is not in files"
        for name in ("key", "value"):
            if of.facts.columns[name] != BINARY:
                yield f"column {name} of {of.facts.relation} is not binary"


def _together(table: Table, relations: Sequence[KvRelation]) -> Iterator[str]:
    """Why pairs of several files must be brought together first."""
    assert table.kv is not None
    if any(STAMP in of.facts.columns for of in relations):
        yield "only Spark brings the versions of a pair together"
    if len(table.kv.families) > 1:
        yield "only Spark brings the families of a row together"
