# SPDX-License-Identifier: Apache-2.0
"""How a job fails, and which part of a scan is to blame where the failure tells."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

from checks.in_process import TaskFailed
from checks.parts import Part
from scrub.errors import RelationMismatch, ScrubError, StoreUnavailable
from scrub.model.relation import Split, Splits
from scrub.spark.imported import spark_is_imported
from scrub.spark.plain_paths import plain_path
from scrub.stores.unreadable import UnreadableSplit

if TYPE_CHECKING:
    from pyspark.errors import PySparkException


class ChangedMeaning(Exception):
    """Spark would evaluate an index's expressions, which mean something else in its session."""

    def __init__(self, slot: int, reason: str) -> None:
        super().__init__(reason)
        self.slot = slot


OwnFailure: TypeAlias = (
    UnreadableSplit | RelationMismatch | StoreUnavailable | TaskFailed | ChangedMeaning
)
Failure: TypeAlias = "PySparkException | OwnFailure"
"""A store that finds out on the driver says which split; Spark says it in a message."""
_OWN = (UnreadableSplit, RelationMismatch, StoreUnavailable, TaskFailed, ChangedMeaning)


def failures() -> "tuple[type[Failure], ...]":
    """What to catch: asked for once something was raised, as Spark may not be imported before."""
    if not spark_is_imported():
        return _OWN
    from pyspark.errors import PySparkException

    return (PySparkException, *_OWN)


def is_of_spark(error: Failure) -> "TypeGuard[PySparkException]":
    """Whether Spark raised it, or a task of Spark's."""
    return not isinstance(error, _OWN)


def session_has_ended(error: Failure) -> bool:
    """Whether it is of no use to try anything else."""
    if not is_of_spark(error):
        return False
    from scrub.spark.failures import SessionEnded

    return isinstance(error, SessionEnded)


def reason_for(error: Failure, redact: bool) -> str:
    """Why something could not be read, in one line."""
    if isinstance(error, TaskFailed):
        return error.kind if redact else str(error)
    if is_of_spark(error):
        from scrub.spark.failures import reason_of

        return reason_of(error, redact)
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
        from scrub.spark.failures import unreadable_file, unreadable_reason

        path, told = unreadable_file(error) or "", str(error)
        reason = unreadable_reason(error)
    for split in splits:
        if plain_path(split.uri) == plain_path(path) or f"UnreadableSplit: {split.name}" in told:
            return split, reason or "it cannot be read"
    return None
