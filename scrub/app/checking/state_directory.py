# SPDX-License-Identifier: Apache-2.0
"""Where interrupted checks keep their sums; never inside a store."""

import os
from pathlib import Path

from scrub.errors import UsageError

VARIABLE = "SCRUB_STATE_DIR"


def state_directory() -> Path | None:
    """The directory the user chose, which must be usable, or one of the user's own, if any."""
    if chosen := os.environ.get(VARIABLE):
        return _demand_usable(Path(chosen))
    if base := os.environ.get("XDG_STATE_HOME"):
        return Path(base) / "scrub"
    try:
        return Path.home() / ".local" / "state" / "scrub"
    except RuntimeError:
        return None  # a user without a home, as in some containers


def _demand_usable(path: Path) -> Path:
    """The path; whoever names a place wants interrupted checks to resume, so it has to serve."""
    if problem := _problem(path):
        raise UsageError(
            f"{VARIABLE} is {path}, and no state can be kept there: {problem}",
            hint="let it name a directory that you may write to, or unset it; "
            "interrupted checks resume from there",
        )
    return path


def _problem(path: Path) -> str | None:
    """Why no file can be made in a directory, which need not be there yet."""
    try:
        for place in (path, *path.absolute().parents):
            if place.is_symlink() and not place.exists():
                return f"{place} is a link to nowhere"
            if not place.exists():
                continue
            if not place.is_dir():
                return f"{place} is not a directory"
            return None if _may_write(place) else f"{place} cannot be written to"
    except (OSError, ValueError) as error:
        return str(error)
    return None


def _may_write(directory: Path) -> bool:
    by_effective = os.access in os.supports_effective_ids
    return os.access(directory, os.W_OK | os.X_OK, effective_ids=by_effective)
