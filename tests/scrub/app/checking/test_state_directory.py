# SPDX-License-Identifier: Apache-2.0
"""A place for the state of checks that cannot serve is refused, or merely costs the resuming."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from checks.bucket_sums import RunSums, SlotSums
from checks.finished_parts import Finished, FinishedParts
from scrub.app.checking.state_directory import state_directory
from scrub.cli import main
from scrub.codec.digest import Salt
from scrub.errors import UsageError
from scrub.model.plan import CheckPlan
from scrub.model.request import Strategy
from tests.builders import delta_lake, entries_of, orders


def a_file(directory: Path) -> Path:
    (directory / "state").write_text("")
    return directory / "state"


def below_a_file(directory: Path) -> Path:
    return a_file(directory) / "of" / "checks"


def a_link_to_nowhere(directory: Path) -> Path:
    (directory / "state").symlink_to(directory / "gone" / "away")
    return directory / "state"


def below_a_link_to_nowhere(directory: Path) -> Path:
    return a_link_to_nowhere(directory) / "checks"


def a_link_to_itself(directory: Path) -> Path:
    (directory / "state").symlink_to(directory / "state")
    return directory / "state"


def a_name_too_long(directory: Path) -> Path:
    return directory / ("x" * 300)


UNUSABLE = [
    a_file,
    below_a_file,
    a_link_to_nowhere,
    below_a_link_to_nowhere,
    a_link_to_itself,
    a_name_too_long,
]


@pytest.mark.parametrize("place", UNUSABLE)
def test_a_place_that_cannot_serve_is_answered_before_spark(
    place: Callable[[Path], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = orders(3)
    catalog = delta_lake(tmp_path, rows, entries_of(rows))
    chosen = place(tmp_path)
    monkeypatch.setenv("SCRUB_STATE_DIR", str(chosen))
    assert main.run(["check", "database", "--catalog", str(catalog)]) == 2
    captured = capsys.readouterr()
    error, hint = captured.err.splitlines()
    assert error.startswith(f"error: SCRUB_STATE_DIR is {chosen}, and no state can be kept there: ")
    assert hint.startswith("hint: let it name a directory that you may write to, or unset it")
    assert captured.out == ""


@pytest.fixture
def nobody() -> Iterator[Path]:
    """A directory that its reader may not write to; root, who may always, is nobody meanwhile."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield directory
    finally:
        os.seteuid(user)
        directory.rmdir()


@pytest.mark.parametrize("below", ["", "checks"])
def test_a_directory_that_may_not_be_written_to(
    below: str, nobody: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRUB_STATE_DIR", str(nobody / below))
    with pytest.raises(UsageError, match=f"{nobody} cannot be written to"):
        state_directory()


@pytest.mark.parametrize("below", ["", "not/yet/there"])
def test_a_directory_need_not_be_there_yet(
    below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / below))
    assert state_directory() == tmp_path / below
    assert list(tmp_path.iterdir()) == []


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("SCRUB_STATE_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert state_directory() is None


@pytest.mark.parametrize("place", UNUSABLE)
def test_a_place_that_stops_serving_costs_only_the_resuming(
    place: Callable[[Path], Path], tmp_path: Path
) -> None:
    """As the user's own directory may be, which nobody has chosen for this."""
    parts = FinishedParts(place(tmp_path), CheckPlan(strategy=Strategy.AUTO, tables=()), ())
    assert parts.load() is None
    sums = RunSums({0: SlotSums(np.zeros((4, 4), dtype=np.uint64))})
    parts.save(Finished(Salt(1, 2), frozenset(), sums, {}))
    assert parts.not_kept is not None
    assert parts.not_kept.startswith("an interruption would start it over: ")
    parts.forget()
