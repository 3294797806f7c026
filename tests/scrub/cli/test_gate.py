# SPDX-License-Identifier: Apache-2.0
"""`scrub gate` as a user runs it, on results of earlier checks: no JVM is needed."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reports import as_jsonl
from scrub.app.gating import remembering
from scrub.catalog import load_catalog
from scrub.model.defect import Defect
from scrub.model.definition import definition_of
from scrub.model.result import RunResult, Status
from tests.scrub.app.gating.gate_ground import a_defect, a_result, an_outcome
from tests.scrub.cli.exit_codes import exit_code
from tests.scrub.cli.small_lake import described, write_catalog

SEVERAL = tuple(a_defect(number) for number in range(3))


@dataclass
class Ground:
    """A folder with a catalog, in which results can be judged."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    @property
    def baseline(self) -> Path:
        return self.folder / "scrub-baseline.jsonl"

    def result(self, *defects: Defect, **more: Any) -> RunResult:
        tables = load_catalog(self.folder / "scrub.yaml").tables
        outcomes = [an_outcome(name, *defects) for name in ("by_customer", "by_status")]
        facts: dict[str, Any] = {
            "definitions": {name: definition_of(table) for name, table in tables.items()},
            "started_at": datetime.now(UTC) - timedelta(hours=1),
        }
        return a_result(outcomes, *defects, **(facts | more))

    def write(self, result: RunResult, redact: bool = False) -> Path:
        path = self.folder / "result.jsonl"
        path.write_text(as_jsonl.render(result, redact=redact))
        return path

    def gate(self, *arguments: str) -> tuple[int, str, str]:
        code = exit_code("gate", "--from", "result.jsonl", *arguments)
        told = self.capsys.readouterr()
        return code, told.out, told.err

    def judge(self, *defects: Defect, **more: Any) -> tuple[int, dict[str, Any]]:
        self.write(self.result(*defects, **more))
        code, out, _ = self.gate("--format", "json")
        return code, json.loads(out)


