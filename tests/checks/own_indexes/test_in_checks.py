# SPDX-License-Identifier: Apache-2.0
"""Indexes of the database itself, as part of a check; what is found in them is tested elsewhere."""

import json
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from psycopg import conninfo

from scrub.app import check
from scrub.model.result import Status
from tests.postgres_server import Database
from tests.scrub.cli.exit_codes import exit_code


@pytest.fixture
def catalog(database: Database, tmp_path: Path) -> Path:
    """A table with an index that lacks the entries of rows 101 and 102."""
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, word text)",
        "CREATE INDEX t_word ON t (word)",
        "INSERT INTO t SELECT i, 'w' || i FROM generate_series(1, 100) i",
        "UPDATE pg_index SET indisready = false WHERE indexrelid = 't_word'::regclass",
        "INSERT INTO t VALUES (101, 'x'), (102, 'y')",
        "UPDATE pg_index SET indisready = true WHERE indexrelid = 't_word'::regclass",
    )
    columns = {"id": {"type": "int", "nullable": False}, "word": {"type": "string"}}
    table = {
        "store": "shop",
        "columns": columns,
        "primary_key": ["id"],
        "indexes": {"t_word": {"own": True}, "t_pkey": {"own": True, "unique": True}},
    }
    stores = {"shop": {"kind": "postgres", "url": database.url}}
    path = tmp_path / "scrub.yaml"
    content = {"version": 1, "stores": stores, "tables": {"t": table}}
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def test_own_indexes_are_checked_without_spark(catalog: Path) -> None:
    result = check("t", catalog=catalog)
    (table,) = result.tables
    assert [(c.index, c.status) for c in table.checks] == [
        ("t_word", Status.DEFECTIVE),
        ("t_pkey", Status.CLEAN),
    ]
    assert [(d.kind.value, d.primary_key) for d in result.defects] == [
        ("missing_secondary_index", {"id": 101}),
        ("missing_secondary_index", {"id": 102}),
    ]


