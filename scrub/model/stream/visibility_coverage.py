# SPDX-License-Identifier: Apache-2.0
"""Snapshots that show transactions, as PostgreSQL's `pg_current_snapshot()` spells them.

The text is `xmin:xmax:xip,xip,...`: ids below xmin have ended, ids from xmax on have not begun, and
those listed were running. A transaction is visible if none of that hides it. Whether it was rolled
back does not matter here: the stream has no changes of such.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from scrub.model.stream.changes import Change
from scrub.model.stream.coverage import HistorySnapshot, MustCover


@dataclass(frozen=True, slots=True)
class VisibleTransactions:
    """A snapshot of PostgreSQL, read from its text."""

    xmin: int
    xmax: int
    running: frozenset[int]

    def shows(self, transaction: int) -> bool:
        return transaction < self.xmax and transaction not in self.running

    def shows_all_of(self, other: "VisibleTransactions") -> bool:
        """Whether everything that the other one shows is visible here, too."""
        hidden = {xid for xid in self.running if xid < other.xmax}
        if not hidden <= other.running:
            return False
        not_begun_here = range(self.xmax, other.xmax)
        return len(not_begun_here) <= len(other.running) and other.running.issuperset(
            not_begun_here
        )


@lru_cache(maxsize=64)
def parse_snapshot(token: str) -> VisibleTransactions:
    """Of the text of a `pg_snapshot`. Raises ValueError."""
    xmin, xmax, running = token.split(":")
    listed = (int(xid) for xid in running.split(",")) if running else ()
    return VisibleTransactions(int(xmin), int(xmax), frozenset(listed))


class VisibilityCoverage:
    """A snapshot shows a change if it sees the transaction that made it.

    All snapshots must be of one server that is no standby: only then, an id below one snapshot's
    xmin is visible to every later one.
    """

    def covers(self, snapshot: HistorySnapshot, change: Change) -> bool:
        return parse_snapshot(snapshot.token).shows(_transaction_of(change))

    def with_changes(self, must: MustCover, changes: Iterable[Change]) -> MustCover:
        return replace(must, transactions=must.transactions.union(map(_transaction_of, changes)))

    def meets(self, snapshot: HistorySnapshot, must: MustCover) -> bool:
        seen = parse_snapshot(snapshot.token)
        return all(map(seen.shows, must.transactions)) and (
            must.snapshot is None or seen.shows_all_of(parse_snapshot(must.snapshot))
        )

    def settled(self, must: MustCover, snapshot: HistorySnapshot) -> MustCover:
        if not (must.transactions or must.snapshot):
            return must
        xmin = parse_snapshot(snapshot.token).xmin
        left = frozenset(xid for xid in must.transactions if xid >= xmin)
        first = must.snapshot
        if first is not None and parse_snapshot(first).xmax <= xmin:
            first = None
        if len(left) == len(must.transactions) and first == must.snapshot:
            return must
        return MustCover(transactions=left, snapshot=first)


def _transaction_of(change: Change) -> int:
    if change.transaction is None:
        raise ValueError(f"the change at {change.position} names no transaction")
    return change.transaction
