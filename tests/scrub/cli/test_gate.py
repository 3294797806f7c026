# SPDX-License-Identifier: Apache-2.0
"""`scrub gate` as a user runs it, on results of earlier checks: no JVM is needed."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from scrub.catalog import load_catalog
from scrub.model.definition import definition_of
from scrub.model.result import Status
from tests.scrub.app.gating.gate_ground import a_defect, an_outcome
from tests.scrub.cli.exit_codes import exit_code
from tests.scrub.cli.gate_files import SEVERAL, Ground, ground
from tests.scrub.cli.small_lake import described, write_catalog

__all__ = ["ground"]  # a fixture


def test_new_defects_fail_until_they_are_known(ground: Ground) -> None:
    code, told = ground.judge(*SEVERAL)
    assert (code, told["gate"]["counts"]["new"]) == (1, 3)
    assert told["gate"]["reasons"] == ["orders.by_customer: 3 new wrong_stored_value"]
    code, _, err = ground.gate("--write-baseline")
    assert (code, err) == (0, f"the baseline {ground.baseline.name} now holds 3 defects\n")
    code, told = ground.judge(*SEVERAL)
    assert (code, told["gate"]["counts"]["known"]) == (0, 3)
    assert {defect["standing"] for defect in told["defects"]} == {"known"}
    code, told = ground.judge(*SEVERAL, a_defect(9))
    assert (code, [d["standing"] for d in told["defects"]]) == (1, ["new"] + ["known"] * 3)


def test_another_wrong_value_of_a_known_entry_is_changed(ground: Ground) -> None:
    ground.write(ground.result(*SEVERAL))
    ground.gate("--write-baseline")
    code, told = ground.judge(*SEVERAL[1:], a_defect(0, "lost"))
    assert (code, told["gate"]["counts"]["changed"]) == (1, 1)
    assert told["defects"][0]["standing"] == "changed"


def test_the_baseline_comes_from_all_defects_and_stays_the_same(ground: Ground) -> None:
    ground.write(ground.result(*SEVERAL))
    ground.gate("--write-baseline", "--limit", "1")
    text = ground.baseline.read_text()
    assert len(text.splitlines()) == 4
    yesterday = (datetime.now(UTC) - timedelta(days=1)).date().isoformat()
    old = text.replace(datetime.now(UTC).date().isoformat(), yesterday)
    ground.baseline.write_text(old)
    _, _, err = ground.gate("--write-baseline")
    assert ground.baseline.read_text() == old
    assert "still holds 3 defects" in err


def test_what_fails_the_gate_is_shown_however_many_are_known(ground: Ground) -> None:
    many = tuple(a_defect(number) for number in range(30))
    ground.write(ground.result(*many[:28]))
    ground.gate("--write-baseline")
    until = date.today() + timedelta(days=30)
    waiver = f"{{id: {many[28].id}, reason: r, by: ann, until: {until}}}"
    (ground.folder / "scrub-waivers.yaml").write_text(f"version: 1\nwaivers:\n- {waiver}\n")
    ground.write(ground.result(*many))
    code, out, _ = ground.gate("--limit", "3", "--format", "json")
    told = json.loads(out)
    assert (code, told["defects_shown"], told["defects_total"]) == (1, 3, 30)
    shown = [(defect["primary_key"], defect["standing"]) for defect in told["defects"]]
    assert shown == [({"id": 29}, "new"), ({"id": 0}, "known"), ({"id": 1}, "known")]
    code, out, _ = ground.gate("--limit", "0", "--format", "json")
    assert (code, json.loads(out)["defects"]) == (1, [])


def test_what_leaves_the_catalog_does_not_take_its_defects_along_in_silence(
    ground: Ground,
) -> None:
    ground.write(ground.result(*SEVERAL))
    ground.gate("--write-baseline")
    indexes = {"by_status": {"columns": ["status"]}}
    write_catalog(ground.folder, orders=described(indexes=indexes), people=described())
    result = ground.result()
    looked = replace(result.tables[0], checks=result.tables[0].checks[1:])
    ground.write(replace(result, tables=(looked,)))
    code, out, _ = ground.gate("orders", "--format", "json")
    assert code == 0
    assert json.loads(out)["gate"]["warnings"] == [
        "the catalog does not have orders.by_customer any more, of which 3 defects are known; "
        "nobody looks at it"
    ]
    write_catalog(ground.folder, people=described())
    renamed = replace(result, tables=(replace(looked, table="people"),))
    definitions = {"people": definition_of(load_catalog(Path("scrub.yaml")).tables["people"])}
    ground.write(replace(renamed, definitions=definitions))
    _, out, _ = ground.gate("--format", "json")
    assert "does not have orders.by_customer any more" in json.loads(out)["gate"]["warnings"][0]


def test_what_is_gone_is_reported_and_pruned_on_request(ground: Ground) -> None:
    ground.write(ground.result(*SEVERAL))
    ground.gate("--write-baseline")
    code, told = ground.judge(*SEVERAL[:1])
    assert (code, told["gate"]["counts"]["gone"]) == (0, 2)
    assert len(told["gate"]["gone"]) == 2
    code, out, err = ground.gate("--prune", "--format", "json")
    assert (code, len(json.loads(out)["gate"]["gone"])) == (0, 2)
    assert "now holds 1 defect\n" in err
    code, told = ground.judge(*SEVERAL)
    assert (code, told["gate"]["counts"]["new"]) == (1, 2)


def test_what_is_gone_stays_in_the_baseline_until_somebody_prunes(ground: Ground) -> None:
    ground.write(ground.result(*SEVERAL))
    ground.gate("--write-baseline")
    ground.write(ground.result(*SEVERAL[:1]))
    ground.gate("--write-baseline")
    assert len(ground.baseline.read_text().splitlines()) == 4
    ground.gate("--write-baseline", "--prune")
    assert len(ground.baseline.read_text().splitlines()) == 2


def test_what_is_known_of_a_table_that_left_the_catalog_stays_until_somebody_prunes(
    ground: Ground,
) -> None:
    write_catalog(ground.folder, orders=described(), people=described())
    ground.write(ground.result(*SEVERAL))
    ground.gate("orders", "--write-baseline")
    write_catalog(ground.folder, people=described())
    result = ground.result()
    renamed = replace(result, tables=(replace(result.tables[0], table="people"),))
    ground.write(renamed)
    assert ground.gate("--write-baseline")[0] == 0
    assert len(ground.baseline.read_text().splitlines()) == 4
    assert ground.gate("--prune")[0] == 0
    assert len(ground.baseline.read_text().splitlines()) == 1


def test_differences_without_a_name_are_not_remembered(ground: Ground) -> None:
    unnamed = [an_outcome("by_customer", unnamed=7, status=Status.DEFECTIVE)]
    result = ground.result()
    looked = replace(result.tables[0], checks=(*unnamed, *result.tables[0].checks[1:]))
    ground.write(replace(result, tables=(looked,)))
    code, out, _ = ground.gate("--write-baseline", "--format", "json")
    assert code == 1
    assert json.loads(out)["gate"]["warnings"][0] == (
        "the baseline was not written: some differences could not be named"
    )
    assert not ground.baseline.exists()


def test_prune_alone_makes_nothing_known(ground: Ground) -> None:
    ground.write(ground.result(*SEVERAL))
    code, _, _ = ground.gate("--prune")
    assert code == 1
    assert len(ground.baseline.read_text().splitlines()) == 1


def test_a_redacted_result_has_no_new_defect_and_writes_names_only(ground: Ground) -> None:
    ground.write(ground.result(*SEVERAL))
    ground.gate("--write-baseline")
    whole = ground.baseline.read_text()
    ground.write(ground.result(*SEVERAL), redact=True)
    code, out, _ = ground.gate("--format", "json")
    assert (code, json.loads(out)["gate"]["counts"]["known"]) == (0, 3)
    ground.gate("--write-baseline")
    contents = [
        json.loads(line)["content"] for line in ground.baseline.read_text().splitlines()[1:]
    ]
    assert all("." not in content for content in contents)
    ground.write(ground.result(*SEVERAL))
    ground.gate("--write-baseline")
    assert ground.baseline.read_text() == whole


def test_a_changed_definition_makes_defects_new(ground: Ground) -> None:
    ground.write(ground.result(*SEVERAL))
    ground.gate("--write-baseline")
    indexes = {"by_customer": {"columns": ["customer_id"]}, "by_status": {"columns": ["status"]}}
    write_catalog(ground.folder, orders=described(indexes=indexes))
    code, told = ground.judge(*SEVERAL)
    assert (code, told["gate"]["counts"]["new"]) == (1, 3)
    assert "orders.by_customer is defined differently" in told["gate"]["warnings"][0]


def test_reordered_columns_change_nothing(ground: Ground) -> None:
    ground.write(ground.result(*SEVERAL))
    ground.gate("--write-baseline")
    columns = {"qty": "int", "status": "string", "customer_id": "bigint", "id": "bigint"}
    write_catalog(ground.folder, orders=described(columns=columns))
    entries = [dict(reversed((defect.actual or {}).items())) for defect in SEVERAL]
    reordered = [replace(d, actual=entry) for d, entry in zip(SEVERAL, entries, strict=True)]
    code, told = ground.judge(*reordered)
    assert (code, told["gate"]["counts"]["known"]) == (0, 3)


def test_only_a_complete_look_writes_a_baseline(ground: Ground) -> None:
    outcomes = [
        an_outcome("by_customer", *SEVERAL),
        an_outcome("by_status", status=Status.INCOMPLETE, reason="a file was not read"),
    ]
    result = ground.result()
    tables = (replace(result.tables[0], checks=tuple(outcomes)),)
    ground.write(replace(result, tables=tables, defects=SEVERAL))
    code, out, _ = ground.gate("--write-baseline", "--format", "json")
    assert code == 1
    warning = json.loads(out)["gate"]["warnings"][0]
    assert warning.startswith("the baseline was not written: not everything was looked at: orders")
    assert not ground.baseline.exists()


def test_a_required_index_that_was_not_looked_at_fails_with_3(ground: Ground) -> None:
    result = ground.result()
    one = replace(result.tables[0], checks=result.tables[0].checks[:1])
    ground.write(replace(result, tables=(one,)))
    code, out, _ = ground.gate()
    assert code == 3
    assert "not covered: orders.by_status was not looked at" in out


def test_a_waiver_needs_its_defect_and_its_date(ground: Ground) -> None:
    until = date.today() + timedelta(days=5)
    waiver = f"{{id: {SEVERAL[0].id}, reason: 'an | import', by: ann, until: {until}}}"
    (ground.folder / "scrub-waivers.yaml").write_text(f"version: 1\nwaivers:\n- {waiver}\n")
    code, told = ground.judge(SEVERAL[0])
    assert (code, told["defects"][0]["standing"]) == (0, "waived")
    assert told["defects"][0]["waiver"]["by"] == "ann"
    assert "scrub-waivers.yaml:3: the waiver by ann ends in" in told["gate"]["warnings"][0]


@pytest.mark.parametrize("name", ["text", "markdown"])
def test_the_report_says_how_each_defect_stands_and_why(name: str, ground: Ground) -> None:
    ground.write(ground.result(*SEVERAL[:2]))
    ground.gate("--write-baseline")
    ground.write(ground.result(*SEVERAL[1:]))
    code, out, _ = ground.gate("--format", name)
    assert code == 1
    for words in (
        "orders.by_customer: 1 new wrong_stored_value",
        "1 new, 1 known, 1 gone; exit code 1",
        SEVERAL[2].id,
        f"wrong_stored_value {SEVERAL[0].id} of orders.by_customer, known since",
    ):
        assert words in out


@pytest.fixture
def another_day(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine is in a zone in which the day is not the one of UTC."""
    monkeypatch.setenv("TZ", "AHEAD-14" if datetime.now(UTC).hour >= 10 else "BEHIND+12")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("another_day")
def test_a_waiver_ends_with_its_day_in_utc_wherever_the_machine_is(ground: Ground) -> None:
    today = datetime.now(UTC).date()
    assert date.today() != today
    ground.write(ground.result(SEVERAL[0]))
    for until, expected in ((today, 0), (today - timedelta(days=1), 1)):
        waiver = f"{{id: {SEVERAL[0].id}, reason: r, by: ann, until: {until}}}"
        (ground.folder / "scrub-waivers.yaml").write_text(f"version: 1\nwaivers:\n- {waiver}\n")
        assert ground.gate()[0] == expected


def test_the_files_are_beside_the_catalog_wherever_the_command_runs(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground.write(ground.result(*SEVERAL))
    (ground.folder / "jobs").mkdir()
    monkeypatch.chdir(ground.folder / "jobs")
    there = ["--catalog", "../scrub.yaml", "--from", "../result.jsonl"]
    assert exit_code("gate", *there, "--write-baseline") == 0
    assert ground.baseline.is_file()
    assert not list((ground.folder / "jobs").iterdir())
    ground.capsys.readouterr()
    assert exit_code("gate", *there, "--format", "sarif") == 0
    (run,) = json.loads(ground.capsys.readouterr().out)["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "scrub.yaml"
