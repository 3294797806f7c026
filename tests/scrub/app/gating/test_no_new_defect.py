# SPDX-License-Identifier: Apache-2.0
"""What does not change the data makes no defect new: compaction, order, redaction, engine."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from scrub.app.gating.gate import run_gate
from scrub.model.gate import GateRequest, Judged, Standing
from scrub.model.request import CheckRequest, Engine
from tests.builders import BY_CUSTOMER, ORDER_COLUMNS, entries_of, orders, write_catalog

pytestmark = pytest.mark.spark

FOUND = 4  # a missing, a wrong and a dangling entry, and a row without a key


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A table in several files, an index with three defects, and a row whose key is NULL."""
    rows = orders(30)
    keyless = pa.Table.from_pylist(
        [{"id": None, "customer_id": 200, "status": "lost"}], schema=rows.schema
    )
    entries = entries_of(rows).to_pylist()
    wrong = [entry | {"status": "WRONG"} if entry["id"] == 7 else entry for entry in entries]
    wrong = [entry for entry in wrong if entry["id"] != 3]
    wrong += [{"customer_id": 5, "id": 999, "status": "open"}]
    wrong += keyless.to_pylist()
    for part in (
        rows.slice(0, 10),
        rows.slice(10, 10),
        pa.concat_tables([rows.slice(20), keyless]),
    ):
        write_deltalake(str(tmp_path / "orders"), part, mode="append")
    for part in (wrong[:15], wrong[15:]):
        relation = str(tmp_path / "orders__by_customer")
        schema = entries_of(rows).schema
        write_deltalake(relation, pa.Table.from_pylist(part, schema=schema), mode="append")
    return write_catalog(tmp_path)


def gate(catalog: Path, spark: Any, **more: Any) -> Judged:
    check = CheckRequest(catalog=catalog, checks=("index", "physical"), fresh=True)
    options = {"write_baseline": more.pop("write_baseline", False)}
    return run_gate(GateRequest(check=replace(check, **more), **options), spark=spark)


def compacted(catalog: Path) -> None:
    for name in ("orders", "orders__by_customer"):
        table = DeltaTable(str(catalog.parent / name))
        before = table.file_uris()
        table.optimize.compact()
        assert set(table.file_uris()).isdisjoint(before)


def reordered(catalog: Path) -> None:
    """In the catalog and in the files."""
    names = ["status", "id", "customer_id"]
    write_catalog(
        catalog.parent,
        {"by_customer": BY_CUSTOMER},
        {name: ORDER_COLUMNS[name] for name in names},
    )
    for name in ("orders", "orders__by_customer"):
        place = str(catalog.parent / name)
        rows = pa.table(DeltaTable(place).to_pyarrow_table()).select(names)
        write_deltalake(place, rows, mode="overwrite", schema_mode="overwrite")


def untouched(catalog: Path) -> None:
    assert catalog.exists()


@pytest.mark.parametrize(
    ("change", "more"),
    [
        (compacted, {}),
        (reordered, {}),
        (untouched, {"redact": True}),
        (untouched, {"engine": Engine.SQL}),
        (compacted, {"engine": Engine.SQL, "redact": True}),
    ],
)
def test_no_defect_is_new(
    lake: Path, spark: Any, change: Callable[[Path], None], more: dict[str, Any]
) -> None:
    first = gate(lake, spark, write_baseline=True, limit=1)
    assert (first.verdict.exit_code, first.verdict.counts[Standing.KNOWN]) == (0, FOUND)
    change(lake)
    again = gate(lake, spark, **more).verdict
    told = {standing: number for standing, number in again.counts.items() if number}
    assert (again.exit_code, told) == (0, {Standing.KNOWN: FOUND}), again.reasons


def test_what_is_new_is_found_beyond_the_limit(lake: Path, spark: Any) -> None:
    gate(lake, spark, write_baseline=True)
    header = json.loads((lake.parent / "scrub-baseline.jsonl").read_text().splitlines()[0])
    assert header["defects"] == FOUND
    extra = pa.table({"customer_id": [6, 6], "id": [1001, 1002], "status": ["open", "open"]})
    write_deltalake(str(lake.parent / "orders__by_customer"), extra, mode="append")
    verdict = gate(lake, spark, limit=0).verdict
    assert (verdict.exit_code, verdict.counts[Standing.NEW]) == (1, 2)
    assert verdict.reasons == ("orders.by_customer: 2 new dangling_secondary_index",)


def test_rows_that_were_chosen_are_no_whole_look(lake: Path, spark: Any) -> None:
    gate(lake, spark, write_baseline=True)
    verdict = gate(lake, spark, where="id > 900").verdict
    assert verdict.exit_code == 3
    assert not verdict.gone
