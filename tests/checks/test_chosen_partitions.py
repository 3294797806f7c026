# SPDX-License-Identifier: Apache-2.0
"""Conditions on the partitions of a table: what is read, and what is found. None starts Spark."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import yaml
from deltalake import write_deltalake

from checks.columns import sifting
from scrub.app import run_check
from scrub.model.request import CheckRequest
from scrub.model.result import RunResult, Status
from tests.in_process import HERE, check_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAYS = ("2026-11-14", "2026-11-15", "2026-11-16")
YESTERDAY = "day = '2026-11-15'"
ROWS_A_DAY = 20


def rows() -> list[dict[str, Any]]:
    return [
        {"id": n, "customer": n % 7, "rate": n, "day": DAYS[n // ROWS_A_DAY]}
        for n in range(ROWS_A_DAY * len(DAYS))
    ]


def entry_of(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("customer", "id", "day")}


def lake(
    directory: Path, of_table: list[dict[str, Any]], entries: list[dict[str, Any]], **index: Any
) -> Path:
    """Orders by day, and an index that stores the day, by day as well."""
    for name, held in (("orders", of_table), ("orders__by_customer", entries)):
        example = (held or [entry_of(rows()[0])])[0]
        kinds = {n: pa.string() if isinstance(v, str) else pa.int64() for n, v in example.items()}
        table = pa.Table.from_pylist(held, pa.schema(list(kinds.items())))
        write_deltalake(str(directory / name), table, partition_by=["day"])
    names = {str: "string", int: "bigint"}
    types = {name: names[type(value)] for name, value in (of_table or rows())[0].items()}
    described = {"columns": ["customer"], "storing": ["day"]} | index
    document = {
        "version": 1,
        "stores": {"lake": {"kind": "delta", "path": "."}},
        "tables": {
            "orders": {
                "store": "lake",
                "columns": {name: {"type": kind} for name, kind in types.items()},
                "primary_key": ["id"],
                "indexes": {"by_customer": described},
            }
        },
    }
    path = directory / "scrub.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def look(catalog: Path, where: str | None = YESTERDAY) -> RunResult:
    return check_here(CheckRequest(catalog=catalog, where=where, checks=("index",)))


def found(result: RunResult) -> list[tuple[str, Any]]:
    return [(of.kind.value, (of.primary_key or {})["id"]) for of in result.defects]


def lose(directory: Path, name: str, day: str) -> None:
    """Take away the files of a day, so that whoever reads them fails."""
    (folder,) = (directory / name).glob(f"day={day}")
    for file in folder.iterdir():
        file.unlink()


def test_partitions_without_a_chosen_row_are_not_opened(tmp_path: Path) -> None:
    entries = [entry_of(row) for row in rows() if row["id"] != 21]
    catalog = lake(tmp_path, rows(), entries)
    lose(tmp_path, "orders", DAYS[0])
    result = look(catalog)
    assert found(result) == [("missing_secondary_index", 21)]
    assert result.status is Status.DEFECTIVE
    assert not result.is_incomplete
    (outcome,) = result.outcomes
    assert (outcome.rows, outcome.entries) == (ROWS_A_DAY, ROWS_A_DAY - 1)
    assert "2 of 3 parts of orders left out" in " ".join(outcome.notes)


def test_an_entry_in_a_wrong_partition_is_wrong_not_missing(tmp_path: Path) -> None:
    """So no partition of the index is left out by what it stores."""
    entries = [entry_of(row) for row in rows()]
    entries[21]["day"] = DAYS[2]
    assert found(look(lake(tmp_path, rows(), entries))) == [("wrong_stored_value", 21)]


def test_partitions_of_an_index_that_identify_its_entries_are_left_out(tmp_path: Path) -> None:
    entries = [entry_of(row) for row in rows()]
    catalog = lake(tmp_path, rows(), entries, columns=["day", "customer"], storing=[])
    lose(tmp_path, "orders__by_customer", DAYS[0])
    for where, unsought in ((YESTERDAY, 0), (f"{YESTERDAY} AND rate > 25", 1)):
        result = look(catalog, where)
        (outcome,) = result.outcomes
        assert (outcome.status, len(outcome.not_looked_for)) == (Status.CLEAN, unsought)
        assert "2 of 3 parts of orders__by_customer left out" in " ".join(outcome.notes)


def test_the_copy_of_a_row_in_another_partition_explains_what_is_there(tmp_path: Path) -> None:
    """A primary key that is there twice, on two days: each row has its entry."""
    copy = rows()[21] | {"day": DAYS[0]}
    of_table = [*rows(), copy]
    entries = [entry_of(row) for row in of_table]
    result = look(lake(tmp_path, of_table, entries))
    assert (found(result), result.status) == ([], Status.CLEAN)
    assert any("seen without looking: 1 entry" in n for n in result.outcomes[0].notes)


def test_what_a_partition_that_was_left_out_could_explain_is_not_said_without_it(
    tmp_path: Path,
) -> None:
    entries = [entry_of(row) for row in rows()]
    entries[21]["day"] = DAYS[2]
    catalog = lake(tmp_path, rows(), entries)
    lose(tmp_path, "orders", DAYS[0])
    result = look(catalog)
    assert (found(result), result.status) == ([], Status.INCOMPLETE)


@pytest.mark.spark
def test_a_row_not_chosen_that_only_spark_decides_leaves_the_naming_to_spark(
    tmp_path: Path, spark: "SparkSession"
) -> None:
    """The copy of a chosen row, in a partition that the scan passed over, has a casing in doubt."""
    of_table = [row | {"customer": f"C{row['id']}"} for row in rows()]
    copy = of_table[21] | {"day": DAYS[2], "customer": "\ua7cb"}
    entries = [entry_of(row) | {"customer": row["customer"].lower()} for row in of_table]
    entries[21]["customer"] = "wrong"
    lowered = {"columns": [{"expr": "lower(customer)", "as": "customer"}]}
    catalog = lake(tmp_path, [*of_table, copy], entries, **lowered)
    result = run_check(
        CheckRequest(catalog=catalog, where=YESTERDAY, checks=("index",)),
        spark=spark,
        spark_options=HERE,
    )
    assert found(result) == [("missing_secondary_index", 21)]
    assert "Spark" in str(result.ran)


def test_a_moved_key_is_a_missing_entry_and_what_was_seen_is_noted(tmp_path: Path) -> None:
    entries = [entry_of(row) for row in rows()]
    entries[21]["customer"] = 99
    (tmp_path / "a").mkdir()
    result = look(lake(tmp_path / "a", rows(), entries))
    assert found(result) == [("missing_secondary_index", 21)]
    entries.append(entry_of(rows()[21]))
    (tmp_path / "b").mkdir()
    result = look(lake(tmp_path / "b", rows(), entries))
    assert (found(result), result.status) == ([], Status.CLEAN)
    assert any("seen without looking: 1 entry" in n for n in result.outcomes[0].notes)


def test_a_condition_that_is_true_of_no_row_finds_nothing(tmp_path: Path) -> None:
    catalog = lake(tmp_path, rows(), [])
    for where in ("rate < 0", "day = 'never'", "NOT rate > 0 AND id > 0"):
        (outcome,) = look(catalog, where).outcomes
        assert (outcome.status, outcome.rows, outcome.entries) == (Status.CLEAN, 0, 0)


def test_more_differences_than_are_held_are_named_by_tasks_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what belongs to chosen rows is gathered, however much of a bucket does not."""
    monkeypatch.setattr(sifting, "BYTES_MAX", 4_000)
    entries = [entry_of(row) for row in rows() if row["id"] != 21]
    result = look(lake(tmp_path, rows(), entries), "rate = 21")
    assert found(result) == [("missing_secondary_index", 21)]
