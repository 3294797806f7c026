# SPDX-License-Identifier: Apache-2.0
"""Which constraints and rows a request means, and how much of what is found it wants to see."""

import json
from pathlib import Path
from typing import Any

import pytest

from checks.parts import JobSize
from reports.redaction import redact_result
from scrub.app import run_check
from scrub.errors import UsageError
from scrub.model.request import CheckRequest, Engine
from scrub.model.result import RunResult, Status
from tests.checks.constraints import lakes

pytestmark = pytest.mark.spark

BOTH = [Engine.AUTO, Engine.SQL]
CUSTOMERS = {"id": "bigint"}
ORDERS = {"id": "bigint", "customer": "int", "amount": "int", "email": "string"}
ROWS = [
    (1, 1, 10, "a"),
    (2, 9, 10, "b"),
    (3, 1, -3, "a"),
    (4, 8, -4, None),
    (None, 1, 10, "c"),
    (6, 1, 10, "x"),
    (6, 1, None, "y"),
]
ALL = [
    ("customer", 2),
    ("customer", 4),
    ("evaluated", 4),
    ("not_null", 4),
    ("not_null", None),
    ("one_email", 1),
    ("one_email", 3),
    ("positive", 3),
    ("positive", 4),
    ("primary_key", 6),
]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("lake")
    lakes.write_table(directory, "orders", ORDERS, *ROWS)
    lakes.write_table(directory, "customers", CUSTOMERS, (1,), (2,))
    orders = lakes.a_table(
        ORDERS,
        checks={"positive": "amount > 0", "evaluated": "abs(amount) <> 4"},
        unique={"one_email": ["email"]},
        foreign_keys={"customer": lakes.refers("customers", "customer")},
    )
    orders["columns"]["email"]["nullable"] = False
    return lakes.write_catalog(directory, {"customers": lakes.a_table(CUSTOMERS), "orders": orders})


