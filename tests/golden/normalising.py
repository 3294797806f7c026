# SPDX-License-Identifier: Apache-2.0
"""Replaces what no two runs have in common, and nothing else.

Times are replaced only if they lie within the recording itself: those of the data stay.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?UTC|Z|[+-]\d\d(?::?\d\d)?)?"
)
_RUN = re.compile(
    r'"run": "([0-9a-f]{12})"|\bscrub undo ([0-9a-f]{12})\b|^([0-9a-f]{12})  (?:repair|undo of)',
    re.MULTILINE,
)
"""Where a repair or an undo is named for the first time."""
_ID_OF_FILE = re.compile(r'"id": "[0-9a-f]{16}"(?=(?:(?!"id": ")[\s\S])*?"file": "<)')
"""Of a defect that names a file: its id follows from the path, and so from the ground's place."""
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # Ids of checks, of snapshots of PostgreSQL, and of files that Delta writes.
    (re.compile(r"\b(snapshot \"?)[0-9A-F]{8}-[0-9A-F]{8}-[0-9]+\b"), r"\1<id>"),
    (re.compile(r'("run_id": ")[0-9a-f]{12}"'), r'\1<run id>"'),
    (re.compile(r'(name="run_id" value=")[0-9a-f]{12}"'), r'\1<run id>"'),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<uuid>"),
    (_ID_OF_FILE, '"id": "<id of a file>"'),
    # Durations and rates, in JSON, JUnit and text.
    (re.compile(r'("(?:seconds|seconds_starting|rows_a_second)": )[0-9.e-]+'), r'\1"<n>"'),
    (re.compile(r'( time=")[0-9.]+"'), r'\1<n>"'),
    (re.compile(r"( in )[0-9,.]+ s(?=;| \()"), r"\1<n> s"),
    (re.compile(r"[0-9,]+ rows/s\)|\(- rows/s\)"), "<n> rows/s)"),
    (re.compile(r", after [0-9,.]+ s in which Spark started"), ""),  # said only if it took long
    (re.compile(r"(entries, )[0-9,]+ rows/s"), r"\1<n> rows/s"),
    (re.compile(r"(took|checking|everything) [0-9,.]+ s(?=[,.])"), r"\1 <n> s"),
    (re.compile(r"^progress: .*\n", re.MULTILINE), ""),  # a slow machine writes some
    # The time of day beside each step of following.
    (re.compile(r"^\d\d:\d\d:\d\d  ", re.MULTILINE), "<time>  "),
)


class Normaliser:
    """Makes the output of a group's runs comparable with that of another recording.

    Repairs and undos are numbered as they appear, so that it stays visible which one undid which.
    """

    def __init__(self, literals: Mapping[str, str]) -> None:
        self._literals = sorted(literals.items(), key=lambda item: -len(item[0]))
        self._runs: dict[str, str] = {}
        self._began = datetime.now(UTC) - timedelta(minutes=1)

    def text(self, text: str) -> str:
        for literal, name in self._literals:
            text = text.replace(literal, name)
        for found in _RUN.finditer(text):
            run = found[1] or found[2] or found[3]
            self._runs.setdefault(run, f"<run {len(self._runs) + 1}>")
        for run, name in self._runs.items():
            text = text.replace(run, name)
        text = _MOMENT.sub(self._moment, text)
        for pattern, replacement in _PATTERNS:
            text = pattern.sub(replacement, text)
        return text

    def _moment(self, match: re.Match[str]) -> str:
        written = match[0]
        try:
            moment = datetime.fromisoformat(written.replace(" UTC", "Z").replace("UTC", "Z"))
        except ValueError:
            return written
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        is_now = self._began <= moment <= datetime.now(UTC) + timedelta(minutes=1)
        return "<now>" if is_now else written