@pytest.fixture
def ground(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Ground:
    write_catalog(tmp_path, orders=described())
    monkeypatch.chdir(tmp_path)
    return Ground(tmp_path, capsys)


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
    assert (code, [d["standing"] for d in told["defects"]]) == (1, ["known"] * 3 + ["new"])


def test_another_wrong_value_of_a_known_entry_is_changed(ground: Ground) -> None:
    ground.write(ground.result(*SEVERAL))
    ground.gate("--write-baseline")
    code, told = ground.judge(*SEVERAL[1:], a_defect(0, "lost"))
    assert (code, told["gate"]["counts"]["changed"]) == (1, 1)
    assert told["defects"][-1]["standing"] == "changed"


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


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines(keepends=True)


def cut(count: int) -> Callable[[Ground], None]:
    def shorten(ground: Ground) -> None:
        path = ground.folder / "result.jsonl"
        path.write_text("".join(lines_of(path)[:count]))

    return shorten


def rewritten(old: str, new: str) -> Callable[[Ground], None]:
    def rewrite(ground: Ground) -> None:
        path = ground.folder / "result.jsonl"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return rewrite


def another_catalog(ground: Ground) -> None:
    indexes = {"by_customer": {"columns": ["customer_id"]}, "by_status": {"columns": ["status"]}}
    write_catalog(ground.folder, orders=described(indexes=indexes))


def without_the_table(ground: Ground) -> None:
    write_catalog(ground.folder, people=described())


def days_ago(ground: Ground) -> None:
    started = datetime.now(UTC) - timedelta(days=2)
    ground.write(ground.result(*SEVERAL, started_at=started))


BAD_RESULTS: dict[str, tuple[Callable[[Ground], None], str, str]] = {
    "another catalog": (another_catalog, "result.jsonl:1: the result is of another catalog than "
                        "scrub.yaml: index by_customer of orders", "give the catalog"),
    "no such table": (without_the_table, "result.jsonl:1: the result is of another catalog than "
                      "scrub.yaml, which has no table orders", "give the catalog"),
    "too old": (days_ago, "result.jsonl:1: the result is of 2", "(max_age)"),
    "cut off between defects": (cut(4), "result.jsonl:4: the result is cut off: it holds 2 of 2 "
                                "checks and 1 of 3 defects", "run it again"),
    "cut off between checks": (cut(2), "result.jsonl:2: the result is cut off", "run it again"),
    "cut off within a line": (rewritten('"detail": ""}\n', '"det'), "result.jsonl:4: the result is "
                              "cut off or damaged", "run it again"),
    "all cut off": (cut(0), "result.jsonl:1: the result is empty", "run it again"),
    "edited": (rewritten('{"id": 0}', '{"id": 8}'), "result.jsonl:4: this line is not a check or",
               "run it again"),
    "no result": (rewritten('"type": "run"', '"type": "walk"'), "result.jsonl:1: this is not the "
                  "first line", "run it again"),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD_RESULTS)
def test_a_result_that_is_not_whole_recent_or_ours_is_refused(bad: str, ground: Ground) -> None:
    damage, message, advice = BAD_RESULTS[bad]
    ground.write(ground.result(*SEVERAL))
    damage(ground)
    code, out, err = ground.gate("--write-baseline")
    assert (code, out) == (2, "")
    assert f"error: {message}" in err
    assert advice in err
    assert "hint: " in err
    assert not ground.baseline.exists()


def test_a_result_with_fewer_defects_than_it_counts_is_refused(ground: Ground) -> None:
    ground.write(replace(ground.result(*SEVERAL), defects=SEVERAL[:1]))
    code, _, err = ground.gate()
    assert code == 2
    assert "result.jsonl:1: the result holds 1 of 3 defects" in err
    assert "--limit 3" in err


def test_options_of_a_check_do_not_go_with_a_result(ground: Ground) -> None:
    ground.write(ground.result())
    code, _, err = ground.gate("--where", "id > 3")
    assert code == 2
    assert "takes the result in result.jsonl as it is" in err


@pytest.mark.parametrize("place", ["result.jsonl/below.jsonl", ".", "no-such-folder/b.jsonl"])
def test_a_baseline_that_cannot_be_written_is_refused_at_once(place: str, ground: Ground) -> None:
    ground.write(ground.result(*SEVERAL))
    before = {path: path.read_bytes() for path in ground.folder.rglob("*") if path.is_file()}
    code, out, err = ground.gate("--write-baseline", "--baseline", place)
    assert (code, out) == (2, "")
    assert place in err
    after = {path: path.read_bytes() for path in ground.folder.rglob("*") if path.is_file()}
    assert after == before


def test_a_baseline_that_is_named_must_be_there(ground: Ground) -> None:
    ground.write(ground.result())
    code, _, err = ground.gate("--baseline", "mine.jsonl")
    assert code == 2
    assert "there is no baseline mine.jsonl" in err


def test_too_many_defects_are_not_remembered(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembering, "KNOWN_MAX", 2)
    ground.write(ground.result(*SEVERAL))
    code, _, err = ground.gate("--write-baseline")
    assert code == 2
    assert "build the index again" in err
    assert not ground.baseline.exists()


def test_a_mistake_in_the_baseline_or_the_waivers_comes_first(ground: Ground) -> None:
    ground.write(ground.result(*SEVERAL))
    ground.baseline.write_text("<<<<<<< ours\n")
    code, _, err = ground.gate()
    assert code == 2
    assert "scrub-baseline.jsonl:1: a merge conflict is left in the baseline" in err
    ground.baseline.unlink()
    waiver = "version: 1\nwaivers:\n- {table: orders, at_most: 1, by: ann, until: 2026-12-01}\n"
    (ground.folder / "scrub-waivers.yaml").write_text(waiver)
    code, _, err = ground.gate()
    assert code == 2
    assert "scrub-waivers.yaml:3: the waiver has no 'reason'" in err


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
