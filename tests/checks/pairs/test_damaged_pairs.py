# SPDX-License-Identifier: Apache-2.0
"""Pairs with one damage each: it is told with its row, and nothing that is sound is blamed."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from scrub.model.defect import Defect, DefectKind
from scrub.model.request import Engine
from scrub.model.result import RunResult, Status
from tests.checks.damaged_ground import (
    COLUMNS,
    NAMES_APART,
    NOTES_APART,
    Stock,
    goods,
    goods_catalog,
    padded,
    under,
)
from tests.checks.pairs.pair_ground import ONE_FAMILY, counts, outcome_of, write_file
from tests.scrub.codec.kv.reference_pairs import encode_value

pytestmark = pytest.mark.spark

ENGINES = pytest.mark.parametrize("engine", [Engine.NATIVE, Engine.SQL])
CLEAN: dict[DefectKind, int] = {}
OF_INDEXES = ("by_code", "by_price", "by_name")


def found_in(result: RunResult) -> dict[str | None, tuple[dict[DefectKind, int], int]]:
    """By index what was counted, and how much is undecided."""
    return {o.index: (dict(o.counts), o.undecided) for o in result.outcomes}


def one(result: RunResult, kind: DefectKind) -> Defect:
    (defect,) = (d for d in result.defects if d.kind is kind)
    return defect


def lacks_no_key(result: RunResult) -> bool:
    """No defect names a row by a key that nobody knows."""
    return all(None not in (d.primary_key or {}).values() for d in result.defects)


# No value


@ENGINES
@pytest.mark.parametrize("lost", [b"", None])
def test_a_row_that_lost_its_value_is_told_and_its_entries_are_undecided(
    tmp_path: Path, spark: Any, engine: Engine, lost: bytes | None
) -> None:
    """Taken for a row that is gone, its entries would be dangling: all that is left of it."""
    stock = Stock(tmp_path)
    of_row = stock.row(7)
    stock.exchange("primary", of_row, [(of_row[0][0], lost)])  # type: ignore[list-item]
    result = stock.check(spark, engine=engine)
    assert found_in(result) == {
        None: ({DefectKind.INVALID_ENCODING: 1}, 0),
        "by_code": (CLEAN, 1),
        "by_price": (CLEAN, 1),
        "by_name": (CLEAN, 1),
    }
    assert one(result, DefectKind.INVALID_ENCODING).primary_key == {"id": 7}
    assert all(outcome_of(result, index).is_incomplete for index in OF_INDEXES)


@ENGINES
def test_an_entry_that_lost_its_value_is_missing(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    stock = Stock(tmp_path)
    of_entry = stock.entry("by_price", 7)
    stock.exchange("by_price", of_entry, [(of_entry[0][0], b"")])
    result = stock.check(spark, engine=engine)
    assert one(result, DefectKind.MISSING).index == "by_price"
    assert result.defects_total == 1


# NULL


@ENGINES
def test_null_where_there_is_none_is_told_with_its_row_and_hides_no_missing_entry(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    stock = Stock(tmp_path)
    stock.exchange("primary", stock.row(7), stock.row(7, {3: None}))
    stock.exchange("by_code", stock.entry("by_code", 7), [])
    result = stock.check(spark, engine=engine)
    assert found_in(result) == {
        None: ({DefectKind.NULL_VIOLATION: 1}, 0),
        "by_code": ({DefectKind.MISSING: 1}, 0),
        "by_price": (CLEAN, 0),
        "by_name": (CLEAN, 1),
    }
    absent = one(result, DefectKind.NULL_VIOLATION)
    assert (absent.primary_key, absent.column, absent.index) == ({"id": 7}, "name", None)
    assert one(result, DefectKind.MISSING).primary_key == {"id": 7}
    by_name = outcome_of(result, "by_name")
    assert by_name.status is Status.INCOMPLETE
    assert "1 row" in (by_name.reason or "")


def test_null_in_an_entry_where_there_is_none_is_told_and_the_row_is_right(
    tmp_path: Path, spark: Any
) -> None:
    stock = Stock(tmp_path)
    stock.exchange(
        "by_name",
        stock.entry("by_name", 7),
        stock.entry("by_name", 7, {3: None}),
    )
    result = stock.check(spark)
    wrong = {DefectKind.MISSING: 1, DefectKind.DANGLING: 1}
    assert found_in(result)["by_name"] == (wrong, 0)
    absent = one(result, DefectKind.NULL_VIOLATION)
    assert (absent.primary_key, absent.column, absent.index) == ({"id": 7}, "name", "by_name")


@pytest.mark.parametrize("checks", [("physical", "index"), ("index",)])
def test_a_lost_family_of_a_column_that_is_never_null_is_told_and_its_entry_undecided(
    tmp_path: Path, spark: Any, checks: tuple[str, ...]
) -> None:
    stock = Stock(tmp_path, NAMES_APART)
    stock.exchange("primary", stock.row(7)[1:], [])
    result = stock.check(spark, checks=checks)
    expected: dict[str | None, Any] = dict.fromkeys(OF_INDEXES, (CLEAN, 0))
    expected["by_name"] = (CLEAN, 1)
    if "physical" in checks:
        expected[None] = ({DefectKind.NULL_VIOLATION: 1}, 0)
        absent = one(result, DefectKind.NULL_VIOLATION)
        assert (absent.primary_key, absent.column) == ({"id": 7}, "name")
    assert found_in(result) == expected
    assert lacks_no_key(result)
    assert result.status is (Status.DEFECTIVE if "physical" in checks else Status.INCOMPLETE)


def test_a_row_without_its_first_family_proves_nothing_about_its_entries(
    tmp_path: Path, spark: Any
) -> None:
    stock = Stock(tmp_path, NAMES_APART)
    stock.exchange("primary", stock.row(7)[:1], [])
    result = stock.check(spark)
    assert found_in(result) == {None: ({DefectKind.MISSING_FAMILY: 1}, 0)} | dict.fromkeys(
        OF_INDEXES, (CLEAN, 1)
    )
    assert one(result, DefectKind.MISSING_FAMILY).primary_key == {"id": 7}


@pytest.mark.parametrize("spoil", ["key", "checksum"])
def test_entries_of_a_row_of_which_one_family_cannot_be_read_are_not_blamed(
    tmp_path: Path, spark: Any, spoil: str
) -> None:
    """A pair that nobody can read may be the family that a row lacks, which then is no NULL."""
    stock = Stock(tmp_path, NOTES_APART)
    (key, value) = stock.row(7)[1]
    bad = (key + b"\x00", value) if spoil == "key" else (key, value[:-1] + b"?")
    stock.exchange("primary", [(key, value)], [bad])
    stock.exchange("by_code", stock.entry("by_code", 9), [])
    result = stock.check(spark)
    assert counts(result)[None] == {DefectKind.INVALID_ENCODING: 1}
    assert counts(result)["by_price"] == CLEAN
    assert outcome_of(result, "by_price").undecided == 1
    assert counts(result)["by_code"] == {DefectKind.MISSING: 1}


# Values that are none of their column's


UNFIT: dict[int, tuple[int, Any, str]] = {  # by row: a column, its value, and how it is shown
    7: (2, 70_000, "70000"),
    8: (2, -32_769, "-32769"),
    9: (4, Decimal("12345.678"), "12345.678"),
    11: (4, Decimal("0.125"), "0.125"),
    12: (3, b"caf\xe9", "caf\\xe9"),
}


@ENGINES
def test_values_out_of_their_column_s_type_are_told_and_their_entries_are_undecided(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    stock = Stock(tmp_path)
    for number, (column, value, _) in UNFIT.items():
        bad = stock.row(number, {column: value})
        stock.exchange("primary", stock.row(number), bad)
    result = stock.check(spark, engine=engine)
    assert found_in(result) == {
        None: ({DefectKind.INVALID_ENCODING: 5}, 0),
        "by_code": (CLEAN, 2),
        "by_price": (CLEAN, 2),
        "by_name": (CLEAN, 1),
    }
    by_row = {d.primary_key["id"]: d for d in result.defects if d.primary_key}
    assert sorted(by_row) == sorted(UNFIT)
    for number, (column, _, shown) in UNFIT.items():
        assert by_row[number].column == stock.table.by_id[column].name
        assert shown in by_row[number].detail


def test_values_that_just_fit_are_sound(tmp_path: Path, spark: Any) -> None:
    stock = Stock(tmp_path, rows=3)
    for number, more in enumerate(
        [
            {2: 32_767, 3: "\U0010ffff é".encode(), 4: Decimal("99.99")},
            {2: -32_768, 3: b"", 4: Decimal("-99.9")},
            {3: b"\x00", 4: Decimal("1E+1"), 5: "ß".encode()},
            {3: b"nan", 4: Decimal("NaN")},
            {3: b"zero", 4: Decimal("-0.00")},
            {3: b"more zeros", 4: Decimal("1.5000")},
        ],
        start=10,
    ):
        stock.add(goods(number) | more, *OF_INDEXES)
    assert stock.check(spark).status is Status.CLEAN


# Rows whose two halves disagree

PRICED = {"columns": COLUMNS | {"price": {"type": "decimal(4,2)", "nullable": False}}}


@pytest.mark.parametrize(
    ("engine", "checks"), [(Engine.NATIVE, ("index",)), (Engine.SQL, ("physical", "index"))]
)
def test_a_row_whose_key_and_value_disagree_proves_nothing_about_its_entries(
    tmp_path: Path, spark: Any, engine: Engine, checks: tuple[str, ...]
) -> None:
    stock = Stock(tmp_path, catalog=priced_catalog(tmp_path))
    (sound,) = stock.row(7)
    (other,) = stock.row(7, {4: Decimal("0.80")})
    stock.exchange("primary", [sound], [under(sound[0], other)])
    stock.exchange("by_code", stock.entry("by_code", 9), [])
    result = stock.check(spark, engine=engine, checks=checks)
    expected: dict[str | None, Any] = dict.fromkeys(OF_INDEXES[1:], (CLEAN, 1))
    expected["by_code"] = ({DefectKind.MISSING: 1}, 1)
    if "physical" in checks:
        expected[None] = ({DefectKind.INVALID_COMPOSITE: 1}, 0)
        key = one(result, DefectKind.INVALID_COMPOSITE).primary_key
        assert key is not None
        assert key["id"] == 7
    assert found_in(result) == expected


def priced_catalog(directory: Path) -> Path:
    """The price in the primary key: of a decimal, the value tells what the key does not."""
    catalog = goods_catalog(directory, ONE_FAMILY, **PRICED)
    document = json.loads(catalog.read_text())
    document["tables"]["pairs"]["primary_key"] = ["price", "id"]
    document["tables"]["pairs"]["indexes"]["by_price"]["columns"] = ["note"]
    document["tables"]["pairs"]["indexes"]["by_price"]["storing"] = []
    catalog.write_text(json.dumps(document))
    return catalog


# Keys


@pytest.mark.parametrize(("engine", "spoil"), [(Engine.NATIVE, "padded"), (Engine.SQL, "trailing")])
def test_an_entry_under_a_key_that_no_lookup_finds_is_dangling_and_its_own_is_missing(
    tmp_path: Path, spark: Any, engine: Engine, spoil: str
) -> None:
    stock = Stock(tmp_path)
    (right,) = stock.entry("by_code", 7)
    key = padded(right[0]) if spoil == "padded" else right[0] + b"\x00"
    stock.exchange("by_code", [right], [under(key, right)])
    result = stock.check(spark, engine=engine, checks=("index",))
    wrong = {DefectKind.MISSING: 1, DefectKind.DANGLING: 1}
    assert found_in(result)["by_code"] == (wrong, 0)
    assert one(result, DefectKind.MISSING).primary_key == {"id": 7}
    dangling = one(result, DefectKind.DANGLING)
    assert dangling.key_hex == key.hex()
    assert lacks_no_key(result)
    physical = counts(stock.check(spark, engine=engine, checks=("physical",)))
    kind = DefectKind.NONCANONICAL if spoil == "padded" else DefectKind.INVALID_ENCODING
    assert physical == {None: {kind: 1}}


@ENGINES
def test_a_unique_entry_that_belongs_to_another_row_is_missing_and_dangling(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    stock = Stock(tmp_path)
    stock.exchange(
        "by_name",
        stock.entry("by_name", 4),
        stock.entry("by_name", 4, {1: 999}),
    )
    result = stock.check(spark, engine=engine)
    wrong = {DefectKind.MISSING: 1, DefectKind.DANGLING: 1}
    assert counts(result) == dict.fromkeys((None, *OF_INDEXES), CLEAN) | {"by_name": wrong}
    assert one(result, DefectKind.MISSING).primary_key == {"id": 4}
    assert one(result, DefectKind.DANGLING).primary_key == {"id": 999}


@ENGINES
def test_rows_that_share_a_unique_key_of_which_neither_has_an_entry_are_named(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    stock = Stock(tmp_path)
    stock.add(goods(80) | {3: goods(4)[3]}, "by_code", "by_price")
    result = stock.check(spark, engine=engine)
    assert counts(result)["by_name"] == {DefectKind.UNIQUE_VIOLATION: 2}
    for pair in stock.entry("by_name", 4):
        stock.pairs["by_name"].remove(pair)
    (tmp_path / "pairs").rename(tmp_path / "before")
    result = stock.check(spark, engine=engine)
    assert counts(result)["by_name"] == {DefectKind.UNIQUE_VIOLATION: 2, DefectKind.MISSING: 2}


# The same key twice


@pytest.mark.parametrize(
    ("families", "engine"),
    [(ONE_FAMILY, Engine.NATIVE), (ONE_FAMILY, Engine.SQL), (NAMES_APART, Engine.AUTO)],
)
def test_the_same_key_twice_is_told_whether_its_entries_are_too_or_not(
    tmp_path: Path,
    spark: Any,
    monkeypatch: pytest.MonkeyPatch,
    families: dict[str, Any],
    engine: Engine,
) -> None:
    stock = Stock(tmp_path, families)
    stock.add(goods(7))
    stock.add(goods(9), "by_code", "by_name")
    twice = {DefectKind.DUPLICATE_KEY: 2}
    entry_twice = {DefectKind.DUPLICATE_ENTRY: 1}
    result = stock.check(spark, engine=engine)
    assert found_in(result) == {
        None: (twice, 0),
        "by_code": (entry_twice, 0),
        "by_price": (CLEAN, 0),
        "by_name": (entry_twice, 0),
    }
    of_rows = [d for d in result.defects if d.kind is DefectKind.DUPLICATE_KEY]
    assert [d.primary_key for d in of_rows] == [{"id": 7}, {"id": 9}]
    (of_entry,) = (d for d in result.defects if d.index == "by_code")
    assert (of_entry.primary_key, of_entry.index_key) == ({"id": 9}, {"code": 9})
    if engine is not Engine.NATIVE:
        return
    monkeypatch.setattr("checks.pairs.beside.ROWS_MAX", 0)  # as if the driver had no room
    alone = stock.check(spark, checks=("physical",))
    assert counts(alone) == {None: twice | {DefectKind.DUPLICATE_ENTRY: 2}}
    of_index = stock.check(spark, checks=("index",), indexes=("by_price",))
    assert counts(of_index) == {"by_price": twice}


@pytest.mark.parametrize(
    ("families", "engine"),
    [(ONE_FAMILY, Engine.NATIVE), (ONE_FAMILY, Engine.SQL), (NAMES_APART, Engine.AUTO)],
)
def test_a_row_that_is_there_twice_and_differs_proves_nothing_about_its_entries(
    tmp_path: Path, spark: Any, families: dict[str, Any], engine: Engine
) -> None:
    stock = Stock(tmp_path, families)
    stock.pairs["primary"] += stock.row(7, {2: 55})[:1]
    stock.exchange("by_code", stock.entry("by_code", 9), [])
    result = stock.check(spark, engine=engine)
    assert counts(result)[None] == {DefectKind.DUPLICATE_KEY: 1}
    assert counts(result)["by_code"] == {DefectKind.MISSING: 1}
    assert one(result, DefectKind.MISSING).primary_key == {"id": 9}
    assert outcome_of(result, "by_code").undecided >= 1
    assert "different values" in one(result, DefectKind.DUPLICATE_KEY).detail


def test_a_row_under_two_spellings_of_its_key_is_not_clean_for_the_index_check(
    tmp_path: Path, spark: Any
) -> None:
    stock = Stock(tmp_path)
    (right,) = stock.row(7)
    stock.pairs["primary"].append(under(padded(right[0]), right))
    result = stock.check(spark, checks=("index",))
    assert counts(result)["by_code"] == {DefectKind.DUPLICATE_KEY: 1}


# What physical defects tell


@ENGINES
def test_physical_defects_of_pairs_that_can_be_read_carry_the_primary_key(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    stock = Stock(tmp_path)
    (key, value) = stock.row(7)[0]
    stock.exchange("primary", [(key, value)], [(key, encode_value(key, value[4:] + b"\x11"))])
    (key, value) = stock.row(8)[0]
    stock.exchange("primary", [(key, value)], [(key, value[:-1] + b"?")])
    (with_key,) = stock.entry("by_price", 11)
    (with_value,) = stock.entry("by_price", 11, {4: Decimal("0.90")})
    stock.exchange("by_price", [with_key], [under(with_key[0], with_value)])
    result = stock.check(spark, engine=engine, checks=("physical",))
    assert {(d.kind, d.index): d.primary_key for d in result.defects} == {
        (DefectKind.NONCANONICAL, None): {"id": 7},
        (DefectKind.INVALID_ENCODING, None): {"id": 8},
        (DefectKind.INVALID_COMPOSITE, "by_price"): {"id": 11},
    }


# The order of keys


def test_the_order_of_keys_is_looked_at_with_several_families_too(
    tmp_path: Path, spark: Any
) -> None:
    stock = Stock(tmp_path, NAMES_APART, sorted=True)
    pairs = sorted(pair for of in stock.pairs.values() for pair in of)
    (tmp_path / "pairs").mkdir()
    write_file(tmp_path / "pairs" / "0.parquet", pairs[0::2])
    late = pairs[1::2]
    late.insert(40, late.pop(30))
    write_file(tmp_path / "pairs" / "1.parquet", late)
    result = stock.check(spark)
    assert counts(result) == dict.fromkeys(OF_INDEXES, CLEAN) | {None: {DefectKind.KEY_ORDER: 1}}
    assert one(result, DefectKind.KEY_ORDER).key_hex == late[40][0].hex()
    assert not [note for note in outcome_of(result, None).notes if "order" in note]


# Minus zero


def test_minus_zero_is_itself_in_rows_and_entries(tmp_path: Path, spark: Any) -> None:
    columns = COLUMNS | {"price": {"type": "double"}}
    stock = Stock(tmp_path, rows=0, columns=columns)
    for number, price in enumerate((-0.0, 0.0, 1.5), start=1):
        stock.add(goods(number) | {4: price}, *OF_INDEXES)
    assert stock.check(spark).status is Status.CLEAN
