# SPDX-License-Identifier: Apache-2.0
"""Rows between the three schemas of a stream: the table's, the source's, and the index's.

Columns are found by their names. A column that was added later is NULL in rows that were carried
without it.
"""

from collections.abc import Sequence

from scrub.errors import ScrubError
from scrub.model.stream.changes import Values


class ColumnGone(ScrubError):
    """The source no longer carries a column that the index needs."""

    exit_code = 3


def rearranged(values: Values, given: Sequence[str], wanted: Sequence[str]) -> Values:
    """The values of the given columns in the order of the wanted ones; NULL for absent ones."""
    by_name = dict(zip(given, values, strict=True))
    return tuple(by_name.get(name) for name in wanted)


def demand_carried(needed: Sequence[str], carried: Sequence[str]) -> None:
    """Stop where a column was dropped that the index cannot do without."""
    gone = [name for name in needed if name not in carried]
    if gone:
        raise ColumnGone(
            f"the table no longer has {', '.join(gone)}, which the index needs",
            hint="correct the catalog; the stream then continues where it stopped",
        )
