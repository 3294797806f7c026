# SPDX-License-Identifier: Apache-2.0
"""`scrub check` on data with defects: limits, redaction, files, formats, and rows that raise."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scrub.cli import main
from tests.scrub.cli.small_lake import (
    BY_CUSTOMER,
    BY_STATUS,
    ORDERS,
    described,
    with_row,
    without,
    write_catalog,
    write_files,
    write_orders,
)

pytestmark = pytest.mark.spark
DOCUMENTED = Path(__file__).parents[3] / "docs" / "exit-codes.md"
SECRET = "a secret status"


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: Any) -> Path:
    """Orders with a missing entry, a dangling one, and one that stores another status."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    write_catalog(tmp_path, orders=described())
    by_customer = with_row(without(BY_CUSTOMER, 7), customer_id=2, id=7, status=SECRET)
    by_status = with_row(without(BY_STATUS, 1), status="open", id=99)
    write_orders(tmp_path / "files", by_customer=by_customer, by_status=by_status)
    return tmp_path


def scrub(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main.run(["check", *arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def keys(value: Any) -> Any:
    """The shape of a document: its keys, and those of the first of each list."""
    match value:
        case dict():
            return {key: keys(inner) for key, inner in value.items() if key not in FREE}
        case [first, *_]:
            return [keys(first)]
        case _:
            return None


FREE = ("counts", "primary_key", "index_key", "expected", "actual")  # keys that the data chooses


@pytest.mark.usefixtures("lake")
def test_json_is_what_the_page_documents(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"^```json\n(.*?)^```", DOCUMENTED.read_text("utf-8"), re.M | re.S)
    code = scrub("table", "orders", "--format", "json")
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert captured.out.isascii()
    assert captured.err == ""
    documented = json.loads(example)
    assert keys(document) == {**keys(documented), "definitions": keys(document["definitions"])}
    assert (
        keys(document["definitions"]["orders"]).keys() == documented["definitions"]["orders"].keys()
    )
    assert document["schema_version"] == 1
    assert (code, document["exit_code"], document["status"]) == (1, 1, "defective")
    assert [(d["kind"], d["index"], d["primary_key"]) for d in document["defects"]] == [
        ("wrong_stored_value", "by_customer", {"id": 7}),
        ("dangling_secondary_index", "by_status", {"id": 99}),
        ("missing_secondary_index", "by_status", {"id": 1}),
    ]
    assert document["defects"][0]["differing_columns"] == ["status"]


def test_a_limit_hides_defects_and_not_their_number_and_the_file_has_all(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (lake / "all.jsonl").write_text("older")
    code = scrub("database", "--limit", "1", "--all-defects", "all.jsonl", "--format", "json")
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert code == 1
    assert (document["defects_shown"], document["defects_total"]) == (1, 3)
    assert len(document["defects"]) == 1
    assert [check["counts"] for check in document["tables"][0]["checks"]] == [
        {"wrong_stored_value": 1},
        {"dangling_secondary_index": 1, "missing_secondary_index": 1},
    ]
    lines = [json.loads(line) for line in (lake / "all.jsonl").read_text().splitlines()]
    assert [(line["type"], line["kind"]) for line in lines] == [
        ("defect", "wrong_stored_value"),
        ("defect", "dangling_secondary_index"),
        ("defect", "missing_secondary_index"),
    ]
    assert document["defects"][0].items() <= lines[0].items()
    assert captured.err == "every defect is in all.jsonl\n"
    assert sorted(path.name for path in lake.iterdir() if path.is_file()) == [
        "all.jsonl",
        "scrub.yaml",
    ]


def test_redaction_hides_values_everywhere(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = scrub(
        *("table", "orders", "--index", "by_customer", "--redact", "--format", "json"),
        *("--all-defects", "all.jsonl", "--output", "result.json"),
    )
    captured = capsys.readouterr()
    (defect,) = json.loads((lake / "result.json").read_text())["defects"]
    (line,) = (lake / "all.jsonl").read_text().splitlines()
    assert code == 1
    assert SECRET not in line + (lake / "result.json").read_text() + captured.out + captured.err
    assert (defect["primary_key"], defect["differing_columns"]) == ({"id": 7}, ["status"])
    assert defect["expected"] == {"customer_id": 2, "id": 7, "status": "[redacted]"}


@pytest.mark.usefixtures("lake")
def test_where_on_the_key_limits_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    code = scrub("database", "--where", "id > 7", "--format", "json")
    document = json.loads(capsys.readouterr().out)
    assert code == 1
    checks = {check["index"]: check for check in document["tables"][0]["checks"]}
    assert {name: (c["rows"], c["entries"], c["counts"]) for name, c in checks.items()} == {
        "by_customer": (5, 5, {}),
        "by_status": (5, 6, {"dangling_secondary_index": 1}),
    }
    assert all(check["notes"] == ["only rows where id > 7"] for check in checks.values())


@pytest.mark.usefixtures("lake")
def test_where_on_a_stored_column_says_what_was_not_looked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = scrub("database", "--where", "status = 'paid'", "--format", "json")
    document = json.loads(capsys.readouterr().out)
    checks = {check["index"]: check for check in document["tables"][0]["checks"]}
    told = {name: (of["status"], of["not_looked_for"]) for name, of in checks.items()}
    assert told == {
        "by_customer": ("clean", ["dangling_secondary_index"]),
        "by_status": ("clean", []),
    }
    assert checks["by_customer"]["notes"][1].startswith("dangling entries not looked for: ")
    assert (code, checks["by_status"]["rows"], checks["by_customer"]["rows"]) == (0, 4, 4)


def test_a_relation_without_files_lacks_every_entry(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in (lake / "files" / "orders__by_status").iterdir():
        file.unlink()
    assert scrub("database", "--index", "by_status", "--format", "json") == 1
    document = json.loads(capsys.readouterr().out)
    (check,) = document["tables"][0]["checks"]
    assert (check["rows"], check["entries"]) == (12, 0)
    assert check["counts"] == {"missing_secondary_index": 12}


def test_values_that_make_no_sense_leave_their_check_incomplete_and_not_others(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An expression that raises for a row, and a text in a CSV file that is no number."""
    share = {"columns": [{"expr": "100 / (qty - 3)", "as": "share", "type": "double"}]}
    indexes = {"by_share": share, "by_status": {"columns": ["status"]}}
    one_raising = ORDERS.filter([order not in (7, 11) for order in range(1, 13)])
    write_files(lake / "files" / "raising", one_raising)
    write_files(lake / "files" / "raising__by_status", one_raising.select(["status", "id"]))
    write_files(
        lake / "files" / "raising__by_share",
        one_raising.select(["id"]).append_column(
            "share",
            [[100 / (qty - 3) if qty != 3 else None for qty in one_raising["qty"].to_pylist()]],
        ),
    )
    by_status = {"by_status": {"columns": ["status"]}}
    columns = {"id": "bigint", "status": "string"}
    for name, third in (("good", "3"), ("bad", "three")):
        for relation, header in ((name, "id,status"), (f"{name}__by_status", "id,status")):
            text = f"{header}\n1,open\n2,paid\n{third if relation == name else 3},sent\n"
            (lake / "texts" / f"{relation}.csv").write_text(text)
    write_catalog(
        lake,
        raising=described(indexes=indexes),
        good=described("texts", by_status, columns),
        bad=described("texts", by_status, columns),
    )
    code = scrub("database", "--format", "json")
    document = json.loads(capsys.readouterr().out)
    checks = {
        f"{table['table']}.{check['index']}": check
        for table in document["tables"]
        for check in table["checks"]
    }
    assert (code, document["status"], document["defects_total"]) == (3, "incomplete", 0)
    assert {name: check["status"] for name, check in checks.items()} == {
        "raising.by_share": "incomplete",
        "raising.by_status": "clean",
        "good.by_status": "clean",
        "bad.by_status": "incomplete",
    }
    assert checks["raising.by_share"]["reason"] == (
        "an expression of raising.by_share raises DIVIDE_BY_ZERO for the row id=3"
    )
    assert "'three' is not a value of type bigint" in checks["bad.by_status"]["reason"]
