# SPDX-License-Identifier: Apache-2.0
"""Grids as text: as they are in files and pipes, and fitted to a screen."""

from tabulate import tabulate

from reports.fitting import fitted
from reports.grids import Grid
from reports.screen import Screen


def table(grid: Grid, screen: Screen) -> str:
    if screen.width is not None:
        return fitted(grid, screen)
    # Cells are text already; parsing them as numbers would change what they say.
    return tabulate(
        grid.rows, headers=grid.headers, colalign=grid.alignments, disable_numparse=True
    )
