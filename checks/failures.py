# SPDX-License-Identifier: Apache-2.0
"""How a job fails, and which part of a scan is to blame where the failure tells."""

from collections.abc import Sequence

from pyspark.errors import PySparkException

from checks.in_process import TaskFailed
from checks.parts import Part
from scrub.errors import RelationMismatch, ScrubError, StoreUnavailable
from scrub.model.relation import Split, Splits
from scrub.spark.failures import plain_path, reason_of, unreadable_file, unreadable_reason
from scrub.stores.unreadable import UnreadableSplit


class ChangedMeaning(Exception):
    """Spark would evaluate an index's expressions, which mean something else in its session."""

    def __init__(self, slot: int, reason: str) -> None:
        super().__init__(reason)
        self.slot = slot


Failure = (
    PySparkException
    | UnreadableSplit
    | RelationMismatch
    | StoreUnavailable
    | TaskFailed
    | ChangedMeaning
)
"""A store that finds out on the driver says which split; Spark says it in a message."""
FAILURES = (
    PySparkException,
    UnreadableSplit,
    RelationMismatch,
    StoreUnavailable,
    TaskFailed,
    ChangedMeaning,
)


def reason_for(error: Failure, redact: bool) -> str:
    """Why something could not be read, in one line."""
    if isinstance(error, PySparkException):
        return reason_of(error, redact)
    if isinstance(error, TaskFailed):
        return error.kind if redact else str(error)
    return error.with_hint if isinstance(error, ScrubError) else str(error)


def part_not_read(error: Failure, parts: Sequence[Part]) -> tuple[Part, str] | None:
    """The part that could not be read and why, if the failure tells."""
    for part in parts:
        if found := split_not_read(error, part.splits):
            return part, found[1]
    return None


def split_not_read(error: Failure, splits: Splits) -> tuple[Split, str] | None:
    """The split that could not be read and why, if the failure tells."""
    if isinstance(error, ScrubError | TaskFailed | ChangedMeaning):
        return None
    if isinstance(error, UnreadableSplit):
        path, told = error.split_name, f"UnreadableSplit: {error}"
        reason: str | None = error.reason
    else:
        path, told = unreadable_file(error) or "", str(error)
        reason = unreadable_reason(error)
    for split in splits:
        if plain_path(split.uri) == plain_path(path) or f"UnreadableSplit: {split.name}" in told:
            return split, reason or "it cannot be read"
    return None
