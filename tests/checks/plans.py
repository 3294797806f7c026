# SPDX-License-Identifier: Apache-2.0
"""Small plans for tests of decisions, which need no store and no Spark."""

from checks.numbering import Relation, Slot, number_plan
from checks.pairs.table import PairTable
from checks.parts import Part, cut
from scrub.model.kv import KeyChoice
from scrub.model.plan import CheckPlan, IndexPlan, PairRelation, PairsPlan, Side, TablePlan
from scrub.model.relation import RelationFacts, Snapshot, Split, SplitKind
from scrub.model.request import Engine, Strategy
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import ColumnType, TypeName

LONG = ColumnType(TypeName.BIGINT)


def an_index(name: str, *, unique: bool = False) -> Index:
    return Index(
        name=name,
        store="lake",
        relation=f"orders__{name}",
        key=(EntryColumn(name="customer", source="customer", type=LONG),),
        suffix=(EntryColumn(name="id", source="id", type=LONG),),
        unique=unique,
    )


def a_side(relation: str, files: int = 1, engine: Engine = Engine.NATIVE) -> Side:
    facts = RelationFacts(
        store="lake",
        relation=relation,
        snapshot=Snapshot(label="version 1", version=1),
        columns={"customer": LONG, "id": LONG},
        splits=tuple(
            Split(kind=SplitKind.PARQUET, uri=f"{relation}/{n}.parquet", bytes=100, rows=10)
            for n in range(files)
        ),
        rows=10 * files,
        native=True,
    )
    return Side(facts=facts, engine=engine, reason="", columns=("id", "customer"))


def a_plan(*names: str, pairs: bool = False, strategy: Strategy = Strategy.AUTO) -> CheckPlan:
    """One table with indexes; pairs of all of them are in one relation."""
    indexes = tuple(map(an_index, names))
    columns = tuple(Column(name=name, type=LONG) for name in ("id", "customer"))
    table = Table(
        name="orders",
        store="lake",
        relation="orders",
        columns=columns,
        primary_key=("id",),
        indexes=indexes,
    )
    side = a_side("orders", files=2)
    held = PairsPlan(relations=(PairRelation(side=side, keys=KeyChoice()),)) if pairs else None
    planned = TablePlan(
        table=table,
        side=side,
        indexes=tuple(
            IndexPlan(index=index, side=side if pairs else a_side(index.relation))
            for index in indexes
        ),
        bucket_bits=4,
        pairs=held,
    )
    return CheckPlan(strategy=strategy, tables=(planned,))


def numbered(plan: CheckPlan) -> tuple[tuple[Slot, ...], tuple[Relation, ...], tuple[Part, ...]]:
    slots, relations = number_plan(plan)
    return slots, relations, cut(relations)


def planned_pairs(table: Table, label: str = "version 1") -> PairTable:
    """All indexes of a table of pairs, which are in one relation at a snapshot."""
    facts = RelationFacts(
        store=table.store,
        relation=table.relation,
        snapshot=Snapshot(label=label),
        columns={},
        splits=(),
        rows=None,
    )
    side = Side(facts=facts, engine=Engine.NATIVE, reason="", columns=("key", "value"))
    return PairTable(
        TablePlan(
            table=table,
            side=side,
            indexes=tuple(IndexPlan(index=index, side=side) for index in table.indexes),
            bucket_bits=4,
            pairs=PairsPlan(relations=(PairRelation(side=side, keys=KeyChoice()),)),
        )
    )
