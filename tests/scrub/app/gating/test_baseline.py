# SPDX-License-Identifier: Apache-2.0
"""The file of known defects: stable, without data, and refused unless it is whole."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scrub.app.gating import baseline as module
from scrub.app.gating.baseline import new_salt, read_baseline, write_baseline
from scrub.app.gating.remembering import demand_writable
from scrub.errors import UsageError
from tests.scrub.app.gating.gate_ground import a_baseline, a_defect, known
from tests.scrub.cli.test_bad_input import no_override

ROOT = Path(__file__).parents[4]

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
DAMAGES: dict[str, tuple[Callable[[Path], None], str | None, str]] = {
    "another version": (
        edited(lambda lines: [lines[0].replace('"schema_version": 1', '"schema_version": 2')]),
        ":1: a baseline of schema version 2 is not known",
        "this release reads version 1; restore the file from version control; or delete it",
    ),
    "cut off between lines": (
        edited(lambda lines: lines[:-2]),
        ":5: the baseline was cut off or edited: it holds 3 of 5 defects",
        "restore the file from version control",
    ),
    "merged by git": (
        edited(lambda lines: [*lines, lines[-1].replace(lines[-1][8:24], "f" * 16)]),
        ":8: the baseline was merged or edited: it holds 6 of 5 defects",
        "make all defects known that are there now",
    ),
    "without its last line break": (
        edited(lambda lines: [*lines[:-1], lines[-1].rstrip("\n")]),
        ":6: the baseline was cut off or edited: it holds 5 of 5 defects",
        "restore the file",
    ),
    "a header without a salt": (
        edited(lambda lines: [lines[0].replace('"salt"', '"sult"'), *lines[1:]]),
        ":1: the header of the baseline is not complete",
        "restore the file",
    ),
    "a header with an empty salt": (
        edited(lambda lines: [re.sub('"salt": "[^"]*"', '"salt": ""', lines[0]), *lines[1:]]),
        ":1: the header of the baseline is not complete",
        "restore the file",
    ),
    "a line twice, and counted": (
        edited(
            lambda lines: [lines[0].replace('"defects": 5', '"defects": 6'), *lines[1:], lines[2]]
        ),
        ":7: the baseline was merged or edited: line 3 says the same",
        "restore the file",
    ),
    "a number that is no number": (
        edited(lambda lines: [lines[0].replace('"defects": 5', '"defects": ' + "5" * 5000)]),
        ":1: the baseline is cut off or damaged: this is no record",
        "restore the file",
    ),
    "binary": (
        lambda path: path.write_bytes(b"PAR1\xff\x00"),  # type: ignore[dict-item, return-value]
        None,
        "restore the file",
    ),
    "cut off within a line": (
        edited(lambda lines: [*lines[:-1], lines[-1][:20]]),
        ":6: the baseline is cut off or damaged: this is no record",
        "restore the file from version control",
    ),
    "a merge conflict": (
        edited(lambda lines: [*lines[:2], CONFLICT[0], lines[2], *CONFLICT[1:], *lines[3:]]),
        ":3: a merge conflict is left in the baseline",
        "take the file of one side, and make all defects known",
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
    assert str(refused.value) == (
        f"the baseline {path} is not UTF-8 text" if message is None else f"{path}{message}"
    )
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


def test_what_two_branches_added_is_known_after_one_more_writing(path: Path) -> None:
    """A line that both have with other contents is two things that were wrong there."""
    both = replace(BASELINE, known=(*BASELINE.known, known(a_defect(0, "other"))))
    write_baseline(path, both)
    again = read_baseline(path)
    assert again is not None
    assert len([one for one in again.known if one.id == a_defect(0).id]) == 2


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: path.symlink_to("elsewhere/none"), "is a link to elsewhere/none, which does"),
        (lambda path: path.mkdir(), "it is not a file"),
        (os.mkfifo, "it is not a file"),
    ],
)
def test_a_place_that_is_no_file_is_refused_before_anything_is_read(
    tmp_path: Path, make: Callable[[Path], None], why: str
) -> None:
    place = tmp_path / "baseline.jsonl"
    make(place)
    with pytest.raises(UsageError, match=why):
        demand_writable(place)


def test_a_link_to_a_baseline_stays_a_link(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(path.name)
    demand_writable(link)
    assert write_baseline(link, replace(BASELINE, known=BASELINE.known[:1]))
    assert link.is_symlink()
    assert len(path.read_text().splitlines()) == 2


def test_without_permission_nothing_is_begun(path: Path) -> None:
    """The folder counts: the new file is made beside the old one, and replaces it."""
    code = (
        "from pathlib import Path\nfrom scrub.app.gating.remembering import demand_writable\n"
        f"demand_writable(Path({str(path)!r}))"
    )
    path.parent.chmod(0o500)
    try:
        told = subprocess.run(
            [sys.executable, "-c", code],
            preexec_fn=no_override if os.geteuid() == 0 else None,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        path.parent.chmod(0o700)
    assert "cannot be written: no permission" in told.stderr
