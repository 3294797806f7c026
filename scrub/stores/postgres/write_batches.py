# SPDX-License-Identifier: Apache-2.0
"""Batches of changes of which some may be refused: all at once if that works, else one by one."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from scrub.model.repair import ActionOutcome
from scrub.stores.postgres.connections import first_line, require_psycopg
from scrub.stores.postgres.entry_writing import NotWritten
from scrub.stores.repairing import Applied

if TYPE_CHECKING:
    import psycopg

_LOOKS_MAX = 3


def refusing_errors() -> tuple[type[Exception], ...]:
    """What the server says of a value that it does not take; anything else ends the batch."""
    psycopg = require_psycopg()
    return (
        NotWritten,
        psycopg.IntegrityError,
        psycopg.DataError,
        psycopg.errors.RaiseException,
        psycopg.errors.GeneratedAlways,
        psycopg.errors.TriggeredDataChangeViolation,
    )


def together_or_alone(
    connection: "psycopg.Connection[Any]",
    numbers: Sequence[int],
    attempt: Callable[[Sequence[int]], list[Applied]],
) -> list[Applied]:
    """What becomes of changes; what a refused one did is rolled back, and only that."""
    if not numbers:
        return []
    try:
        with connection.transaction():
            return attempt(numbers)
    except refusing_errors():
        return [_alone(connection, number, attempt) for number in numbers]


def _alone(
    connection: "psycopg.Connection[Any]",
    number: int,
    attempt: Callable[[Sequence[int]], list[Applied]],
) -> Applied:
    """A key that somebody else has put meanwhile is seen at the next look, and judged then."""
    reason = ""
    for _ in range(_LOOKS_MAX):
        try:
            with connection.transaction():
                return attempt([number])[0]
        except NotWritten as error:
            outcome = ActionOutcome.CONFLICT if error.is_conflict else ActionOutcome.REFUSED
            return Applied(outcome, reason=error.reason)
        except require_psycopg().errors.UniqueViolation as error:
            reason = first_line(error)
        except refusing_errors() as error:
            return Applied(ActionOutcome.REFUSED, reason=_refused(first_line(error)))
    return Applied(ActionOutcome.REFUSED, reason=_refused(reason))


def _refused(words: str) -> str:
    return f"the database refused it: {words}"
