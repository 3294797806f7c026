# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, split by who can act on it. A defect in the data is never an exception."""

from dataclasses import dataclass
from pathlib import Path

from scrub.redaction import redacted


class ScrubError(Exception):
    """Something stopped the command; the hint says what to do now.

    Whatever a message repeats, it repeats no password: messages go to terminals, reports and logs.
    """

    exit_code = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(redacted(message))
        self.hint = None if hint is None else redacted(hint)

    @property
    def with_hint(self) -> str:
        """Both in one text, for an outcome, which has one place for them."""
        return f"{self}; {self.hint}" if self.hint else str(self)

    @property
    def in_one_line(self) -> str:
        """The same for a place that has one line."""
        return self.with_hint.replace("\n", "; ")


def first_line(error: BaseException) -> str:
    """The first line of an error that says anything, or the name of its class."""
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), type(error).__name__)


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing wrong in a catalog file, with what to write instead."""

    line: int
    message: str
    hint: str | None = None


class CatalogError(ScrubError):
    """The catalog says something that cannot be meant; every mistake is listed."""

    def __init__(self, path: Path | str, mistakes: tuple[Mistake, ...]) -> None:
        self.path = path
        self.mistakes = mistakes
        lines = (
            f"{path}:{mistake.line}: {mistake.message}"
            + (f"\n    {mistake.hint}" if mistake.hint else "")
            for mistake in mistakes
        )
        super().__init__("\n".join(lines))


class UsageError(ScrubError):
    """The command names something the catalog does not have, or combines what cannot be."""


class NotRepairable(UsageError):
    """The indexes of a table are in no store that repair writes to, so it has no journal."""


class RelationMismatch(ScrubError):
    """A relation is not there, or is not what the catalog says it is."""


class RelationMissing(RelationMismatch):
    """There is no such relation; `near` is one whose name is much like it."""

    def __init__(self, message: str, *, hint: str, near: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.near = near


class StoreUnavailable(ScrubError):
    """A store could not be read; nothing is known about what it holds."""

    exit_code = 3


class AccessDenied(StoreUnavailable):
    """The role or user that scrub runs as may not read something: somebody must let it."""


class SparkUnavailable(ScrubError):
    """No Spark session could be had."""


class MissingExtra(ScrubError):
    """A part of scrub that is installed separately is needed."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the extra '{extra}'", hint=f"pip install 'scrub[{extra}]'"
        )
