# SPDX-License-Identifier: Apache-2.0
"""A table, its log, and what its snapshots show, in plain Python."""

from collections.abc import Callable
from dataclasses import dataclass, field

from scrub.model.stream.changes import UNCHANGED, Change, Position
from scrub.model.stream.coverage import Coverage, HistorySnapshot
from scrub.model.stream.keys import Key
from scrub.model.stream.prefix_coverage import PrefixCoverage
from scrub.model.stream.visibility_coverage import VisibilityCoverage

Row = tuple[object, object]
"""A value, and one so long that an update may leave it out."""

Rows = dict[Key, Row]


@dataclass(frozen=True, slots=True)
class Commit:
    number: int
    xid: int
    changes: tuple[Change, ...]


@dataclass(slots=True)
class Upstream:
    """A database of one table.

    With `shows_transactions` it is like PostgreSQL: a commit that is held is in the log, its locks
    are still taken, and no snapshot shows it. Otherwise snapshots show a prefix of the log, the
    one of `version` if that is set: an upstream that lags, or several of which one is asked.
    """

    rows: Rows
    shows_transactions: bool = False
    partitions: int = 1
    version: int | None = None
    log: list[Commit] = field(default_factory=list)
    held: dict[int, Commit] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    next_xid: int = 100
    first_rows: Rows = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.first_rows = dict(self.rows)

    @property
    def coverage(self) -> Coverage:
        return VisibilityCoverage() if self.shows_transactions else PrefixCoverage()

    # What writers do.

    def begin(self) -> int:
        """A transaction that gets its id now and commits later."""
        self.open.add(self.next_xid)
        self.next_xid += 1
        return self.next_xid - 1

    def commit(
        self, *writes: tuple[object, ...], xid: int | None = None, hold: bool = False
    ) -> int:
        """Do what can be done of it; locked rows are left alone."""
        if xid is None:
            xid = self.begin()
        changes: list[Change] = []
        for kind, *arguments in writes:
            for change in self._change(str(kind), *arguments):
                position = (len(self.log) + 1, len(changes) + 1)
                changes.append(_at(change, position, xid))
                apply(self.rows, change)
        self.open.remove(xid)
        if changes:
            commit = Commit(len(self.log) + 1, xid, tuple(changes))
            self.log.append(commit)
            if hold:
                self.held[xid] = commit
        return xid

    def release(self, xid: int | None = None) -> None:
        """Let snapshots see what was held."""
        if xid is None:
            self.held.clear()
        else:
            self.held.pop(xid, None)

    def _change(self, kind: str, k: int = 0, value: object = None) -> list[Change]:
        locked = {key for one in self.held.values() for key in _keys(one)}
        key: Key = (k,)
        if any(change.is_truncate for one in self.held.values() for change in one.changes):
            return []
        if kind == "truncate":
            return [] if self.held else [Change(position=(), is_truncate=True, partition="0")]
        if key in locked or (kind.startswith("move") and (value,) in locked):
            return []
        row = self.rows.get(key)
        of = self.partition_of
        match kind:
            case "put":
                return [self._put(key, (value, f"long {value}"))]
            case "note" if row is not None:
                return [self._put(key, (value, UNCHANGED))]
            case "delete" if row is not None:
                return [Change(position=(), removed=key, partition=of(key))]
            case "move" | "move short" if row is not None and (value,) not in self.rows:
                new: Key = (value,)
                if kind == "move short":
                    row = (row[0], UNCHANGED)
                if of(key) != of(new):
                    row = self.rows[key]  # two changes that know nothing of each other
                    gone = Change(position=(), removed=key, partition=of(key))
                    return [gone, self._put(new, row)]
                return [Change(position=(), removed=key, put=new, values=row, partition=of(key))]
        return []

    def _put(self, key: Key, row: Row) -> Change:
        return Change(position=(), put=key, values=row, partition=self.partition_of(key))

    def partition_of(self, key: Key) -> str:
        return str(key[0] % self.partitions)

    # What readers see.

    def snapshot(self) -> tuple[HistorySnapshot, Rows]:
        if self.shows_transactions:
            return self._of_transactions()
        version = len(self.log) if self.version is None else min(self.version, len(self.log))
        shown = self.log[:version]
        rows = self.rows_where(lambda change: change.position[0] <= version)
        return HistorySnapshot(str(version), self.ends(shown)), rows

    def _of_transactions(self) -> tuple[HistorySnapshot, Rows]:
        hidden = {*self.held, *self.open}
        rows = self.rows_where(lambda change: change.transaction not in hidden)
        return HistorySnapshot(self.token(hidden), self.ends(self.log)), rows

    def token(self, hidden: set[int]) -> str:
        listed = ",".join(map(str, sorted(hidden)))
        return f"{min(hidden, default=self.next_xid)}:{self.next_xid}:{listed}"

    def ends(self, commits: list[Commit]) -> dict[str, Position]:
        """The last position in each partition."""
        return {change.partition: change.position for one in commits for change in one.changes}

    def rows_where(self, is_shown: Callable[[Change], bool]) -> Rows:
        rows = dict(self.first_rows)
        for commit in self.log:
            for change in commit.changes:
                if is_shown(change):
                    apply(rows, change)
        return rows


def apply(rows: Rows, change: Change) -> None:
    if change.is_truncate:
        rows.clear()
    before = rows.pop(change.removed, None) if change.removed is not None else None
    if change.put is not None:
        before = before or rows.get(change.put)
        value, long = change.values
        rows[change.put] = (value, before[1] if long is UNCHANGED and before else long)


def _keys(commit: Commit) -> set[Key]:
    return {
        key for change in commit.changes for key in (change.removed, change.put) if key is not None
    }


def _at(change: Change, position: Position, xid: int) -> Change:
    from dataclasses import replace

    return replace(change, position=position, transaction=xid)
