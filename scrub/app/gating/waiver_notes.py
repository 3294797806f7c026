# SPDX-License-Identifier: Apache-2.0
"""What somebody should know of waivers: which do nothing, and which soon will."""

from collections.abc import Collection, Iterator
from datetime import timedelta

from scrub.app.gating.standing import Standings

SOON = timedelta(days=14)


def waiver_notes(standings: Standings, tables: Collection[str]) -> Iterator[str]:
    """A line for each waiver that has ended, ends soon, is exceeded, or is about nothing.

    A waiver of a table that is not among those of the run may well be about something.
    """
    grounds = standings.tally.grounds
    has_all = set(grounds.definitions) <= set(tables)
    for waiver in grounds.waivers:
        place = f"{grounds.waivers_file}:{waiver.line}: the waiver by {waiver.by}"
        left = waiver.until - grounds.today
        if standings.is_expired(waiver):
            yield f"{place} expired on {waiver.until} and waives nothing; renew or remove it"
        elif left <= SOON:
            days = f"in {left.days} days" if left.days > 1 else ("tomorrow", "today")[not left.days]
            yield f"{place} ends {days}, on {waiver.until}"
        covered = standings.covered[waiver]
        if (other := standings.tally.passed_by.get(waiver)) is not None:
            yield f"{place} is not of what is wrong there now, which is content: {other}"
        elif (content := standings.tally.vague.get(waiver)) is not None:
            yield (
                f"{place} covers whatever is wrong there; to cover only what is wrong now, add "
                f"content: {content}"
            )
        elif not covered and (waiver.table in tables or (waiver.table is None and has_all)):
            yield f"{place} matches no defect; remove it if it is not needed any more"
        elif standings.is_too_many(waiver):
            yield (
                f"{place} is about {covered:,} defects, more than its at_most: {waiver.at_most}, "
                "so it waives none"
            )
