# SPDX-License-Identifier: Apache-2.0
"""Violated constraints in a gate: known, waived, ruled and required like any other defect."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from scrub.app.gating.gate import run_gate
from scrub.model.gate import GateRequest, Standing, Verdict
from scrub.model.request import CheckRequest

pytestmark = pytest.mark.spark

CATALOG = """\
version: 1
stores:
  lake: {kind: delta, path: .}
tables:
  orders:
    store: lake
    columns:
      id: {type: bigint}
      customer_id: {type: bigint, nullable: false}
      amount: {type: int}
      code: {type: string}
    primary_key: [id]
    checks: {positive: amount >= 0, small: amount < 100}
    unique: {one_code: [code]}
    foreign_keys: {customer: {columns: [customer_id], references: customers}}
    indexes: {by_customer: {columns: [customer_id]}}
  customers:
    store: lake
    columns: {id: {type: bigint}}
    primary_key: [id]
"""
ORDERS = [
    {"id": 1, "customer_id": 1, "amount": 5, "code": "a"},
    {"id": 2, "customer_id": 2, "amount": -1, "code": "b"},  # positive
    {"id": 3, "customer_id": 9, "amount": 500, "code": "c"},  # small, customer
    {"id": 4, "customer_id": 1, "amount": 7, "code": "c"},  # one_code, with 3
    {"id": 5, "customer_id": None, "amount": 7, "code": "e"},  # not null
]
FOUND = {
    ("check_violation", "positive"),
    ("check_violation", "small"),
    ("foreign_key_violation", "customer"),
    ("unique_violation", "one_code"),
    ("null_violation", "not_null"),
}
DEFECTS = 6  # the shared code is a defect of both rows


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    schema = pa.schema(
        {"id": pa.int64(), "customer_id": pa.int64(), "amount": pa.int32(), "code": pa.string()}
    )
    orders = pa.Table.from_pylist(ORDERS, schema=schema)
    write_deltalake(str(tmp_path / "orders"), orders)
    entries = orders.select(["customer_id", "id"])
    write_deltalake(str(tmp_path / "orders__by_customer"), entries)
    write_deltalake(str(tmp_path / "customers"), pa.table({"id": pa.array([1, 2], pa.int64())}))
    (tmp_path / "scrub.yaml").write_text(CATALOG)
    return tmp_path


def gate(lake: Path, spark: Any, more: str = "", **options: Any) -> Verdict:
    (lake / "scrub.yaml").write_text(CATALOG + more)
    check = CheckRequest(catalog=lake / "scrub.yaml", fresh=True)
    return run_gate(GateRequest(check=check, **options), spark=spark).verdict


def test_violations_are_new_then_known_and_each_names_its_constraint(
    lake: Path, spark: Any
) -> None:
    first = gate(lake, spark)
    assert first.exit_code == 1
    found = {(one.defect.kind.value, one.defect.constraint) for one in first.defects}
    assert found == FOUND
    assert first.counts[Standing.NEW] == DEFECTS
    assert "orders (positive): 1 new check_violation" in first.reasons
    assert gate(lake, spark, write_baseline=True).exit_code == 0
    lines = (lake / "scrub-baseline.jsonl").read_text().splitlines()[1:]
    assert {(line["kind"], line["constraint"]) for line in map(json.loads, lines)} == FOUND
    # The physical check reports the same NULL, and the gate asks for all it can ask for.
    all_of_it = gate(lake, spark, "gate: {require: [index, constraint, physical]}\n")
    assert (all_of_it.exit_code, all_of_it.counts[Standing.KNOWN]) == (0, DEFECTS)
    # Another condition is another promise: what was known of the old one says nothing of it.
    catalog = CATALOG.replace("amount >= 0", "amount >= 1")
    (lake / "scrub.yaml").write_text(catalog)
    request = CheckRequest(catalog=lake / "scrub.yaml", fresh=True)
    changed = run_gate(GateRequest(check=request), spark=spark).verdict
    assert changed.reasons == ("orders (positive): 1 new check_violation",)


def test_waivers_and_rules_choose_violations_by_their_constraint(lake: Path, spark: Any) -> None:
    until = datetime.now(UTC).date() + timedelta(days=30)
    who = f"reason: old import, by: ann, until: {until}"
    waivers = (
        f"version: 1\nwaivers:\n- {{table: orders, constraint: positive, at_most: 1, {who}}}\n"
    )
    (lake / "scrub-waivers.yaml").write_text(waivers)
    rules = """\
gate:
  rules:
  - {table: orders, constraint: small, severity: warning}
  - {table: orders, kind: foreign_key_violation, fail_above: 1}
  - {table: orders, constraint: one_code, fail_above: 1}
  - {table: orders, kind: null_violation, severity: note}
"""
    verdict = gate(lake, spark, rules)
    assert verdict.exit_code == 1
    assert verdict.reasons == (
        "orders (one_code): 2 new unique_violation; together 2, above fail_above: 1 "
        f"(scrub.yaml:{CATALOG.count(chr(10)) + 5})",
    )
    assert verdict.counts[Standing.WAIVED] == 1
    told = " ".join(verdict.warnings)
    assert "orders (small): 1 new check_violation" in told
    assert "orders (customer): 1 new foreign_key_violation, not above fail_above: 1" in told
    assert "null_violation" not in told
