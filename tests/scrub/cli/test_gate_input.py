# SPDX-License-Identifier: Apache-2.0
"""Bad input of `scrub gate`: each names a line and what to do, and nothing is half-written."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scrub.app.gating import remembering
from tests.scrub.cli.gate_files import SEVERAL, Ground, ground
from tests.scrub.cli.small_lake import described, write_catalog

__all__ = ["ground"]  # a fixture


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


def of_tomorrow(ground: Ground) -> None:
    ground.write(ground.result(*SEVERAL, started_at=datetime.now(UTC) + timedelta(days=1)))


def longer_ago_than_the_catalog_allows(ground: Ground) -> None:
    add_to_catalog(ground, gate={"max_age": "30m"})


def another_type_of_the_key(ground: Ground) -> None:
    columns = {"id": "int", "customer_id": "bigint", "status": "string", "qty": "int"}
    write_catalog(ground.folder, orders=described(columns=columns))


def another_constraint(ground: Ground) -> None:
    write_catalog(ground.folder, orders=described() | {"checks": {"positive": "qty > 0"}})
    ground.write(ground.result(*SEVERAL))
    write_catalog(ground.folder, orders=described() | {"checks": {"positive": "qty > 1"}})


def without_definitions(ground: Ground) -> None:
    ground.write(ground.result(*SEVERAL, definitions={}))


def add_to_catalog(ground: Ground, **more: object) -> None:
    path = ground.folder / "scrub.yaml"
    path.write_text(json.dumps(json.loads(path.read_text()) | more))


BAD_RESULTS: dict[str, tuple[Callable[[Ground], None], str, str]] = {
    "another catalog": (another_catalog, "result.jsonl:1: the result is of another catalog than "
                        "scrub.yaml: index by_customer of orders", "give the catalog"),
    "no such table": (without_the_table, "result.jsonl:1: the result is of another catalog than "
                      "scrub.yaml, which has no table orders", "give the catalog"),
    "another table": (another_type_of_the_key, "result.jsonl:1: the result is of another catalog "
                      "than scrub.yaml: the table of orders", "give the catalog"),
    "another constraint": (another_constraint, "result.jsonl:1: the result is of another catalog "
                           "than scrub.yaml: constraint positive of orders", "give the catalog"),
    "no definitions": (without_definitions, "result.jsonl:1: the result does not say how table "
                       "orders is defined", "run it again"),
    "older than max_age": (longer_ago_than_the_catalog_allows, "result.jsonl:1: the result is of 2",
                           "longer ago than 0.5 hours (max_age)"),
    "of tomorrow": (of_tomorrow, "result.jsonl:1: the result is of 2", "set the clocks"),
    "a time without a zone": (rewritten('Z", "seconds": ', '", "seconds": '), "result.jsonl:1: "
                              "this is not the first line of a result", "run it again"),
    "too old": (days_ago, "result.jsonl:1: the result is of 2", "(max_age)"),
    "cut off between defects": (cut(4), "result.jsonl:4: the result is cut off: it holds 2 of 2 "
                                "checks and 1 of 3 defects", "run it again"),
    "cut off between checks": (cut(2), "result.jsonl:2: the result is cut off", "run it again"),
    "cut off within a line": (rewritten('"detail": ""}\n', '"det'), "result.jsonl:4: the result is "
                              "cut off or damaged", "run it again"),
    "all cut off": (cut(0), "result.jsonl:1: the result is empty", "run it again"),
    "edited": (rewritten('{"id": 0}', '{"id": 8}'), "result.jsonl:4: this line is not a check or",
               "run it again"),
    "another version": (rewritten('"schema_version": 1', '"schema_version": 2'),
                        "result.jsonl:1: a result of schema version 2 is not known", "run it"),
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


@pytest.mark.parametrize("count", [1, 2])
def test_a_clean_result_that_lost_a_check_is_refused(count: int, ground: Ground) -> None:
    ground.write(ground.result())
    cut(count)(ground)
    code, out, err = ground.gate("--write-baseline")
    assert (code, out) == (2, "")
    assert f"it holds {count - 1} of 2 checks" in err


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


def test_a_message_of_several_lines_is_no_command_for_the_log_of_a_ci_system(
    ground: Ground,
) -> None:
    ground.write(ground.result())
    version = json.dumps("1\n::stop-commands::x\n##[add-mask]y")
    ground.baseline.write_text(f'{{"type": "baseline", "schema_version": {version}}}\n')
    code, _, err = ground.gate()
    assert code == 2
    assert "stop-commands" in err
    assert not re.search(r"^\s*::|##\[", err, flags=re.M)
