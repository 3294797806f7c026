# SPDX-License-Identifier: Apache-2.0
"""Batches of changes of which some may be refused: all at once if that works, else one by one."""

from collections.abc import Callable, Sequence

from scrub.model.repair import ActionOutcome
from scrub.stores.postgres.connections import Connection, require_psycopg, server_message
from scrub.stores.postgres.repairs.planned_writes import NotWritten
from scrub.stores.repairing import Applied, Reason

_LOOKS_MAX = 3
_NAMES = (
    "scrub looks names up in pg_catalog only, so write them with their schema in the function, or "
    "give it a SET search_path"
)


_REFUSALS = ("22", "23", "27", "44", "54", "P0", "428C9")
_OF_CODE = ("0A", "2F", "38", "39", "42", "55000")
"""What code of the users' own may run into; of a statement of ours it would be a mistake."""


def refusal_of(error: Exception) -> str | None:
    """What the server says of a value that it does not take; None for what ends the batch.

    A value may violate a constraint, be too long for an index, or make a function fail that a
    constraint, a default or a generated column calls.
    """
    if isinstance(error, NotWritten):
        return error.reason
    # The driver does not even send some values, such as a text with a zero byte.
    of_driver = "22" if isinstance(error, require_psycopg().DataError) else ""
    state = getattr(error, "sqlstate", None) or of_driver
    if state.startswith(_REFUSALS):
        return _refused(server_message(error))
    if state.startswith(_OF_CODE) and state != "42501" and error.diag.context:  # type: ignore[attr-defined]
        return _refused(f"a function of the table failed: {server_message(error)}; {_NAMES}")
    return None


def attempted(
    connection: Connection,
    whys: Sequence[Reason | None],
    attempt: Callable[[Sequence[int]], list[Applied]],
) -> list[Applied]:
    """What becomes of changes: those that something speaks against are refused."""
    free = [number for number, why in enumerate(whys) if why is None]
    applied = iter(_together_or_alone(connection, free, attempt) if free else ())
    return [
        next(applied)
        if why is None
        else Applied(ActionOutcome.REFUSED, reason=f"{why[0]}; {why[1]}")
        for why in whys
    ]


def _together_or_alone(
    connection: Connection,
    numbers: Sequence[int],
    attempt: Callable[[Sequence[int]], list[Applied]],
) -> list[Applied]:
    """What a refused change did is rolled back, and only that."""
    try:
        with connection.transaction():
            return attempt(numbers)
    except (NotWritten, require_psycopg().Error) as error:
        if refusal_of(error) is None:
            raise
        return [_alone(connection, number, attempt) for number in numbers]


def _alone(
    connection: Connection, number: int, attempt: Callable[[Sequence[int]], list[Applied]]
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
        except require_psycopg().Error as error:
            found = refusal_of(error)
            if found is None:
                raise
            reason = found
            if not isinstance(error, require_psycopg().errors.UniqueViolation):
                break
    return Applied(ActionOutcome.REFUSED, reason=reason)


def _refused(words: str) -> str:
    return f"the database refused it: {words}"
