# SPDX-License-Identifier: Apache-2.0
"""Indexes of the database itself are rebuilt by it, beside those who write."""

from pathlib import Path

import pytest
import yaml

from scrub.app.repairing.repair import execute_repair, preview_repair
from scrub.model.repair import ActionOutcome, RepairReport, RepairRequest
from scrub.model.result import Status
from tests.postgres_server import Database

_FILE = "SELECT pg_relation_filenode('t_word')"


@pytest.fixture
def request_(database: Database, tmp_path: Path) -> RepairRequest:
    """A table with an index that lacks the entries of rows 101 and 102."""
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, word text)",
        "CREATE INDEX t_word ON t (word)",
        "INSERT INTO t SELECT i, 'w' || i FROM generate_series(1, 100) i",
        _made("ready", False),
        "INSERT INTO t VALUES (101, 'x'), (102, 'y')",
        _made("ready", True),
    )
    return RepairRequest(table="t", catalog=_catalog(database, tmp_path, unique=False), verify=True)


def _made(what: str, value: bool) -> str:
    return f"UPDATE pg_index SET indis{what} = {value} WHERE indexrelid = 't_word'::regclass"


def _catalog(database: Database, folder: Path, unique: bool) -> Path:
    table = {
        "store": "shop",
        "columns": {"id": {"type": "int", "nullable": False}, "word": {"type": "string"}},
        "primary_key": ["id"],
        "indexes": {"t_word": {"own": True, "unique": unique}},
    }
    stores = {"shop": {"kind": "postgres", "url": database.url}}
    path = folder / "scrub.yaml"
    path.write_text(yaml.safe_dump({"version": 1, "stores": stores, "tables": {"t": table}}))
    return path


def _statements(report: RepairReport) -> list[str | None]:
    return [action.statement for action in report.plan.actions]


def test_preview_shows_the_statement_and_rebuilds_nothing(
    database: Database, request_: RepairRequest
) -> None:
    before = database.rows(_FILE)
    report = preview_repair(request_)
    assert _statements(report) == ['REINDEX INDEX CONCURRENTLY "public"."t_word"']
    assert database.rows(_FILE) == before


def test_broken_index_is_rebuilt_and_then_found_clean(
    database: Database, request_: RepairRequest
) -> None:
    before = database.rows(_FILE)
    report = execute_repair(request_)
    assert [one.outcome for one in report.done] == [ActionOutcome.DONE]
    assert database.rows(_FILE) != before
    assert report.after is not None
    assert report.after.status is Status.CLEAN
    assert report.run is None, "there is nothing that could be undone"


def test_writers_go_on_while_it_is_rebuilt(database: Database, request_: RepairRequest) -> None:
    """A transaction that wrote before and one that writes meanwhile: neither waits nor fails."""
    from tests.scrub.stores.postgres.building.ground import Background, until

    with database.connect() as early, database.connect() as late:
        late.execute("SET lock_timeout = '2s'")
        early.execute("BEGIN")
        early.execute("INSERT INTO t VALUES (103, 'early')")
        rebuilding = Background(lambda: execute_repair(request_))
        until(lambda: bool(database.rows("SELECT 1 FROM pg_class WHERE relname ~ '_ccnew'")))
        late.execute("INSERT INTO t VALUES (104, 'late')")
        early.execute("COMMIT")
        report = rebuilding.result()
    assert report.after.status is Status.CLEAN
    assert database.rows("SELECT count(*) FROM t") == [(104,)]


def test_rows_that_break_uniqueness_are_refused_and_the_index_is_left(
    database: Database, tmp_path: Path
) -> None:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, word text)",
        "CREATE UNIQUE INDEX t_word ON t (word)",
        "INSERT INTO t VALUES (1, 'same'), (2, 'other')",
        _made("ready", False),
        "INSERT INTO t VALUES (3, 'same')",
        _made("ready", True),
    )
    catalog = _catalog(database, tmp_path, unique=True)
    report = execute_repair(RepairRequest(table="t", catalog=catalog))
    assert report.done == ()
    kinds = {refusal.defect_kind.value for refusal in report.plan.refusals}
    assert kinds == {"missing_secondary_index", "unique_violation"}
    assert database.rows("SELECT count(*) FROM pg_index WHERE NOT indisvalid") == [(0,)]
