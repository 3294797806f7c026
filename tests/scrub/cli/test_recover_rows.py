# SPDX-License-Identifier: Apache-2.0
"""`scrub repair table --recover-rows` as typed: shown, done, told as JSON, undone, limited."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrub.catalog import load_catalog
from scrub.model.defect import Defect
from tests.postgres_server import Database
from tests.scrub.cli.exit_codes import exit_code
from tests.scrub.stores.postgres.repairs.postgres_ground import Ground

Scrub = Callable[[str], tuple[int, str]]
INDEXES = {
    "by_customer": {"columns": ["customer_id"], "storing": ["status"]},
    "by_total": {"columns": ["total"]},
    "by_note": {"columns": ["note"]},
}
TYPES = {
    "id": "bigint", "customer_id": "bigint", "status": "string", "total": "decimal(9,2)",
    "note": "string",
}  # fmt: skip


@pytest.fixture
def ground(database: Database, tmp_path: Path) -> Ground:
    """Order 7 is lost; two indexes tell of it, and nobody knows its note."""
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, status text, "
        "total numeric(9,2), note text DEFAULT 'none')",
        "INSERT INTO orders SELECT i, i % 7, 'open', i * 1.25, 'n' || i "
        "FROM generate_series(1, 100) AS i",
        "CREATE TABLE orders__by_customer AS SELECT customer_id, id, status FROM orders",
        "CREATE TABLE orders__by_total AS SELECT total, id FROM orders",
        "CREATE TABLE orders__by_note AS SELECT note, id FROM orders WHERE id <> 7",
        "DELETE FROM orders WHERE id = 7",
    )
    table = {
        "store": "shop",
        "columns": {name: {"type": kind} for name, kind in TYPES.items()},
        "primary_key": ["id"],
        "indexes": INDEXES,
    }
    stores = {"shop": {"kind": "postgres", "url": database.url}}
    document = {"version": 1, "stores": stores, "tables": {"orders": table}}
    path = tmp_path / "scrub.yaml"
    path.write_text(json.dumps(document))
    return Ground(database, load_catalog(path).tables["orders"])


def defect_record(defect: Defect) -> dict[str, Any]:
    names = ("kind", "table", "index", "primary_key", "index_key", "expected", "actual")
    return {name: getattr(defect, name) for name in names}


@pytest.fixture
def scrub(ground: Ground, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Scrub:
    """A command with FILE for the result of a check; its exit code and what it wrote."""
    file = tmp_path / "result.json"
    told = [defect_record(defect) for defect in ground.defects()]
    check = {"type": "check", "table": "orders", "index": "by_customer", "rows": 99}
    tables = [{"table": "orders", "checks": [check]}]
    file.write_text(json.dumps({"schema_version": 1, "tables": tables, "defects": told}))

    def run(command: str) -> tuple[int, str]:
        arguments = [file if word == "FILE" else word for word in command.split()]
        code = exit_code(*arguments, "--catalog", tmp_path / "scrub.yaml")
        captured = capsys.readouterr()
        return code, captured.out

    return run


def says(scrub: Scrub, command: str, code: int, expected: str) -> str:
    found, text = scrub(command)
    assert (found, expected in text) == (code, True)
    return text


def test_a_lost_row_is_shown_put_back_told_and_taken_out(ground: Ground, scrub: Scrub) -> None:
    code, text = scrub("repair table orders --from FILE")
    assert code == 1
    assert "put the proposed row back (in PostgreSQL and Delta, --recover-rows does it)" in text
    assert scrub("repair table orders --from FILE --recover-rows --index by_total")[0] == 2
    assert scrub("repair table orders --from FILE --recover-rows --patch out")[0] == 2
    repair = "repair table orders --from FILE --recover-rows"
    code, text = scrub(repair)
    assert code == 1
    assert "put the lost row back" in text
    row = "id=7, found alike in by_customer, by_total"
    assert f"Rows that would be put back\n  - {row}; unknown, written as NULL: note" in text
    assert "with its entry in by_note" in text
    assert "nothing was changed; 2 changes would be made" in text
    says(scrub, f"{repair} --execute --max-changes 1", 2, "2 changes are more than --max-changes 1")
    assert len(ground.rows()) == 99
    code, text = scrub(f"{repair} --execute --format json")
    assert code == 0
    report = json.loads(text)
    (action,) = report["actions"]
    assert (action["kind"], action["outcome"], action["in_order"]) == ("recover", "done", True)
    assert action["after"]["total"] == "8.75"
    assert action["recovery"] == {
        "told_by": {
            "by_customer": {"customer_id": 0, "id": 7, "status": "open"},
            "by_total": {"total": "8.75", "id": 7},
        },
        "written_as_null": ["note"],
        "puts": {"by_note": {"note": None, "id": 7}},
    }
    ground.assert_right()
    assert ground.database.rows("SELECT note FROM orders WHERE id = 7") == [(None,)]
    code, text = scrub(f"journal show {report['run']}")
    assert "the table" in text
    assert "put the lost row back" in text
    assert "total='8.75', note=NULL" in text
    says(scrub, f"undo {report['run']} --execute", 0, "2 undone, 0 refused")
    assert len(ground.rows()) == 99
    code, text = scrub(f"{repair} --execute")
    assert "Rows that were put back" in text
    assert "1 done; to undo it: scrub undo" in text
    run = text.split("scrub undo ")[1].split()[0]
    ground.database.run("UPDATE orders SET note = 'mine' WHERE id = 7")
    text = says(scrub, f"undo {run} --execute", 1, "refused: the row has changed since")
    assert "refused: its row stays" in text
