# SPDX-License-Identifier: Apache-2.0
"""Values that their column cannot have, whatever kind: judged as Python judges them."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrub.catalog.kv_types import parse_datum_type
from scrub.codec.kv.entries import Entries, entries
from scrub.codec.kv.faults import Code
from scrub.model.kv import DatumKind, DatumType, Family, KeyPart, KvColumn, KvIndex, KvTable, Rule
from tests.scrub.codec.kv import fast
from tests.scrub.codec.kv.reference_pairs import encode_entry, encode_row, encode_value
from tests.scrub.codec.kv.strategies import datums

INT = DatumType(DatumKind.INT)


def table_of(datum_type: DatumType, nullable: bool = True, apart: bool = False) -> KvTable:
    families = (Family(0, (1,)), Family(1, (2,))) if apart else (Family(0, (1, 2)),)
    return KvTable(
        id=52,
        name="table",
        columns=(
            KvColumn(1, "id", INT, nullable=False),
            KvColumn(2, "value", datum_type, nullable=nullable),
        ),
        primary_key=(KeyPart(1),),
        families=families,
        indexes=(KvIndex(2, "index", (KeyPart(1),), suffix=(), stored=(2,)),),
    )


def read(table: KvTable, *pairs: tuple[bytes, bytes]) -> Entries:
    stored = sorted((key, encode_value(key, data)) for key, data in pairs)
    layout = fast.layout_for(table)
    return entries(layout, [1], *fast.arrays_of(stored))


def judged(table: KvTable, datum: Any) -> Entries:
    """A row and its entry, both with this datum."""
    row = {1: 7, 2: datum}
    return read(table, *encode_row(table, row), *encode_entry(table, table.indexes[0], row))


def fits(datum_type: DatumType, datum: Any) -> bool:
    domain = datum_type.domain
    if isinstance(datum, list):
        of = DatumType(datum_type.element or DatumKind.INT, domain=domain)
        return all(one is None or fits(of, one) for one in datum)
    match domain.rule:
        case Rule.BETWEEN:
            number = datum[0] if isinstance(datum, tuple) else datum
            return bool(domain.low <= number <= domain.high)
        case Rule.TEXT:
            try:
                return len(datum.decode()) <= domain.high
            except UnicodeDecodeError:
                return False
        case Rule.DIGITS:
            _, digits, exponent = datum.as_tuple()
            if not isinstance(exponent, int):
                return True
            text = "".join(map(str, digits)).lstrip("0")
            shown = text.rstrip("0")
            return not shown or (
                len(text) + exponent <= domain.low
                and -(exponent + len(text) - len(shown)) <= domain.high
            )
    return True


TYPES = {
    name: parse_datum_type(name)[1]
    for name in (
        "tinyint",
        "smallint",
        "int",
        "date",
        "time",
        "oid",
        "timestamp",
        "string",
        "varchar(3)",
        "name",
        "decimal(4,2)",
        "decimal(38,0)",
        "decimal(20,10)",
        "smallint[]",
        "string[]",
        "decimal(4,2)[]",
    )
}


@pytest.mark.parametrize("name", TYPES)
@given(data=st.data())
@settings(max_examples=60)
def test_a_value_is_unfit_exactly_if_its_type_has_none_like_it(
    name: str, data: st.DataObject
) -> None:
    datum_type = TYPES[name]
    domain = datum_type.domain
    near = [bound + step for bound in (domain.low, domain.high) for step in (-1, 0, 1)]
    some = datums(DatumType(datum_type.kind, datum_type.element))
    if datum_type.kind is DatumKind.INT and max(near) < 1 << 63:
        some = some | st.sampled_from(near)
    if datum_type.kind is DatumKind.BYTES:
        some = some | st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))
    if datum_type.kind is DatumKind.DECIMAL:
        some = some | st.decimals(allow_nan=False, allow_infinity=False, places=3)
    datum = data.draw(some)
    found = judged(table_of(datum_type), datum)
    is_fit = fits(datum_type, datum)
    assert [one.slot for one in found.unfit] == ([] if is_fit else [1, 1])
    assert found.doubtful.tolist().count(True) == (0 if is_fit else 1)
    assert found.bad == []


@given(st.binary(max_size=12))
@example(b"\xed\xa0\x80")
@example(b"\xc0\x80")
@example(b"\xf4\x90\x80\x80")
@example(b"\xe2\x82")
def test_utf_8_is_what_python_takes_for_it(octets: bytes) -> None:
    datum_type = TYPES["string"]
    assert bool(judged(table_of(datum_type), octets).unfit) is not fits(datum_type, octets)


@pytest.mark.parametrize(
    ("value", "is_fit"),
    [(3.4e38, True), (3.5e38, False), (-1e300, False), (float("inf"), True), (0.1, True)],
)
def test_a_real_holds_what_32_bits_can_reach(value: float, is_fit: bool) -> None:
    found = judged(table_of(parse_datum_type("real")[1]), value)
    assert bool(found.unfit) is not is_fit


def test_a_decimal_without_digits_in_its_type_may_have_any() -> None:
    datum_type = parse_datum_type("decimal")[1]
    assert judged(table_of(datum_type), Decimal("123456789012.345")).unfit == []


@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
def test_null_is_judged_of_the_whole_row_also_where_a_family_is_lost(apart: bool) -> None:
    table = table_of(INT, nullable=False, apart=apart)
    sound = judged(table, 5)
    assert sound.unfit == []
    found = judged(table, None)
    assert [(one.index, one.slot, one.code) for one in found.unfit] == [
        (0, 1, Code.NULL),
        (1, 1, Code.NULL),
    ]
    assert found.doubtful.tolist().count(True) == 1
    assert not found.expected.any()


def test_a_row_without_its_first_family_is_doubtful_to_every_index() -> None:
    table = table_of(INT, apart=True)
    found = read(table, *encode_row(table, {1: 7, 2: 5})[1:])
    assert found.doubtful.tolist() == [True]
    assert found.unfit == []
    assert found.rows.to_pylist() == [b"\x8f"]


def test_an_entry_that_is_there_has_the_key_that_it_has() -> None:
    table = table_of(INT)
    ((key, data),) = encode_entry(table, table.indexes[0], {1: 7, 2: 5})
    padded = key[:2] + b"\xf6\x07" + key[3:]
    for other in (padded, key + b"\x00"):
        found = read(table, (other, data))
        assert found.keys.to_pylist() == [other]
        assert found.values.to_pylist() == [data]
    assert found.rows.to_pylist() == [b""], "a key that cannot be read tells no row"
