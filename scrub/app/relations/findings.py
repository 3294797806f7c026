# SPDX-License-Identifier: Apache-2.0
"""What opening all relations of a catalog has shown."""

from dataclasses import dataclass, field
from pathlib import Path

from scrub.errors import AccessDenied, CatalogError, Mistake, ScrubError, StoreUnavailable


@dataclass(slots=True)
class RelationsReport:
    """Mistakes that somebody must correct, and what could not be looked at this time."""

    path: Path
    mistakes: list[Mistake] = field(default_factory=list)
    unread: list[Mistake] = field(default_factory=list)
    opened: int = 0
    by_spark: list[str] = field(default_factory=list)  # relations that only Spark could describe

    def add(self, line: int, error: ScrubError) -> None:
        """A right that is missing is a mistake, since it is missing the next time, too."""
        is_denied = isinstance(error, AccessDenied) or _is_denial(error)
        is_unread = isinstance(error, StoreUnavailable) and not is_denied
        for what in str(error).split("\n"):
            if is_unread:
                self.unread.append(Mistake(line, f"not looked at: {what}", error.hint))
            else:
                self.mistakes.append(Mistake(line, what, error.hint))

    @property
    def found(self) -> tuple[Mistake, ...]:
        """Everything in the order of its lines, and once."""
        once = dict.fromkeys([*self.mistakes, *self.unread])
        return tuple(sorted(once, key=lambda mistake: mistake.line))

    def demand_none(self) -> None:
        """Raise everything at once; with the code of mistakes if there is one of them."""
        told = CatalogError(self.path, self.found)
        if self.mistakes:
            raise told
        if self.unread:
            raise StoreUnavailable(str(told))


def _is_denial(error: ScrubError) -> bool:
    return isinstance(error.__cause__, PermissionError) or "permission denied" in str(error).lower()
