# SPDX-License-Identifier: Apache-2.0
"""What is typed becomes a request, and a result becomes output and an exit code."""

import importlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from scrub.cli import main
from scrub.model.request import AsOf, CheckRequest, Engine, SparkOptions, Strategy
from tests.reports.results import RESULTS, a_plan


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A use case that answers at once and remembers what it was asked."""
    fake = SimpleNamespace(result=RESULTS["clean"](), request=None, spark_options=None)

    def run_check(request, *, spark_options, on_progress):
        fake.request, fake.spark_options = request, spark_options
        return fake.result

    def explain_check(request, *, spark_options):
        fake.request, fake.spark_options = request, spark_options
        return a_plan()

    importlib.import_module("scrub.app")  # before it could take the fake for its own
    module = ModuleType("scrub.app.checking.tables")
    module.__dict__.update(run_check=run_check, explain_check=explain_check)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return fake


def scrub(*arguments: str) -> int:
    try:
        return main.run(["check", *arguments])
    except SystemExit as stop:
        return stop.code


def test_a_table_needs_no_option(app: SimpleNamespace) -> None:
    assert scrub("table", "orders") == 0
    assert app.request == CheckRequest(tables=("orders",))
    assert app.spark_options == SparkOptions(short_lived=True)


def test_a_database_is_every_table(app: SimpleNamespace) -> None:
    assert scrub("database") == 0
    assert app.request == CheckRequest()


def test_every_option_reaches_the_request(app: SimpleNamespace, tmp_path: Path) -> None:
    everything = tmp_path / "all.jsonl"
    options = (
        "--catalog c.yaml --index a --index b --checks index --strategy merge --engine sql "
        "--as-of 12 --as-of by_email=3 --as-of 2026-11-16T10:00:00+01:00 --settle 1.5 --limit 7 "
        "--redact --fresh --rows-per-second 5 --bytes-per-second 50MiB --master local[1] "
        "--conf a.b=c=d --conf e= --verbose"
    )
    pause = tmp_path / "pause"
    given = [*options.split(), "--where", "id > 5", "--all-defects", str(everything)]
    given += ["--pause-file", str(pause)]
    assert scrub("table", "orders", "customers", *given) == 0
    assert app.request == CheckRequest(
        catalog=Path("c.yaml"),
        tables=("orders", "customers"),
        indexes=("a", "b"),
        checks=("index",),
        strategy=Strategy.MERGE,
        engine=Engine.SQL,
        as_of=(
            AsOf(version=12),
            AsOf(version=3, relation="by_email"),
            AsOf(time=datetime(2026, 11, 16, 9, tzinfo=UTC)),
        ),
        where="id > 5",
        settle_seconds=1.5,
        limit=7,
        redact=True,
        all_defects=everything,
        rows_per_second=5,
        bytes_per_second=50 << 20,
        pause_file=pause,
        fresh=True,
    )
    # `is`, since the text "merge" equals the member but takes another branch.
    assert app.request.strategy is Strategy.MERGE
    assert app.request.engine is Engine.SQL
    assert app.spark_options == SparkOptions(
        master="local[1]",
        conf=(("a.b", "c=d"), ("e", "")),
        verbose=True,
        short_lived=True,
    )


def test_checks_are_chosen_by_layout_unless_they_are_named(app: SimpleNamespace) -> None:
    scrub("table", "orders")
    assert app.request.checks == ()
    scrub("table", "orders", "--checks", "physical")
    assert app.request.checks == ("physical",)
    scrub("table", "orders", "--checks", " physical,index,physical")
    assert app.request.checks == ("physical", "index")


def test_a_time_without_a_zone_is_utc(app: SimpleNamespace) -> None:
    scrub("table", "orders", "--as-of", "2026-11-16")
    assert app.request.as_of == (AsOf(time=datetime(2026, 11, 16, tzinfo=UTC)),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--checks index,fysical", "there is no check fysical\nhint: did you mean physical?"),
        ("--as-of by_email=yesterday", "neither a version"),
        ("--settle -1", "not a duration"),
        ("--settle nan", "not a duration"),
        ("--rows-per-second 0", "--rows-per-second"),
        ("--rows-per-second -5", "--rows-per-second"),
        ("--rows-per-second 1.5", "--rows-per-second"),
        ("--rows-per-second fast", "--rows-per-second"),
        ("--bytes-per-second 0", "--bytes-per-second: it must be more than 0 bytes"),
        ("--bytes-per-second -1MiB", "--bytes-per-second: '-1MiB' is no number of bytes"),
        ("--bytes-per-second plenty", "--bytes-per-second: 'plenty' is no number of bytes"),
        ("--pause-file no/where", "--pause-file: the folder 'no' does not exist"),
        ("--conf x", "not of the form K=V"),
        ("--limit -1", "--limit"),
        ("--format xml", "--format"),
        ("--output /no/such/folder/x", "does not exist"),
        ("--explain --format markdown", "text or json"),
        ("--master local --remote sc://x", "exclude each other"),
    ],
)
def test_mistakes_are_answered_before_anything_runs(
    app: SimpleNamespace, capsys, options: str, message: str
) -> None:
    assert scrub("table", "orders", *options.split()) == 2
    assert message in capsys.readouterr().err
    assert app.request is None


@pytest.mark.parametrize(
    ("name", "code"),
    [("clean", 0), ("defective", 1), ("incomplete", 3), ("defective_and_incomplete", 1)],
)
def test_the_exit_code_is_the_results(app: SimpleNamespace, name: str, code: int) -> None:
    app.result = RESULTS[name]()
    assert scrub("table", "orders") == code


def test_results_go_to_stdout_and_nothing_else_does(app: SimpleNamespace, capsys) -> None:
    scrub("table", "orders", "--format", "json")
    captured = capsys.readouterr()
    assert json.loads(captured.out)["status"] == "clean"
    assert captured.err == ""


@pytest.mark.parametrize("kind", ["delta", "parquet"])
def test_a_defective_table_that_can_be_repaired_is_told_so(
    app: SimpleNamespace, capsys, tmp_path: Path, kind: str
) -> None:
    catalog = tmp_path / "scrub.yaml"
    table = {
        "store": "lake",
        "columns": {"id": {"type": "bigint"}, "customer_id": {"type": "bigint"}},
        "primary_key": ["id"],
        "indexes": {"by_customer": {"columns": ["customer_id"]}},
    }
    stores = {"lake": {"kind": kind, "path": str(tmp_path)}}
    document = {"version": 1, "stores": stores, "tables": {"orders": table}}
    catalog.write_text(json.dumps(document))
    app.result = RESULTS["defective"]()
    assert scrub("table", "orders", "--catalog", str(catalog)) == 1
    hint = f"to see what a repair would do: scrub repair table orders --catalog {catalog}\n"
    assert capsys.readouterr().err == (hint if kind == "delta" else "")


def test_redaction_reaches_the_report(app: SimpleNamespace, capsys) -> None:
    app.result = RESULTS["defective"]()
    scrub("table", "orders", "--redact")
    assert "'paid'" not in capsys.readouterr().out


def test_output_is_written_whole_and_stdout_stays_empty(
    app: SimpleNamespace, capsys, tmp_path: Path
) -> None:
    output = tmp_path / "result.json"
    output.write_text("older")
    assert scrub("table", "orders", "--format", "json", "--output", str(output)) == 0
    assert json.loads(output.read_text())["status"] == "clean"
    assert capsys.readouterr().out == ""
    assert list(tmp_path.iterdir()) == [output]


def test_a_failed_write_leaves_the_older_file(
    app: SimpleNamespace, capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    output = tmp_path / "result.json"
    output.write_text("older")
    monkeypatch.setattr("os.fsync", full)
    assert scrub("table", "orders", "--output", str(output)) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert output.read_text() == "older"
    assert list(tmp_path.iterdir()) == [output]


def test_a_device_is_written_to_and_not_replaced(app: SimpleNamespace) -> None:
    assert scrub("table", "orders", "--output", "/dev/null") == 0
    assert Path("/dev/null").is_char_device()


def test_explain_shows_the_plan_and_runs_nothing(app: SimpleNamespace, capsys) -> None:
    app.result = RESULTS["defective"]()
    assert scrub("table", "orders", "--explain") == 0
    assert "one scan for 1 index" in capsys.readouterr().out
