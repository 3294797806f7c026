# SPDX-License-Identifier: Apache-2.0
"""What a check loads before it begins, and what it never loads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import delta_lake, entries_of, orders
from tests.postgres_server import Database

UNUSED = ("pyspark", "py4j", "pandas", "scipy", "great_expectations")

COMMAND = """
import json, sys
from scrub.cli.main import main
try:
    main()
finally:
    names = {named!r}
    print(json.dumps([name for name in names if name in sys.modules]), file=sys.stderr)
"""


def loaded_by_a_check(catalog: Path, named: tuple[str, ...]) -> tuple[str, list[str]]:
    """The status that a command found, and which of some modules it had imported by then."""
    arguments = ["check", "table", "orders", "--catalog", str(catalog), "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND.format(named=named), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(done.stdout)["status"], json.loads(done.stderr.splitlines()[-1])


def test_a_check_of_columns_does_not_load_the_loops_of_pairs() -> None:
    """Loading them takes a second, before every check."""
    program = "import sys, checks.run\nprint([m for m in sys.modules if 'codec.kv' in m])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_check_in_the_process_loads_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    """Neither when all is well nor to name defects: that would take as long as the check."""
    rows = orders(200)
    (tmp_path / "clean").mkdir()
    (tmp_path / "damaged").mkdir()
    clean = delta_lake(tmp_path / "clean", rows, entries_of(rows))
    damaged = delta_lake(tmp_path / "damaged", rows, entries_of(rows).slice(1))
    assert loaded_by_a_check(clean, UNUSED) == ("clean", [])
    assert loaded_by_a_check(damaged, UNUSED) == ("defective", [])


@pytest.mark.slow
def test_a_comparison_inside_a_database_loads_no_compiled_loops(
    database: Database, tmp_path: Path
) -> None:
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, status text)",
        "INSERT INTO orders SELECT i, 'open' FROM generate_series(1, 100) i",
        "CREATE TABLE orders__by_status AS SELECT status, id FROM orders",
    )
    orders_table = {
        "store": "shop",
        "columns": {"id": {"type": "bigint", "nullable": False}, "status": {"type": "string"}},
        "primary_key": ["id"],
        "indexes": {"by_status": {"columns": ["status"]}},
    }
    shop = {"kind": "postgres", "url": database.url}
    catalog = tmp_path / "scrub.yaml"
    catalog.write_text(
        json.dumps({"version": 1, "stores": {"shop": shop}, "tables": {"orders": orders_table}})
    )
    assert loaded_by_a_check(catalog, (*UNUSED, "numba")) == ("clean", [])
    database.run("DELETE FROM orders__by_status WHERE id = 7")
    assert loaded_by_a_check(catalog, (*UNUSED, "numba")) == ("defective", [])
