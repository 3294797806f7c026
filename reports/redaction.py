# SPDX-License-Identifier: Apache-2.0
"""Hides what `--redact` hides: of a defect only its keys and the names of its columns remain."""

from dataclasses import replace

from scrub.model.defect import Defect
from scrub.model.repair import Entry
from scrub.model.result import RunResult

REDACTED = "[redacted]"
REDACTED_DIFFERS = "[redacted, differs]"
"""Stands on the actual side of a column that differs, so that the difference itself stays."""


def redact_result(result: RunResult) -> RunResult:
    """The same result with every defect redacted."""
    defects = tuple(redact_defect(defect) for defect in result.defects)
    return replace(result, defects=defects, redacted=True)


def redact_defect(defect: Defect) -> Defect:
    """The same defect, by the same id and with the same differing columns, without other values.

    The detail is free text and the value's bytes are the value, so both go.
    """
    keys = {**(defect.primary_key or {}), **(defect.index_key or {})}
    differing = frozenset(defect.differing_columns)
    return replace(
        defect,
        expected=_redact_entry(defect.expected, keys),
        actual=_redact_entry(defect.actual, keys, differing),
        detail="",
        value_hex=None,
    )


def _redact_entry(
    entry: Entry | None, keys: Entry, differing: frozenset[str] = frozenset()
) -> Entry | None:
    if entry is None:
        return None
    return {
        name: value
        # By value and not by name alone: the other side's key may be a different one.
        if name in keys and keys[name] == value
        else (REDACTED_DIFFERS if name in differing else REDACTED)
        for name, value in entry.items()
    }
