# SPDX-License-Identifier: Apache-2.0
"""The file of known defects: stable, without data, and refused unless it is whole."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scrub.app.gating import baseline as module
from scrub.app.gating.baseline import new_salt, read_baseline, write_baseline
from scrub.errors import UsageError
from tests.scrub.app.gating.gate_ground import a_baseline, a_defect

SECRET = "very-private-status"
BASELINE = a_baseline(*(a_defect(number, SECRET) for number in range(5)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "scrub-baseline.jsonl"
    write_baseline(file, BASELINE)
    return file


def test_what_is_written_is_read_again(path: Path) -> None:
    again = read_baseline(path)
    assert again is not None
    assert set(again.known) == set(BASELINE.known)
    assert (again.salt, again.definitions) == (BASELINE.salt, BASELINE.definitions)
    assert read_baseline(path.with_name("none")) is None


def test_the_same_content_gives_the_same_bytes(path: Path) -> None:
    before, changed = path.read_bytes(), path.stat().st_mtime_ns
    reordered = replace(BASELINE, known=tuple(reversed(BASELINE.known)))
    assert not write_baseline(path, reordered)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, changed)


def test_it_holds_a_header_and_sorted_lines_without_values_or_keys(path: Path) -> None:
    header, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert (header["schema_version"], header["salt"]) == (1, BASELINE.salt)
    assert header["definitions"]["orders"]["indexes"]["by_customer"] == "i1"
    fields = {"id", "content", "kind", "table", "index", "constraint", "since"}
    assert [set(line) for line in lines] == [fields] * 5
    assert [line["id"] for line in lines] == sorted(line["id"] for line in lines)
    assert SECRET not in path.read_text()
    assert "customer_id" not in path.read_text()


def test_salts_are_random() -> None:
    assert new_salt() != new_salt()


def edited(change: Callable[[list[str]], list[str]]) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        path.write_text("".join(change(path.read_text().splitlines(keepends=True))))

    return edit


CONFLICT = ["<<<<<<< ours\n", "=======\n", ">>>>>>> theirs\n"]
DAMAGES: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "another version": (
        edited(lambda lines: [lines[0].replace('"schema_version": 1', '"schema_version": 2')]),
        ":1: a baseline of schema version 2 is not known",
        "this release reads version 1; delete the file and write it again: scrub gate",
    ),
    "cut off between lines": (
        edited(lambda lines: lines[:-2]),
        ":5: the baseline is cut off or was edited: it holds 3 of 5 defects",
        "restore the file from version control",
    ),
    "cut off within a line": (
        edited(lambda lines: [*lines[:-1], lines[-1][:20]]),
        ":6: the baseline is cut off or damaged: this is no record",
        "restore the file from version control",
    ),
    "a merge conflict": (
        edited(lambda lines: [*lines[:2], CONFLICT[0], lines[2], *CONFLICT[1:], *lines[3:]]),
        ":3: a merge conflict is left in the baseline",
        "take the file of one side and write it again: scrub gate --write-baseline",
    ),
    "a conflict in the header": (
        edited(lambda lines: [CONFLICT[0], *lines]),
        ":1: a merge conflict is left in the baseline",
        "take the file of one side",
    ),
    "empty": (
        lambda path: path.write_text(""),  # type: ignore[dict-item, return-value]
        ":1: the baseline is empty",
        "restore the file",
    ),
    "another file": (
        lambda path: path.write_text('{"type": "run"}\n'),  # type: ignore[dict-item, return-value]
        ":1: this is not the header of a baseline",
        "restore the file",
    ),
    "a line of something else": (
        edited(lambda lines: [*lines[:3], '{"id": 7}\n', *lines[4:]]),
        ":4: this line of the baseline is not a known defect",
        "restore the file",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused_by_its_line(damage: str, path: Path) -> None:
    edit, message, hint = DAMAGES[damage]
    edit(path)
    with pytest.raises(UsageError) as refused:
        read_baseline(path)
    assert str(refused.value) == f"{path}{message}"
    assert hint in (refused.value.hint or "")


def test_too_many_defects_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KNOWN_MAX", 4)
    before = path.read_bytes()
    with pytest.raises(UsageError, match="would hold 5 defects, and it holds at most 4") as refused:
        write_baseline(path, BASELINE)
    assert "build the index again" in (refused.value.hint or "")
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_written_is_left_as_it_is(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(UsageError, match="cannot be written: Not a directory") as refused:
        write_baseline(path / "below-a-file.jsonl", BASELINE)
    assert "--baseline FILE" in (refused.value.hint or "")
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
