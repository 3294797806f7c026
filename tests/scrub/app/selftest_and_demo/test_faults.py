# SPDX-License-Identifier: Apache-2.0
"""Every fault shows as exactly the defects it says, worked out anew in plain Python."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from scrub.app.selftest_and_demo.faults import FAULTS, FaultyCopy, plant_all
from scrub.app.selftest_and_demo.fresh_values import fresh_value
from scrub.app.selftest_and_demo.key_values import planted_key, reported_key
from scrub.app.selftest_and_demo.table_copy import TableCopy
from scrub.codec.arrow_types import to_arrow
from scrub.model.defect import INDEX_KINDS, Defect, DefectKind
from scrub.model.table import Column, EntryColumn, Index, Nulls, Table
from scrub.model.types import TypeName, parse_type
from tests.scrub.app.selftest_and_demo.oracle import covers, defects_of, entry_of

COLUMNS = {
    "shop": "tinyint",
    "id": "bigint",
    "number": "string",
    "customer": "int",
    "status": "string",
    "amount": "decimal(10,2)",
    "note": "string",
}
CONDITIONS = {"status = 'open'": lambda row: row["status"] == "open", "true": bool}


def plain(*names: str) -> tuple[EntryColumn, ...]:
    return tuple(EntryColumn(name=n, source=n, type=parse_type(COLUMNS[n])) for n in names)


def an_index(name: str, key: str, suffix: str, stored: str = "", **more: object) -> Index:
    return Index(
        name=name,
        store="lake",
        relation=name,
        key=plain(*key.split()),
        suffix=plain(*suffix.split()),
        stored=plain(*stored.split()),
        **more,
    )


INDEXES = (
    an_index("open_orders", "customer", "shop id", "amount note", where="status = 'open'"),
    an_index("by_number", "number", "shop id", unique=True),
    an_index("by_customer", "customer id", "shop", "status note"),
    an_index("by_note", "note", "shop id", nulls=Nulls.SKIP, unique=True),
    an_index("by_key", "shop id", "", "status"),
)


def a_copy(rows: int = 400, indexes: tuple[Index, ...] = INDEXES) -> TableCopy:
    """Orders whose indexes agree with them."""
    columns = tuple(Column(name=n, type=parse_type(t)) for n, t in COLUMNS.items())
    table = Table(
        name="orders",
        store="lake",
        relation="orders",
        columns=columns,
        primary_key=("shop", "id"),
        indexes=indexes,
    )
    data = [
        {
            "shop": n % 3,
            "id": n,
            "number": f"N{n}" if n % 11 else None,
            "customer": n % 17 if n % 7 else None,
            "status": "open" if n % 3 else "paid",
            "amount": Decimal(n) / 4,
            "note": f"note {n}" if n % 5 == 0 else None,
        }
        for n in range(rows)
    ]
    return TableCopy(
        table=table,
        rows=pa.Table.from_pylist(data, schema_of(columns)),
        entries={
            index.name: pa.Table.from_pylist(
                [entry_of(row, index) for row in data if covers(row, index, CONDITIONS)],
                schema_of(index.entry),
            )
            for index in indexes
        },
    )


def schema_of(columns: tuple[Column, ...] | tuple[EntryColumn, ...]) -> pa.Schema:
    return pa.schema([(column.name, to_arrow(column.type)) for column in columns])


def expected_of(faulty: FaultyCopy) -> Counter:
    return Counter(key for fault in faulty.faults for key in fault.expected)


def test_the_copy_without_faults_has_no_defects() -> None:
    assert not defects_of(a_copy(), CONDITIONS)


@pytest.mark.parametrize("seed", range(10))
def test_all_faults_at_once_are_exactly_their_defects(seed: int) -> None:
    (faulty,), left_out = plant_all(a_copy(), INDEXES, seed=seed)
    assert defects_of(faulty.copy, CONDITIONS) == expected_of(faulty)
    assert {key.kind for key in expected_of(faulty)} == set(INDEX_KINDS)
    assert not any(left.applicable for left in left_out)


def test_every_fault_is_planted_somewhere_or_said_why_not() -> None:
    (faulty,), left_out = plant_all(a_copy(), INDEXES, seed=1)
    tried = {(fault.index, fault.fault) for fault in faulty.faults}
    not_tried = {(left.index, left.fault): left.reason for left in left_out}
    assert tried | not_tried.keys() == {(i.name, f.name) for i in INDEXES for f in FAULTS}
    assert not tried & not_tried.keys()
    assert {name for _, name in tried} == {fault.name for fault in FAULTS}
    assert not_tried["by_number", "wrong stored value"] == "it stores no columns"
    assert not_tried["by_customer", "entry of an excluded row"] == "it covers every row"
    assert not_tried["by_customer", "unique key shared by two rows"] == "it is not unique"
    assert not_tried["by_key", "changed index key"] == "it indexes nothing beside the primary key"
    assert not_tried["by_key", "stored NULL turned into a value"] == "no stored value is NULL"
    assert "under an earlier index" in not_tried["by_key", "duplicate row"]


def test_the_same_seed_plants_the_same_faults() -> None:
    copy = a_copy()
    assert plant_all(copy, INDEXES, seed=5) == plant_all(copy, INDEXES, seed=5)
    assert plant_all(copy, INDEXES, seed=5) != plant_all(copy, INDEXES, seed=6)


@pytest.mark.parametrize("rows", [6, 12, 30])
def test_few_rows_take_several_copies(rows: int) -> None:
    copies, left_out = plant_all(a_copy(rows), INDEXES, seed=0)
    assert len(copies) > 1
    for faulty in copies:
        assert defects_of(faulty.copy, CONDITIONS) == expected_of(faulty)
    assert len({faulty.copy.table.name for faulty in copies}) == len(copies)
    assert not any(left.applicable for left in left_out)


def test_a_table_without_rows_has_no_place_for_faults() -> None:
    copies, left_out = plant_all(a_copy(0), INDEXES, seed=0)
    assert not copies
    assert len(left_out) == len(INDEXES) * len(FAULTS)


def test_rows_to_avoid_are_left_alone() -> None:
    copy = a_copy(60)
    allowed = {(n % 3, n) for n in range(20)}
    avoid = {(n % 3, n) for n in range(20, 60)}
    copies, _ = plant_all(copy, INDEXES, seed=3, avoid=avoid)
    for faulty in copies:
        assert defects_of(faulty.copy, CONDITIONS) == expected_of(faulty)
        touched = {key.primary_key for key in expected_of(faulty)}
        assert not touched & avoid
        assert touched & allowed


def test_when_every_row_is_to_be_avoided_the_faults_could_not_be_tried() -> None:
    copies, left_out = plant_all(a_copy(4), INDEXES, seed=3, avoid={(n % 3, n) for n in range(4)})
    assert not copies
    assert any(left.applicable for left in left_out)


def test_a_row_that_lost_its_entry_does_not_look_like_one_left_out() -> None:
    everywhere = replace(INDEXES[1], where="true")
    copy = a_copy(50, (everywhere, INDEXES[2]))
    lost = copy.entries["by_number"].slice(0, 1).to_pylist()[0]
    entries = copy.entries | {"by_number": copy.entries["by_number"].slice(1)}
    avoid = {(lost["shop"], lost["id"])}
    _, left_out = plant_all(
        replace(copy, entries=entries), (everywhere, INDEXES[2]), seed=3, avoid=avoid
    )
    assert not any(left.applicable for left in left_out)
    reasons = {(left.index, left.fault): left.reason for left in left_out}
    assert reasons["by_number", "entry of an excluded row"] == "it leaves out none of these rows"
    assert "under an earlier index" in reasons["by_customer", "duplicate row"]


def test_faults_can_be_planted_beside_defects() -> None:
    (before,), _ = plant_all(a_copy(200), INDEXES, seed=1)
    there = expected_of(before)
    copies, left_out = plant_all(
        before.copy, INDEXES, seed=2, avoid={key.primary_key for key in there}
    )
    assert not any(left.applicable for left in left_out)
    for faulty in copies:
        name = faulty.copy.table.name
        kept = Counter({replace(key, table=name): number for key, number in there.items()})
        assert defects_of(faulty.copy, CONDITIONS) == expected_of(faulty) + kept


def test_rows_and_entries_that_are_there_twice_already_are_left_alone() -> None:
    """Equal numbers of copies on both sides are no defect, but no place for a fault either."""
    copy = a_copy(40)
    twice = replace(
        copy,
        rows=pa.concat_tables([copy.rows, copy.rows.slice(0, 30)]),
        entries={
            name: pa.concat_tables([entries, entries.filter(pa.compute.field("id") < 30)])
            for name, entries in copy.entries.items()
        },
    )
    assert not defects_of(twice, CONDITIONS)
    copies, _ = plant_all(twice, INDEXES, seed=3)
    assert copies
    for faulty in copies:
        assert defects_of(faulty.copy, CONDITIONS) == expected_of(faulty)


def test_a_shared_unique_key_needs_a_primary_key_that_expressions_do_not_use() -> None:
    key = (EntryColumn(name="n", source="id % 7", is_expression=True, type=parse_type("bigint")),)
    other = an_index("by_customer", "customer", "shop id", where="shop > 0")
    expression = replace(an_index("by_n", "shop", "id"), key=key, suffix=plain("shop", "id"))
    copy = a_copy(10)
    table = replace(copy.table, indexes=(INDEXES[1], other, expression))
    unique = next(fault for fault in FAULTS if fault.name == "unique key shared by two rows")
    assert unique.why_not(table, INDEXES[1]) == "its key or an expression needs the whole key"
    assert unique.why_not(replace(table, indexes=(INDEXES[1], other)), INDEXES[1]) is None


TYPES = [
    parse_type("decimal(38,10)" if name is TypeName.DECIMAL else name.value) for name in TypeName
]


@pytest.mark.parametrize("of_type", TYPES, ids=str)
def test_a_fresh_value_is_not_among_those_taken(of_type: object) -> None:
    rng = np.random.default_rng(0)
    taken = pa.chunked_array([pa.array([], to_arrow(of_type))])
    for _ in range(2 if of_type.name is TypeName.BOOLEAN else 20):
        value = fresh_value(of_type, [taken], rng)
        assert value.type == to_arrow(of_type)
        assert value.as_py() not in taken.to_pylist()
        taken = pa.chunked_array([*taken.chunks, pa.array([value.as_py()], to_arrow(of_type))])


def test_a_type_may_have_no_value_left() -> None:
    of_type = parse_type("tinyint")
    taken = pa.chunked_array([pa.array(range(-128, 128), pa.int8())])
    assert fresh_value(of_type, [taken], np.random.default_rng(0)) is None


@pytest.mark.parametrize(
    ("of_type", "planted", "reported"),
    [
        ("decimal(10,2)", Decimal("1.50"), "1.50"),
        ("decimal(38,10)", Decimal("0E-10"), "0.0000000000"),
        ("float", 0.1, 0.1),
        ("double", float("nan"), "NaN"),
        ("double", float("-inf"), "-Infinity"),
        ("double", -0.0, 0.0),
        ("binary", b"\x00\xff", "00ff"),
        ("date", date(2024, 2, 29), "2024-02-29"),
        ("timestamp", datetime(2024, 2, 29, 1, 2, 3, 500000, UTC), "2024-02-29T01:02:03.500000Z"),
        ("timestamp_ntz", datetime(2024, 2, 29, 1, 2, 3, 500000), "2024-02-29T01:02:03.5"),
        ("string", None, None),
        ("boolean", True, True),
    ],
)
def test_planted_and_reported_keys_compare(of_type: str, planted: object, reported: object) -> None:
    column_type = parse_type(of_type)
    column = EntryColumn(name="k", source="k", type=column_type)
    index = Index(name="i", store="s", relation="i", key=(column,), suffix=())
    table = Table(
        name="t",
        store="s",
        relation="t",
        columns=(Column(name="k", type=column_type),),
        primary_key=("k",),
        indexes=(index,),
    )
    defect = Defect(
        kind=DefectKind.MISSING,
        table="t",
        index="i",
        primary_key={"k": reported},
        index_key={"k": reported},
        expected=None,
        actual=None,
        snapshot="",
    )
    row = pa.table({"k": pa.array([planted], to_arrow(column_type))})
    key = planted_key(row, {"k": column_type})
    assert reported_key(defect, table, index).index_key == key
    assert reported_key(defect, table, index).primary_key == key
