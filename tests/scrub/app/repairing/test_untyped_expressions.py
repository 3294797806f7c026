# SPDX-License-Identifier: Apache-2.0
"""An expression without `type` has the type of its index relation, for every command."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from reports import FORMATS
from scrub.app.building.follow import FollowRequest, follow_once
from scrub.app.building.verbs import plan_backfill
from scrub.app.repairing.journal import execute_undo
from scrub.app.repairing.patch import write_patch
from scrub.app.repairing.repair import execute_repair, preview_repair
from scrub.model.backfill import BackfillRequest
from scrub.model.defect import DefectKind
from scrub.model.repair import ActionOutcome, RepairRequest
from tests.postgres_server import Database
from tests.reports.results import a_check, a_defect, a_run, a_table

ROWS = [{"id": n, "customer_id": n} for n in range(1, 6)]
ENTRIES = [{"late": n > 2, "id": n} for n in range(1, 6)]
LOST = {"late": True, "id": 4}
COLUMNS = {"id": {"type": "bigint"}, "customer_id": {"type": "bigint"}}
LATE = {"expr": "customer_id > 2", "as": "late"}


def write_catalog(directory: Path, store: Mapping[str, Any], column: Mapping[str, str]) -> Path:
    orders = {"store": "shop", "columns": COLUMNS, "primary_key": ["id"]}
    orders["indexes"] = {"by_late": {"columns": [column]}}
    document = {"version": 1, "stores": {"shop": dict(store)}, "tables": {"orders": orders}}
    path = directory / "scrub.yaml"
    path.write_text(json.dumps(document))
    return path


def request_of(catalog: Path, entry: Mapping[str, Any]) -> RepairRequest:
    """A repair of one entry that an earlier check found missing."""
    key = {"id": entry["id"]}
    lost = a_defect(
        DefectKind.MISSING,
        index="by_late",
        primary_key=key,
        index_key=entry,
        expected=entry,
        actual=None,
    )
    result = a_run(a_table(a_check("by_late", counts={DefectKind.MISSING: 1})), defects=(lost,))
    found = catalog.parent / "result.json"
    found.write_text(FORMATS["json"](result))
    return RepairRequest(table="orders", catalog=catalog, from_file=found, max_fraction=1)


@pytest.fixture
def delta(tmp_path: Path) -> RepairRequest:
    write_deltalake(tmp_path / "orders", pa.Table.from_pylist(ROWS))
    kept = [entry for entry in ENTRIES if entry != LOST]
    write_deltalake(tmp_path / "orders__by_late", pa.Table.from_pylist(kept))
    return request_of(write_catalog(tmp_path, {"kind": "delta", "path": "."}, LATE), LOST)


@pytest.fixture
def postgres(tmp_path: Path, database: Database) -> RepairRequest:
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint)",
        "CREATE TABLE orders__by_late (late boolean, id bigint)",
        "INSERT INTO orders SELECT n, n FROM generate_series(1, 5) AS n",
        "INSERT INTO orders__by_late SELECT n > 2, n FROM generate_series(1, 5) AS n WHERE n <> 4",
    )
    store = {"kind": "postgres", "url": database.url}
    return request_of(write_catalog(tmp_path, store, LATE), LOST)


@pytest.fixture(params=["delta", "postgres"])
def of_store(request: pytest.FixtureRequest) -> RepairRequest:
    found: RepairRequest = request.getfixturevalue(request.param)
    return found


def test_what_check_accepts_repair_does_not_refuse(of_store: RepairRequest) -> None:
    report = preview_repair(of_store)
    assert [action.after for action in report.plan.actions] == [LOST]
    assert not report.plan.refusals
    done = execute_repair(of_store)
    assert [one.outcome for one in done.done] == [ActionOutcome.DONE]
    assert done.exit_code == 0


def test_a_patch_has_the_type_of_the_relation(of_store: RepairRequest, tmp_path: Path) -> None:
    report = write_patch(of_store, tmp_path / "patch")
    assert report.patch is not None
    (index,) = report.patch.indexes
    assert index.inserts == 1
    assert [str(column.type) for column in index.columns] == ["boolean", "bigint"]


def test_an_undo_knows_the_type_too(of_store: RepairRequest) -> None:
    run = execute_repair(of_store).run
    assert run is not None
    undone = execute_undo(of_store.catalog, run)
    assert [change.outcome for change in undone.done] == [ActionOutcome.DONE]


def test_a_build_in_a_database_needs_no_type_where_every_engine_agrees(
    postgres: RepairRequest, database: Database
) -> None:
    database.run("DROP TABLE orders__by_late")
    plan = plan_backfill(
        BackfillRequest(table="orders", indexes=("by_late",), catalog=postgres.catalog)
    )
    assert plan.steps[0] == 'create "public"."orders__by_late" ("late", "id")'


WIDE = {"expr": "CAST(customer_id AS int) + 1", "as": "next"}


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_relation_is_believed_and_not_what_spark_makes_of_the_expression(
    tmp_path: Path,
) -> None:
    """Spark says int, the relation stores bigint: check compares, and repair writes, bigint."""
    write_deltalake(tmp_path / "orders", pa.Table.from_pylist(ROWS))
    entries = [{"next": n + 1, "id": n} for n in (1, 2, 3, 5)]
    write_deltalake(tmp_path / "orders__by_late", pa.Table.from_pylist(entries))
    catalog = write_catalog(tmp_path, {"kind": "delta", "path": "."}, WIDE)
    done = execute_repair(
        RepairRequest(table="orders", catalog=catalog, verify=True, max_fraction=1)
    )
    assert [one.outcome for one in done.done] == [ActionOutcome.DONE]
    assert done.exit_code == 0
    repaired = DeltaTable(tmp_path / "orders__by_late").to_pyarrow_table().sort_by("id")
    assert repaired.schema.field("next").type == pa.int64()
    assert repaired.column("next").to_pylist() == [2, 3, 4, 5, 6]
    write_deltalake(
        tmp_path / "orders", pa.Table.from_pylist([{"id": 6, "customer_id": 6}]), mode="append"
    )
    request = FollowRequest(table="orders", indexes=("by_late",), catalog=catalog, from_version=0)
    assert follow_once(request).exit_code == 0
    followed = DeltaTable(tmp_path / "orders__by_late").to_pyarrow_table()
    assert sorted(followed.column("next").to_pylist()) == [2, 3, 4, 5, 6, 7]
