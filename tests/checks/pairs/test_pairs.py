# SPDX-License-Identifier: Apache-2.0
"""Checks of tables in key-value layout: pairs written by the reference, damaged, and found."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scrub.app.checking import tables as check_tables
from scrub.app.pair_files import decoded_pairs, encode_table
from scrub.catalog import load_catalog
from scrub.errors import UsageError
from scrub.model.defect import DefectKind
from scrub.model.kv import KvTable
from scrub.model.request import Engine
from scrub.model.result import Status
from tests.checks.pairs.pair_ground import (
    INDEXES,
    ONE_FAMILY,
    TWO_FAMILIES,
    Pair,
    all_pairs,
    checked,
    counts,
    kv_table,
    outcome_of,
    row,
    stored,
    table_of,
    write_catalog,
    write_file,
    write_pairs,
)
from tests.scrub.codec.kv.reference_datums import encode_unsigned
from tests.scrub.codec.kv.reference_pairs import encode_entry, encode_row, encode_value

pytestmark = pytest.mark.spark

ENGINES = [Engine.NATIVE, Engine.SQL]


def one_family(directory: Path, rows: int) -> tuple[Path, KvTable, dict[str, list[Pair]]]:
    """A catalog, the table of pairs in it, and pairs for so many rows."""
    catalog = write_catalog(directory, ONE_FAMILY)
    table = table_of(catalog)
    return catalog, table, all_pairs(table, rows)


@pytest.mark.parametrize("families", [ONE_FAMILY, TWO_FAMILIES])
def test_pairs_that_agree_are_clean(tmp_path: Path, spark: Any, families: dict[str, Any]) -> None:
    catalog = write_catalog(tmp_path, families)
    write_pairs(tmp_path, all_pairs(table_of(catalog), 200))
    result = checked(catalog, spark)
    assert result.status is Status.CLEAN
    assert [(o.check, o.index) for o in result.outcomes] == [
        ("physical", None),
        ("index", "by_customer"),
        ("index", "by_email"),
    ]
    assert [o.rows for o in result.outcomes if o.check == "index"] == [200, 200]


@pytest.mark.parametrize(
    ("families", "engine"),
    [(ONE_FAMILY, Engine.NATIVE), (ONE_FAMILY, Engine.SQL), (TWO_FAMILIES, Engine.AUTO)],
)
def test_each_disagreement_is_found_once(
    tmp_path: Path, spark: Any, families: dict[str, Any], engine: Engine
) -> None:
    catalog = write_catalog(tmp_path, families)
    table = table_of(catalog)
    pairs = all_pairs(table, 200)
    by_customer, by_email = table.indexes
    (lost,) = stored(encode_entry(table, by_customer, row(8)))
    pairs["by_customer"].remove(lost)
    pairs["by_email"] += stored(encode_entry(table, by_email, row(777)))
    (old,) = stored(encode_entry(table, by_customer, row(9)))
    pairs["by_customer"].remove(old)
    pairs["by_customer"] += stored(encode_entry(table, by_customer, row(9) | {5: b"other"}))
    pairs["by_email"].append(pairs["by_email"][3])
    write_pairs(tmp_path, pairs)
    result = checked(catalog, spark, engine=engine)
    assert {o.engine for o in result.outcomes} == {"native" if engine is Engine.NATIVE else "sql"}
    assert counts(result) == {
        None: {},
        "by_customer": {DefectKind.MISSING: 1, DefectKind.WRONG_STORED_VALUE: 1},
        "by_email": {DefectKind.DANGLING: 1, DefectKind.DUPLICATE_ENTRY: 1},
    }
    missing = next(d for d in result.defects if d.kind is DefectKind.MISSING)
    assert missing.primary_key == {"id": 8}
    assert missing.index_key == {"customer_id": 8, "amount": "0.80"}
    wrong = next(d for d in result.defects if d.kind is DefectKind.WRONG_STORED_VALUE)
    assert wrong.differing_columns == ("note",)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_share_a_unique_key_are_each_named(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    catalog, table, pairs = one_family(tmp_path, 50)
    twin = row(60) | {3: row(4)[3]}
    pairs["primary"] += stored(encode_row(table, twin))
    pairs["by_customer"] += stored(encode_entry(table, table.indexes[0], twin))
    write_pairs(tmp_path, pairs)
    result = checked(catalog, spark, engine=engine)
    assert counts(result)["by_email"] == {DefectKind.UNIQUE_VIOLATION: 2}
    assert {d.primary_key["id"] for d in result.defects if d.primary_key} == {4, 60}


@pytest.mark.parametrize("engine", ENGINES)
def test_bytes_that_are_wrong_are_reported_where_they_are(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    catalog, _, pairs = one_family(tmp_path, 100)
    key, value = pairs["by_email"][17]
    pairs["by_email"][17] = (key, value[:-1] + bytes([value[-1] ^ 1]))
    foreign = bytes.fromhex("bd898a88")
    pairs["primary"].append((foreign, encode_value(foreign, b"\x0a")))
    # 8 spelled with a length of one byte too many, under a checksum that is right.
    key = pairs["primary"][11][0]
    padded = key[:2] + b"\xf6" + bytes([key[2] - 0x88]) + key[3:]
    payload = pairs["primary"][11][1][4:]
    pairs["primary"][11] = (padded, encode_value(padded, payload))
    write_pairs(tmp_path, pairs)
    result = checked(catalog, spark, engine=engine)
    assert counts(result)[None] == {
        DefectKind.INVALID_ENCODING: 1,
        DefectKind.NONCANONICAL: 1,
        DefectKind.UNEXPECTED_KEY: 1,
    }
    invalid = next(d for d in result.defects if d.kind is DefectKind.INVALID_ENCODING)
    assert invalid.key_hex == pairs["by_email"][17][0].hex()
    assert invalid.detail == "value byte 0: expected another checksum"
    email = next(o for o in result.outcomes if o.index == "by_email")
    assert email.counts == {}
    assert email.undecided == 1, "the entry that cannot be read may be the one that is missing"
    assert email.status is Status.INCOMPLETE
    assert counts(result)["by_customer"] == {}


def test_a_row_without_its_first_family_is_reported(tmp_path: Path, spark: Any) -> None:
    catalog = write_catalog(tmp_path, TWO_FAMILIES)
    table = table_of(catalog)
    pairs = all_pairs(table, 40)
    (first, *_) = stored(encode_row(table, row(12)))
    pairs["primary"].remove(first)
    write_pairs(tmp_path, pairs)
    result = checked(catalog, spark)
    assert counts(result)[None] == {DefectKind.MISSING_FAMILY: 1}


def test_only_the_latest_version_of_a_pair_counts(tmp_path: Path, spark: Any) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    table = table_of(catalog)
    pairs = [pair for of in all_pairs(table, 30).values() for pair in of]
    gone = encode_entry(table, table.indexes[1], row(500))[0][0]
    versions = [(key, value, 2) for key, value in pairs]
    versions += [(key, b"\x00", 1) for key, _ in pairs[:10]]
    versions += [(gone, encode_value(gone, b"\x03\x88"), 1), (gone, None, 3)]
    (tmp_path / "pairs").mkdir()
    keys, values, stamps = (list(column) for column in zip(*versions, strict=True))
    table_of_versions = pa.table(
        {"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary()), "ts": stamps}
    )
    pq.write_table(table_of_versions, tmp_path / "pairs" / "0.parquet")
    assert checked(catalog, spark).status is Status.CLEAN


def test_rows_written_as_pairs_are_the_reference_s_and_read_well(
    tmp_path: Path, spark: Any
) -> None:
    catalog = write_catalog(tmp_path, TWO_FAMILIES)
    table = table_of(catalog)
    rows = [row(number) for number in range(60)]
    (tmp_path / "rows").mkdir()
    columns = {
        "id": pa.array([r[1] for r in rows], pa.int64()),
        "customer_id": pa.array([r[2] for r in rows], pa.int64()),
        "email": pa.array([r[3].decode() for r in rows]),
        "amount": pa.array([r[4] for r in rows], pa.decimal128(10, 2)),
        "note": pa.array([None if r[5] is None else r[5].decode() for r in rows]),
    }
    pq.write_table(pa.table(columns), tmp_path / "rows" / "0.parquet")
    encode_table(spark, load_catalog(catalog), "pairs", "rows", tmp_path / "pairs")
    written = pq.read_table(tmp_path / "pairs").to_pydict()
    expected = [pair for of in all_pairs(table, 60).values() for pair in of]
    assert sorted(zip(written["key"], written["value"], strict=True)) == sorted(expected)
    lines = [r["line"] for r in decoded_pairs(spark, load_catalog(catalog), "pairs").collect()]
    assert '/pairs/by_customer/8/"0.80"/8:0 -> {note: "note 8"}' in lines
    assert not [line for line in lines if "!" in line]


def test_an_index_on_a_collated_column_is_not_compared_and_says_so(
    tmp_path: Path, spark: Any
) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    text = json.loads(catalog.read_text())
    text["tables"]["pairs"]["columns"]["email"]["type"] = "collated string"
    catalog.write_text(json.dumps(text))
    write_pairs(tmp_path, {"primary": []}, files=1)
    result = checked(catalog, spark)
    by_email = next(outcome for outcome in result.outcomes if outcome.index == "by_email")
    assert by_email.status is Status.NOT_APPLICABLE
    assert "collation keys" in (by_email.reason or "")


# Files that tasks open themselves


def test_files_without_pairs_are_opened_natively_too(tmp_path: Path, spark: Any) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    (tmp_path / "pairs").mkdir()
    write_file(tmp_path / "pairs" / "0.parquet", [])
    result = checked(catalog, spark)
    assert result.status is Status.CLEAN
    assert {outcome.engine for outcome in result.outcomes} == {"native"}


def test_the_native_engine_is_refused_where_rows_must_be_brought_together(
    tmp_path: Path, spark: Any
) -> None:
    catalog = write_catalog(tmp_path, TWO_FAMILIES)
    write_pairs(tmp_path, all_pairs(table_of(catalog), 5))
    with pytest.raises(UsageError, match="families"):
        checked(catalog, spark, engine=Engine.NATIVE)


def test_tasks_of_a_cluster_try_to_open_the_files_first(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    write_pairs(tmp_path, all_pairs(table_of(catalog), 20))
    monkeypatch.setattr("checks.canary.shares_python", lambda _: False)
    assert {outcome.engine for outcome in checked(catalog, spark).outcomes} == {"native"}

    def refused(_: object, spark: Any) -> Any:
        return spark.range(1).selectExpr("raise_error('no scrub here')")

    monkeypatch.setattr("checks.canary.canary_frame", refused)
    result = checked(catalog, spark)
    assert result.status is Status.CLEAN
    for outcome in result.outcomes:
        assert outcome.engine == "sql"
        assert "Spark read everything: the canary failed" in " ".join(outcome.notes)
    with pytest.raises(UsageError, match="canary"):
        checked(catalog, spark, engine=Engine.NATIVE)


@pytest.mark.parametrize("too_many", ["source.ROWS_MAX", "native.BYTES_MAX"])
def test_entries_too_many_to_be_sifted_are_joined_all(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch, too_many: str
) -> None:
    monkeypatch.setattr(f"checks.pairs.{too_many}", 0)
    catalog, _, pairs = one_family(tmp_path, 100)
    del pairs["by_email"][7]
    write_pairs(tmp_path, pairs)
    result = checked(catalog, spark)
    assert counts(result) == {None: {}, "by_customer": {}, "by_email": {DefectKind.MISSING: 1}}
    assert [d.primary_key for d in result.defects] == [{"id": 7}]


@pytest.mark.parametrize("lost", ["pairs", "emails"])
def test_a_file_that_cannot_be_read_is_named_and_leaves_undecided_what_it_could_explain(
    tmp_path: Path, spark: Any, lost: str
) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY, indexes=with_emails_apart())
    table = table_of(catalog)
    pairs = all_pairs(table, 90)
    emails = {"by_email": pairs.pop("by_email")}
    del emails["by_email"][0]
    emails["by_email"] += stored(encode_entry(table, table.indexes[1], row(777)))
    write_pairs(tmp_path, pairs)
    write_pairs(tmp_path, emails, relation="emails")
    damaged = tmp_path / lost / "1.parquet"
    octets = damaged.read_bytes()
    damaged.write_bytes(octets[:4] + bytes(len(octets) // 2) + octets[4 + len(octets) // 2 :])
    result = checked(catalog, spark)
    physical, by_email = outcome_of(result, None), outcome_of(result, "by_email")
    for outcome in (physical, by_email):
        assert f"{lost}/1.parquet" in (outcome.reason or ""), outcome
    assert physical.status is Status.INCOMPLETE
    decided = DefectKind.DANGLING if lost == "emails" else DefectKind.MISSING
    assert by_email.counts == {decided: 1}
    assert by_email.undecided == 1 + 30, "the other one, and what the lost file has"
    by_customer = outcome_of(result, "by_customer")
    assert by_customer.counts == {}
    assert by_customer.status is (Status.CLEAN if lost == "emails" else Status.INCOMPLETE)
    assert result.exit_code == 1


def test_without_a_decided_defect_an_unread_file_of_pairs_is_exit_3(
    tmp_path: Path, spark: Any
) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    write_pairs(tmp_path, all_pairs(table_of(catalog), 60))
    damaged = tmp_path / "pairs" / "2.parquet"
    damaged.write_bytes(damaged.read_bytes()[:100])
    result = checked(catalog, spark)
    assert result.defects == ()
    assert result.exit_code == 3
    for outcome in result.outcomes:
        assert outcome.status is Status.INCOMPLETE
        assert "1 of 3 parts of pairs were not read" in (outcome.reason or "")
        assert "pairs/2.parquet" in (outcome.reason or "")


# Which relations are looked at


def with_emails_apart() -> dict[str, Any]:
    return INDEXES | {"by_email": INDEXES["by_email"] | {"relation": "emails"}}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_physical_check_alone_looks_at_the_relations_of_indexes_too(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY, indexes=with_emails_apart())
    pairs = all_pairs(table_of(catalog), 20)
    emails = {"by_email": pairs.pop("by_email")}
    key, value = emails["by_email"][3]
    emails["by_email"][3] = (key, value[:-1])
    write_pairs(tmp_path, pairs)
    write_pairs(tmp_path, emails, relation="emails")
    result = checked(catalog, spark, checks=("physical",), engine=engine)
    assert counts(result) == {None: {DefectKind.INVALID_ENCODING: 1}}
    assert outcome_of(result, None).rows == 60


def test_a_physical_check_of_one_index_looks_at_its_relation_and_the_table_s(
    tmp_path: Path, spark: Any
) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY, indexes=with_emails_apart())
    pairs = all_pairs(table_of(catalog), 20)
    pairs.pop("by_email")
    write_pairs(tmp_path, pairs)  # and no relation `emails`, which must not be missed
    asked = {"checks": ("physical",), "indexes": ("by_customer",)}
    result = checked(catalog, spark, **asked)
    assert result.status is Status.CLEAN
    assert outcome_of(result, None).rows == 40


# Several tables in one relation


@pytest.mark.parametrize("engine", ENGINES)
def test_tables_that_share_a_relation_pass_over_each_other_s_pairs(
    tmp_path: Path, spark: Any, engine: Engine
) -> None:
    second = kv_table(1053, ONE_FAMILY) | {"relation": "./pairs"}
    catalog = write_catalog(tmp_path, ONE_FAMILY, second=second)
    pairs = all_pairs(table_of(catalog), 30)
    others = all_pairs(table_of(catalog, "second"), 20)
    key, value = others["primary"][5]
    others["primary"][5] = (key, value[:-1])
    stranger = encode_unsigned(1054, False) + encode_unsigned(1, False) + b"\x88"
    pairs["strangers"] = [(stranger, encode_value(stranger, b"\x0a"))]
    write_pairs(tmp_path, pairs | {f"second {name}": of for name, of in others.items()})
    result = checked(catalog, spark, "pairs", "second", engine=engine)
    assert outcome_of(result, None).counts == {DefectKind.UNEXPECTED_KEY: 1}
    assert outcome_of(result, None).rows == 30 * 3 + 1
    assert outcome_of(result, "by_email").status is Status.CLEAN
    of_second = outcome_of(result, None, "second")
    assert of_second.counts == {DefectKind.INVALID_ENCODING: 1}, "and no stranger a second time"
    assert of_second.rows == 20 * 3
    assert outcome_of(result, "by_email", "second").undecided == 1
    alone = checked(catalog, spark, "second", engine=engine, checks=("physical",))
    assert outcome_of(alone, None, "second").counts[DefectKind.UNEXPECTED_KEY] == 1


# Lag


@pytest.mark.parametrize("engine", ENGINES)
def test_settling_keeps_what_a_later_snapshot_of_the_pairs_still_shows(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch, engine: Engine
) -> None:
    catalog, _, pairs = one_family(tmp_path, 40)
    late = pairs["by_customer"][5:10]
    del pairs["by_customer"][5:10]
    write_pairs(tmp_path, pairs)

    def catch_up(_: float) -> None:
        write_file(tmp_path / "pairs" / "late.parquet", late[1:])

    monkeypatch.setattr(check_tables, "SLEEP", catch_up)
    result = checked(catalog, spark, engine=engine, settle_seconds=1.0)
    assert counts(result) == {None: {}, "by_customer": {DefectKind.MISSING: 1}, "by_email": {}}
    assert [defect.primary_key for defect in result.defects] == [{"id": 5}]
    assert outcome_of(result, "by_customer").transient == 4


def test_settling_after_all_files_are_gone_finds_nothing_again(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, _, pairs = one_family(tmp_path, 10)
    del pairs["by_customer"][5]
    write_pairs(tmp_path, pairs)

    def start_over(_: float) -> None:
        for path in (tmp_path / "pairs").iterdir():
            path.unlink()
        write_file(tmp_path / "pairs" / "0.parquet", [])

    monkeypatch.setattr(check_tables, "SLEEP", start_over)
    result = checked(catalog, spark, settle_seconds=1.0)
    assert result.status is Status.CLEAN
    assert outcome_of(result, "by_customer").transient == 1


# The order of keys


def in_order(pairs: dict[str, list[Pair]]) -> list[Pair]:
    return sorted(pair for of in pairs.values() for pair in of)


def test_a_pair_out_of_order_is_named_with_the_key_before_it(tmp_path: Path, spark: Any) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY, sorted=True)
    pairs = in_order(all_pairs(table_of(catalog), 50))
    (tmp_path / "pairs").mkdir()
    write_file(tmp_path / "pairs" / "0.parquet", pairs[0::2])  # each file has an order of its own
    late = pairs[1::2]
    late.insert(40, late.pop(30))
    write_file(tmp_path / "pairs" / "1.parquet", late)
    result = checked(catalog, spark)
    assert counts(result) == {None: {DefectKind.KEY_ORDER: 1}, "by_customer": {}, "by_email": {}}
    (defect,) = result.defects
    assert defect.key_hex == late[40][0].hex()
    assert late[39][0].hex() in defect.detail
    assert defect.index == "by_customer"


def test_pairs_in_order_are_clean_and_without_sorted_any_order_is(
    tmp_path: Path, spark: Any
) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY, sorted=True)
    pairs = in_order(all_pairs(table_of(catalog), 50))
    (tmp_path / "pairs").mkdir()
    write_file(tmp_path / "pairs" / "0.parquet", pairs)
    assert checked(catalog, spark).status is Status.CLEAN
    write_file(tmp_path / "pairs" / "0.parquet", pairs[::-1])
    backwards = checked(catalog, spark, checks=("physical",), limit=3)
    assert counts(backwards) == {None: {DefectKind.KEY_ORDER: len(pairs) - 1}}
    assert len(backwards.defects) == 3
    write_catalog(tmp_path, ONE_FAMILY)
    assert checked(catalog, spark).status is Status.CLEAN


def test_where_spark_reads_the_order_of_keys_is_said_not_to_be_looked_at(
    tmp_path: Path, spark: Any
) -> None:
    catalog = write_catalog(tmp_path, ONE_FAMILY, sorted=True)
    write_pairs(tmp_path, all_pairs(table_of(catalog), 5))
    result = checked(catalog, spark, engine=Engine.SQL)
    assert result.status is Status.CLEAN
    notes = outcome_of(result, None).notes
    assert "the order of keys was not checked: Spark read the files" in notes
    assert not outcome_of(result, "by_email").notes
