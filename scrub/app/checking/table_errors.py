# SPDX-License-Identifier: Apache-2.0
"""What keeps single tables from being checked; the others are checked all the same."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from scrub.errors import RelationMismatch, ScrubError, StoreUnavailable
from scrub.model.result import RunResult, Status


def together(errors: Sequence[ScrubError]) -> ScrubError:
    """Several as one, each line once and with its own hint, unless there is but one hint."""
    lines: dict[str, str | None] = {}
    for error in errors:
        for line in str(error).split("\n"):
            lines.setdefault(line, error.hint)
    if len({str(error) for error in errors}) == 1:
        return errors[0]
    hints = set(lines.values())
    if len(hints) == 1:
        return RelationMismatch("\n".join(lines), hint=hints.pop())
    return RelationMismatch(
        "\n".join(f"{line}; {hint}" if hint else line for line, hint in lines.items())
    )


@contextmanager
def spoken_by_spark(relation: str) -> Iterator[None]:
    """An error of Spark's, where it describes a relation, as one of the relation's own."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("py4j", "pyspark"):
            raise
        from pyspark.errors import PySparkException

        from scrub.spark.collecting import translated
        from scrub.spark.failures import reason_of

        try:
            with translated():
                raise
        except PySparkException as told:
            reason = reason_of(told, redact=False)
        raise StoreUnavailable(f"{relation}: {reason}") from error


def demand_a_look(result: RunResult, errors: Sequence[ScrubError]) -> None:
    """Raise what is wrong if nothing else can be said, and nobody but the user can help.

    A store that did not answer may do so next time: that stays a result, which is incomplete.
    """
    looked_at = any(
        outcome.status in (Status.CLEAN, Status.DEFECTIVE) or outcome.is_incomplete
        for outcome in result.outcomes
        if not outcome.error
    )
    if not looked_at:
        raise_mistakes(errors)


def raise_mistakes(errors: Sequence[ScrubError]) -> None:
    """Raise errors that all ask for a change of the catalog, its relations or the environment."""
    if errors and all(error.exit_code == ScrubError.exit_code for error in errors):
        raise together(errors)
