# SPDX-License-Identifier: Apache-2.0
"""`scrub catalog` and `scrub init` as typed."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from scrub.app.relations.findings import RelationsReport
from scrub.cli import main
from scrub.errors import Mistake

CATALOG = """\
version: 1
stores:
  lake: {kind: delta, path: "${TEST_LAKE}/x", options: {AWS_SECRET: "${TEST_SECRET}", region: eu-1}}
  files: {kind: spark, format: "${TEST_FORMAT}", path: ./export}
tables:
  orders:
    store: lake
    columns:
      id: {type: bigint, nullable: false}
      email: {type: string}
      amount: {type: "decimal(10,2)"}
    primary_key: [id]
    checks: {positive: amount >= 0}
    foreign_keys: {itself: {columns: [id], references: orders}}
    indexes:
      by_email:
        columns: [{expr: lower(email), as: email_lower, order: desc}]
        storing: [amount]
        where: amount > 0
        unique: true
        nulls: skip
        reflects: 12
"""


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TEST_LAKE", "/secret/place")
    monkeypatch.setenv("TEST_SECRET", "hunter2")
    monkeypatch.setenv("TEST_FORMAT", "parquet")
    path = tmp_path / "scrub.yaml"
    path.write_text(CATALOG)
    return path


@pytest.mark.usefixtures("catalog")
def test_validate_says_that_there_are_no_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["catalog", "validate"]) == 0
    assert capsys.readouterr().out == "scrub.yaml: 1 table, 1 index, no mistakes\n"


def test_validate_lists_every_mistake_and_exits_with_2(
    catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog.write_text(CATALOG.replace("store: lake", "store: leak").replace("bigint", "bgint"))
    assert main.run(["catalog", "validate", "--catalog", str(catalog)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"{catalog}:7: table 'orders' is in an unknown store 'leak'" in shown.err
    assert "did you mean lake?" in shown.err
    assert f"{catalog}:9: column 'id'" in shown.err


@pytest.mark.usefixtures("catalog")
def test_show_tells_everything_but_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["catalog", "show"]) == 0
    assert main.run(["catalog", "show", "orders"]) == 0
    shown = capsys.readouterr().out
    for hidden in ("hunter2", "/secret/place", "eu-1", "parquet"):
        assert hidden not in shown
    for told in (
        "${TEST_LAKE}/x",
        "AWS_SECRET",
        "spark (${TEST_FORMAT})",
        "decimal(10,2)",
        "lower(email) as email_lower desc",
        "by_email (unique)",
        "where amount > 0, no NULL in the key, as of version 12",
        "amount >= 0",
        "id in orders",
    ):
        assert told in shown


@pytest.mark.parametrize(
    ("setting", "said"),
    [("", "undone without end"), ("journal_days: 30\n", "undone for 30 days (journal_days)")],
)
def test_show_tells_how_long_repairs_can_be_undone(
    setting: str, said: str, catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog.write_text(setting + CATALOG)
    assert main.run(["catalog", "show"]) == 0
    assert said in capsys.readouterr().out


@pytest.mark.usefixtures("catalog")
def test_show_of_an_unknown_table_names_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main.run(["catalog", "show", "ordres"]) == 2
    assert "did you mean orders?" in capsys.readouterr().err


def test_a_mistake_is_answered_without_spark(catalog: Path) -> None:
    catalog.write_text(CATALOG.replace("lower(email)", "lower(emial)"))
    program = (
        "import sys\nfrom scrub.cli.main import run\n"
        "code = run(['catalog', 'validate'])\n"
        "heavy = [m for m in ('pyspark', 'pyarrow', 'pandas', 'deltalake') if m in sys.modules]\n"
        "print(code, heavy)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=catalog.parent,
    )
    assert done.stdout == "2 []\n"
    assert "did you mean email?" in done.stderr


def test_init_then_validate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    orders = pa.table({"id": [1, 2], "email": ["a", "b"], "status": ["x", "y"]})
    (tmp_path / "lake").mkdir()
    write_deltalake("lake/orders", orders)
    write_deltalake("lake/orders__by_email", orders.select(["email", "id"]))
    (tmp_path / "lake" / "junk.parquet").write_bytes(b"x")
    assert main.run(["init", "lake"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "orders: by_email\n"
    assert "left out: junk.parquet" in shown.err
    assert shown.err.endswith(
        "wrote scrub.yaml; look at the lines marked `guess`\n"
        "2 relations opened: all are as described\n"
    )
    assert main.run(["catalog", "validate"]) == 0
    assert main.run(["init", "lake"]) == 2
    assert "--force overwrites it" in capsys.readouterr().err
    assert main.run(["init", "lake", "--force"]) == 0


def test_init_ends_by_saying_what_opening_the_relations_has_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def report(path: Path) -> RelationsReport:
        return RelationsReport(path, mistakes=[Mistake(7, "there is no column", "write another")])

    monkeypatch.setattr("scrub.app.relations.validating.validate_without_spark", report)
    monkeypatch.chdir(tmp_path)
    write_deltalake("lake/orders", pa.table({"id": [1, 2]}))
    assert main.run(["init", "lake", "--catalog", "of lake.yaml"]) == 0
    assert capsys.readouterr().err.endswith(
        "of lake.yaml:7: there is no column\n    write another\n"
        "correct this, and look again: "
        "scrub catalog validate --relations --catalog 'of lake.yaml'\n"
    )
