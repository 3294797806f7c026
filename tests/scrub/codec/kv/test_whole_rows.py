# SPDX-License-Identifier: Apache-2.0
"""Rows put together from their families: what is left out, what counts as NULL, what is lost."""

import random
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from scrub.codec.kv.whole_rows import WholeRows, whole_rows
from scrub.model.kv import DatumKind, DatumType, Domain, Family, KeyPart, KvColumn, KvTable, Rule
from tests.scrub.codec.kv import fast, reference_pairs
from tests.scrub.codec.kv.reference_datums import Datum
from tests.scrub.codec.kv.reference_pairs import Pair, Row
from tests.scrub.codec.kv.strategies import all_pairs, identity
from tests.scrub.codec.kv.test_codec import stored, tables_with_rows
from tests.scrub.codec.kv.test_reference_properties import as_values_tell_it

INT, BYTES = DatumType(DatumKind.INT), DatumType(DatumKind.BYTES)
SMALL = DatumType(DatumKind.INT, domain=Domain(Rule.BETWEEN, -10, 10))
TABLE = KvTable(
    id=51,
    name="table",
    columns=(
        KvColumn(1, "id", INT, nullable=False),
        KvColumn(2, "small", SMALL),
        KvColumn(3, "note", BYTES),
        KvColumn(4, "more", BYTES, nullable=False),
    ),
    primary_key=(KeyPart(1),),
    families=(Family(0, (1, 2)), Family(1, (3,)), Family(2, (4,))),
)


def decode(table: KvTable, some: Sequence[Pair]) -> WholeRows:
    layout = fast.layout_for(table)
    return whole_rows(layout, layout.primary(0), *fast.arrays_of(some))


def told(table: KvTable, rows: WholeRows) -> list[dict[int, Datum | None]]:
    """Each row by column id, as values tell it."""
    found = []
    for spans in rows.datums.spans.tolist():
        row: dict[int, Datum | None] = {}
        for column, (begin, end, part, part_end) in zip(table.columns, spans, strict=True):
            place = (part, part_end) if part >= 0 else (begin, end)
            held = rows.datums.held[slice(*place)].tobytes()
            row[column.id] = None if begin < 0 else fast.from_value(held, column.type)
        found.append(row)
    return found


def row(number: int, **other: Datum | None) -> dict[int, Datum | None]:
    known: dict[str, Datum | None] = {"id": number, "small": 1, "note": b"n", "more": b"m"} | other
    return {column.id: known[column.name] for column in TABLE.columns}


def pairs_of(*rows: Row) -> list[list[Pair]]:
    return [stored(reference_pairs.encode_row(TABLE, one)) for one in rows]


def flat(of_rows: Sequence[Sequence[Pair]]) -> list[Pair]:
    return sorted(pair for of_row in of_rows for pair in of_row)


@given(tables_with_rows())
@settings(max_examples=150)
def test_rows_are_what_they_were_written_from(sample: tuple[KvTable, list[Row]]) -> None:
    table, several = sample
    # Entries of indexes may lie between the rows: they belong to none.
    everything = sorted(stored([pair for row in several for pair in all_pairs(table, row)]))
    rows = decode(table, everything)
    assert (rows.undecoded, rows.lost) == (0, False)
    by_key = {reference_pairs.encode_row(table, row)[0][0]: row for row in several}
    expected = [by_key[key] for key in sorted(by_key)]
    types = {column.id: column.type for column in table.columns}

    def comparable(one: Row) -> dict[int, object]:
        return {
            column: identity(fast.with_one_nan(as_values_tell_it(datum, types[column])))
            for column, datum in one.items()
            if datum is not None
        }

    found = [
        {
            column: identity(fast.with_one_nan(datum))
            for column, datum in one.items()
            if datum is not None
        }
        for one in told(table, rows)
    ]
    assert found == [comparable(one) for one in expected]


@given(st.randoms())
@settings(max_examples=10)
def test_rows_of_one_family_need_no_order(chance: random.Random) -> None:
    table = KvTable(TABLE.id, "table", TABLE.columns, TABLE.primary_key, (Family(0, (1, 2, 3, 4)),))
    some = [pair for number in range(9) for pair in reference_pairs.encode_row(table, row(number))]
    chance.shuffle(some)
    assert {one[1] for one in told(table, decode(table, stored(some)))} == set(range(9))


def test_a_family_of_nulls_has_no_pair_and_its_row_is_partial() -> None:
    rows = decode(TABLE, flat(pairs_of(row(1), row(2, note=None), row(3))))
    assert told(TABLE, rows) == [row(1), row(2, note=None), row(3)]
    assert rows.partial.tolist() == [False, True, False]
    assert (rows.undecoded, rows.lost) == (0, False)


def test_null_where_there_is_none_is_a_row_that_can_be_read() -> None:
    """Whoever looks for NULLs must see it."""
    rows = decode(TABLE, flat(pairs_of(row(1, more=None))))
    assert told(TABLE, rows) == [row(1, more=None)]


def test_a_row_without_its_first_family_is_not_decoded() -> None:
    first, second = pairs_of(row(1), row(2))
    rows = decode(TABLE, flat([first[1:], second]))
    assert told(TABLE, rows) == [row(2)]
    assert (rows.undecoded, rows.lost) == (1, False)


def test_a_row_with_a_damaged_value_is_not_decoded_and_a_pair_is_lost() -> None:
    first, second = pairs_of(row(1), row(2, note=None))
    for place in range(3):
        (key, value) = first[place]
        damaged = [*first[:place], (key, value[:-1] + b"?"), *first[place + 1 :]]
        rows = decode(TABLE, flat([damaged, second]))
        assert told(TABLE, rows) == [row(2, note=None)]
        assert (rows.undecoded, rows.lost) == (1, True)
        assert rows.partial.tolist() == [True]


def test_a_damaged_key_is_a_row_of_its_own_that_is_not_decoded() -> None:
    (first,) = pairs_of(row(1))
    prefix = first[0][0][:2]
    rows = decode(TABLE, flat([first, [(prefix + b"\x05", first[0][1])]]))
    assert told(TABLE, rows) == [row(1)]
    assert (rows.undecoded, rows.lost) == (1, True)


def test_a_value_out_of_its_column_s_type_makes_the_row_undecoded() -> None:
    rows = decode(TABLE, flat(pairs_of(row(1, small=11), row(2, small=10))))
    assert told(TABLE, rows) == [row(2, small=10)]
    assert (rows.undecoded, rows.lost) == (1, False)


def test_nothing_is_no_row() -> None:
    rows = decode(TABLE, [])
    assert (told(TABLE, rows), rows.undecoded, rows.lost) == ([], 0, False)
