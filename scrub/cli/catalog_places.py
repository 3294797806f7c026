# SPDX-License-Identifier: Apache-2.0
"""Where a catalog is in its repository, for reports that point at its lines."""

from pathlib import Path
from typing import TYPE_CHECKING

from scrub.errors import ScrubError

if TYPE_CHECKING:
    from reports.context import CatalogPlaces


def catalog_places(path: Path) -> "CatalogPlaces":
    """The file as code hosts name it, and the lines of its tables, indexes and constraints."""
    from reports.context import CatalogPlaces
    from scrub.catalog import load_catalog

    file = _path_in_repository(path.resolve(), Path.cwd())
    try:
        return CatalogPlaces(file=file, tables=load_catalog(path, unset_allowed=True).tables)
    except ScrubError:
        return CatalogPlaces(file=file)  # it has changed since: the result must not be lost to that


def _path_in_repository(path: Path, directory: Path) -> str:
    """Relative to the repository that holds it, or else to the directory of the command."""
    for root in path.parents:
        if (root / ".git").exists():  # a file in worktrees and submodules
            return path.relative_to(root).as_posix()
    if path.is_relative_to(directory):
        return path.relative_to(directory).as_posix()
    return path.name  # of no repository: nobody could open it by the rest of its path
