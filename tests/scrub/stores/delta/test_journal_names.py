# SPDX-License-Identifier: Apache-2.0
"""The runs that the log of a journal names, as the journal itself writes it."""

from pathlib import Path

from scrub.stores.delta.journal import DeltaJournal, EventKind
from scrub.stores.delta.journal_names import runs_named


def test_the_runs_of_a_real_journal_are_named_the_latest_first(tmp_path: Path) -> None:
    journal = DeltaJournal(str(tmp_path), {})
    for run in ("aaaa", "cccc", "bbbb"):
        journal.add(run, EventKind.BEGIN, [{"command": "repair"}])
        journal.add(run, EventKind.END, [{}])
    assert runs_named(tmp_path) == ["bbbb", "cccc", "aaaa"]
    journal.remove(["cccc"])
    assert set(runs_named(tmp_path)) == {"aaaa", "bbbb"}


def test_without_a_journal_no_run_is_named(tmp_path: Path) -> None:
    assert runs_named(tmp_path) == []
    assert runs_named(tmp_path / "nowhere") == []