def sorted_by_text(pairs: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(pairs, key=str)


def named(result: RunResult) -> list[tuple[Any, ...]]:
    pairs = [(d.constraint, *(d.primary_key or {}).values()) for d in result.defects]
    return sorted_by_text(pairs)


@pytest.mark.parametrize("engine", BOTH)
def test_where_limits_the_child_only(catalog: Path, spark: Any, engine: Engine) -> None:
    # No parent has an id above 2: a condition for both sides would leave no parent at all.
    result = lakes.check(catalog, spark, "orders", engine=engine, where="id >= 3")
    expected = {("customer", 4), ("positive", 3), ("positive", 4), ("evaluated", 4)}
    assert {*named(result)} == expected | {("not_null", 4), ("primary_key", 6)}
    assert "only rows where id >= 3" in lakes.outcome_of(result, "customer").notes


@pytest.mark.parametrize("where", ["amount = 10", "concat(amount) = '10'"])
@pytest.mark.parametrize("engine", BOTH)
def test_where_may_speak_of_columns_that_no_constraint_is_about(
    catalog: Path, spark: Any, engine: Engine, where: str
) -> None:
    names = ("not_null", "primary_key", "one_email", "customer")
    result = lakes.check(catalog, spark, "orders", engine=engine, where=where, constraints=names)
    assert not result.is_incomplete
    assert named(result) == [("customer", 2), ("not_null", None)]


def test_only_constraints_that_are_named_are_looked_at(catalog: Path, spark: Any) -> None:
    result = lakes.check(catalog, spark, "orders", constraints=("positive", "orders.customer"))
    assert [outcome.constraint for outcome in result.outcomes] == ["positive", "customer"]
    assert named(result) == [("customer", 2), ("customer", 4), ("positive", 3), ("positive", 4)]


def test_a_constraint_that_does_not_exist_is_a_mistake(catalog: Path, spark: Any) -> None:
    with pytest.raises(UsageError, match="there is no constraint postive of orders") as error:
        lakes.check(catalog, spark, "orders", constraints=("postive",))
    assert "positive" in (error.value.hint or "")


def test_native_only_refuses_what_only_spark_evaluates(catalog: Path, spark: Any) -> None:
    with pytest.raises(UsageError, match="cannot check constraint evaluated of orders"):
        lakes.check(catalog, spark, "orders", engine=Engine.NATIVE)


@pytest.mark.parametrize("engine", BOTH)
def test_counts_are_exact_whatever_the_limit_and_the_file_has_everything(
    catalog: Path, spark: Any, engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "all.jsonl"
    result = lakes.check(catalog, spark, "orders", engine=engine, limit=3, all_defects=file)
    assert (len(result.defects), result.defects_total) == (3, len(ALL))
    assert result.exit_code == 1
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    every = [(line["constraint"], line["primary_key"]["id"]) for line in lines]
    assert sorted_by_text(every) == sorted_by_text(ALL)
    assert {defect.id for defect in result.defects} <= {line["id"] for line in lines}


def test_nothing_is_named_if_nothing_is_to_be_shown(catalog: Path, spark: Any) -> None:
    result = lakes.check(catalog, spark, "orders", limit=0)
    assert (result.defects, result.defects_total) == ((), len(ALL))


def test_redaction_leaves_keys_and_names(catalog: Path, spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    result = lakes.check(catalog, spark, "orders", redact=True, all_defects=file)
    redacted = redact_result(result)
    assert [d.id for d in redacted.defects] == [d.id for d in result.defects]
    lines = {
        (line["constraint"], line["primary_key"]["id"]): line
        for line in map(json.loads, file.read_text().splitlines())
    }
    assert lines["positive", 3]["actual"] == {"amount": "[redacted]"}
    assert lines["customer", 2]["index_key"] == {"customer": 9}
    assert "-3" not in json.dumps(lines["positive", 3])


@pytest.mark.parametrize("engine", BOTH)
def test_a_null_is_one_defect_with_one_id_whichever_check_is_asked_for(
    catalog: Path, spark: Any, engine: Engine
) -> None:
    def nulls(*checks: str) -> list[str]:
        result = lakes.check(catalog, spark, "orders", engine=engine, checks=checks)
        return sorted(d.id for d in result.defects if d.kind == "null_violation")

    of_constraint = nulls("constraint")
    assert len(of_constraint) == 2
    assert nulls("physical") == of_constraint
    assert nulls("physical", "constraint") == of_constraint


def raising_lake(directory: Path) -> Path:
    types = {"id": "bigint", "divisor": "int"}
    lakes.write_table(directory, "ratios", types, (1, 1), (2, 0), (3, -1), (4, 0))
    checks = {"raises": "10 / divisor > 0", "holds": "divisor < 1", "also": "abs(divisor) < 2"}
    return lakes.write_catalog(directory, {"ratios": lakes.a_table(types, checks=checks)})


@pytest.mark.parametrize("row", [2, 4])
def test_a_row_for_which_an_expression_raises_is_named_and_costs_one_constraint(
    tmp_path: Path, spark: Any, row: int
) -> None:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        result = lakes.check(raising_lake(tmp_path), spark, "ratios", where=f"id IN (1, 3, {row})")
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    outcome = lakes.outcome_of(result, "raises")
    assert outcome.status is Status.INCOMPLETE
    assert f"id={row}" in (outcome.reason or "")
    assert "divi" in (outcome.reason or "").lower()
    assert lakes.found(result, "ratios") == [("holds", 1)]
    assert lakes.outcome_of(result, "also").status is Status.CLEAN


def test_constraints_resume_with_the_scan_that_serves_them(
    catalog: Path, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path))

    def crash(progress: Any) -> None:
        if list(tmp_path.iterdir()):  # one part was read, and what was counted is kept
            raise RuntimeError("the machine went away")

    request = CheckRequest(catalog=catalog, tables=("orders",))
    one_part_a_job = JobSize(first_job_rows=1, job_seconds=0.0)
    with pytest.raises(RuntimeError, match="went away"):
        run_check(request, spark=spark, job_size=one_part_a_job, on_progress=crash)
    assert list(tmp_path.iterdir())
    result = run_check(request, spark=spark, job_size=one_part_a_job)
    assert "resumed: 1 of 2 parts were read before" in lakes.outcome_of(result, "positive").notes
    assert named(result) == sorted_by_text(ALL)
    assert result.defects_total == len(ALL)