@pytest.fixture
def scrub(
    catalog: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """The command on that catalog: exit code, output, messages."""
    monkeypatch.chdir(catalog.parent)

    def run(*options: str) -> tuple[int, str, str]:
        code = exit_code("check", "table", "t", *options)
        return code, *capsys.readouterr()

    return run


def test_the_command_names_them_and_exits_with_1(catalog: Path) -> None:
    """A process of its own, as users start it."""
    command = [Path(sys.executable).parent / "scrub", "check", "table", "t", "--format", "json"]
    done = subprocess.run(command, cwd=catalog.parent, capture_output=True, check=False)
    assert done.returncode == 1
    found = json.loads(done.stdout)["defects"]
    assert [d["primary_key"] for d in found] == [{"id": 101}, {"id": 102}]


@pytest.mark.parametrize("report_format", ["text", "markdown"])
def test_the_report_says_what_to_do_about_a_broken_index(scrub: Any, report_format: str) -> None:
    _, output, _ = scrub("--format", report_format)
    assert output.count("REINDEX INDEX CONCURRENTLY") == 1
    assert 'REINDEX INDEX CONCURRENTLY "public"."t_word";' in output


def test_where_does_not_apply_to_a_walk(scrub: Any) -> None:
    code, output, _ = scrub("--where", "id < 5")
    assert code == 3  # nothing was looked at
    assert "an index is walked through as a whole" in output


def test_the_plan_says_what_is_walked_through(scrub: Any) -> None:
    code, output, _ = scrub("--explain")
    assert code == 0
    assert "Walked through by the database itself" in output
    assert "t.t_pkey: entries, then rows, at one snapshot; about " in output


def test_the_plan_says_which_indexes_cannot_be_read_and_why(
    scrub: Any, catalog: Path, database: Database
) -> None:
    database.run(
        "ALTER TABLE t ADD words tsvector, ADD place int",
        "CREATE INDEX t_gin ON t USING gin (words)",
        "CREATE INDEX t_gist ON t USING gist (words)",
        "CREATE INDEX t_brin ON t USING brin (place)",
        "CREATE INDEX t_hash ON t USING hash (place)",
        "CREATE INDEX t_lower ON t (lower(word))",
        "CREATE INDEX t_held ON t (upper(word)) INCLUDE (word)",
        "CREATE INDEX t_invalid ON t (place)",
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 't_invalid'::regclass",
        "ANALYZE t",
    )
    content = yaml.safe_load(catalog.read_text())
    named = ("gin", "gist", "brin", "hash", "lower", "held", "invalid", "gone")
    content["tables"]["t"]["indexes"] |= {f"t_{name}": {"own": True} for name in named}
    catalog.write_text(yaml.safe_dump(content, sort_keys=False))
    code, output, messages = scrub("--explain")
    assert code == 0, messages
    walked, _, rest = output.partition("Will not be checked")
    assert "t.t_lower: heap reading only, since it has expressions" in walked
    assert "t.t_held: entries, then rows, at one snapshot" in walked
    assert "about 102 rows" in walked
    for method in ("gin", "gist", "brin", "hash"):
        reason = f"only B-trees can be read in their order; it is {method}"
        assert f"t.t_{method} (index), not applicable: {reason}" in rest
    assert "t.t_invalid (index), incomplete: t_invalid is not valid" in rest
    assert 'REINDEX INDEX CONCURRENTLY "public"."t_invalid";' in rest
    assert "t.t_gone (index), incomplete: there is no index t_gone in schema public" in rest
    assert f"t.t_{named[0]}" not in walked


def test_the_plan_of_a_walk_says_that_where_does_not_apply(scrub: Any) -> None:
    code, output, _ = scrub("--explain", "--where", "id < 5")
    assert code == 0
    assert "t.t_pkey (index), not applicable: --where" in output
    assert "Walked through" not in output


def test_a_missing_index_is_a_mistake(scrub: Any, database: Database) -> None:
    database.run("DROP INDEX t_word")
    code, _, messages = scrub("--index", "t_word")
    assert code == 2
    assert "t_word" in messages


def test_a_missing_index_costs_no_other(scrub: Any, database: Database) -> None:
    database.run("DROP INDEX t_word")
    code, output, _ = scrub()
    assert code == 3
    assert "t.t_word, error: there is no index t_word" in output


def test_every_defect_goes_to_a_file(scrub: Any, tmp_path: Path) -> None:
    everything = tmp_path / "all.jsonl"
    code, output, _ = scrub("--all-defects", str(everything), "--limit", "0", "--format", "json")
    assert len(everything.read_text().splitlines()) == json.loads(output)["defects_total"]
    assert code == json.loads(output)["exit_code"]


@pytest.mark.parametrize("as_of", ["2026-01-01T00:00:00Z", "t=3"])
def test_there_is_no_older_version_of_an_index(scrub: Any, as_of: str) -> None:
    code, _, messages = scrub("--index", "t_pkey", "--as-of", as_of)
    assert code == 2
    assert "PostgreSQL has no versions" in messages


def test_a_table_that_may_not_be_read_costs_only_its_own_checks(
    database: Database, catalog: Path, scrub: Any
) -> None:
    role = f"reader_{uuid.uuid4().hex[:8]}"
    database.run(
        f"CREATE ROLE {role} LOGIN",
        "CREATE TABLE a_secret (id int PRIMARY KEY)",
        f"GRANT SELECT ON t TO {role}",
    )
    content = yaml.safe_load(catalog.read_text())
    secret = {
        "store": "shop",
        "columns": {"id": {"type": "int"}},
        "primary_key": ["id"],
        "indexes": {"a_secret_pkey": {"own": True}},
    }
    content["tables"] = {"a_secret": secret, **content["tables"]}
    content["stores"]["shop"]["url"] = conninfo.make_conninfo(database.url, user=role)
    catalog.write_text(yaml.safe_dump(content, sort_keys=False))
    try:
        code, output, messages = scrub("a_secret", "--format", "json")
        assert code == 1, messages
        tables = json.loads(output)["tables"]
        statuses = {c["index"]: c["status"] for table in tables for c in table["checks"]}
        assert statuses == {
            "a_secret_pkey": "incomplete",
            "t_word": "defective",
            "t_pkey": "clean",
        }
    finally:
        database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")
