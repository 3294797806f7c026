# SPDX-License-Identifier: Apache-2.0
"""A build in memory: the rules of the real one, and nothing of its machinery.

A statement happens at once. What is not atomic in a database comes apart here too: a chunk is
scanned in one step and put in another, rows of the slow path are listed before they are locked, and
records of a merge before they are copied. Each rule can be taken away, to see that it is needed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from scrub.model.build import DUTIES, Duties, Duty, Method, State
from scrub.stores.building import LOAD, Blocker, Clash, Step

Value = int | None
Key = tuple[Value, ...]
INDEX = "by_v"


class Row(NamedTuple):
    """A row of the table: its primary key and the indexed value."""

    k: int
    v: Value


class Change(NamedTuple):
    """What a statement does to one row."""

    old: Row | None
    new: Row | None


@dataclass(slots=True)
class Entry:
    """An entry or a tombstone; in a temporary index, with the number of its record."""

    owner: int
    deleted: bool
    number: int = 0


@dataclass(slots=True)
class Range:
    """A stretch of primary keys, or of records' numbers; `position` and all before it is done."""

    position: int
    upper: int
    done: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows of a range, as they were when they were read."""

    number: int
    limit: int
    rows: tuple[Row, ...]
    slow: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Records to merge, and what they said when they were listed."""

    limit: int
    records: tuple[tuple[int, Key, int, bool], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What makes a build right; the real one has all of it."""

    duties: Mapping[Method, Mapping[State, Duties]] = field(default_factory=lambda: DUTIES)
    waits_for_writers: bool = True
    fast_path_fails_on_tombstones: bool = True
    slow_path_reads_again: bool = True
    position_stays_with_listed_rows: bool = True
    deletes_are_conditional_on_owner: bool = True
    displaced_owners_are_recorded: bool = True
    merge_suspects_whom_it_overwrites: bool = True
    records_are_locked_first: bool = True
    late_puts_remove_recorded_deletes: bool = True
    truncate_is_followed: bool = True
    publication_looks_again: bool = True


class Refused(Exception):
    """A public unique index forbids what a statement would do."""


FIRST, LAST = -(10**9), 10**9


@dataclass(slots=True)
class ModelBuild:
    """One index, on v, of a table of k and v; unique or not, built by either method."""

    method: Method
    unique: bool
    rules: Rules = field(default_factory=Rules)
    state: State = State.DELETE_ONLY
    failure: str | None = None
    rows: dict[int, Value] = field(default_factory=dict)
    index: dict[Key, Entry] = field(default_factory=dict)
    temporary: dict[Key, Entry] = field(default_factory=dict)
    suspects: set[int] = field(default_factory=set)
    ranges: dict[str, list[Range]] = field(default_factory=dict)
    last_number: int = 0
    writing: dict[int, Duties] = field(default_factory=dict)  # by transaction, as it began
    transactions: int = 0
    slow_chunks: int = 0

    # What writers do.

    @property
    def duties(self) -> Duties:
        return self.rules.duties[self.method].get(self.state, Duties(Duty.NOTHING))

    def begin_writing(self) -> int:
        """A transaction that goes on in the present state until it is ended."""
        self.transactions += 1
        self.writing[self.transactions] = self.duties
        return self.transactions

    def end_writing(self, transaction: int) -> None:
        del self.writing[transaction]

    def write(self, changes: Sequence[Change], transaction: int | None = None) -> None:
        """One statement: all rows are changed, then the triggers are called for each in turn."""
        duties = self.duties if transaction is None else self.writing[transaction]
        before = self._saved() if duties.index is Duty.ENFORCE else None
        for change in changes:
            if change.old is not None:
                del self.rows[change.old.k]
        for change in changes:
            if change.new is not None:
                self.rows[change.new.k] = change.new.v
        try:
            for change in changes:
                self._keep(change, duties)
        except Refused:
            assert before is not None, "nothing is refused before an index is public"
            self._restore(before)
            raise

    def truncate(self) -> None:
        self.rows.clear()
        if self.rules.truncate_is_followed:
            self.index.clear()
            if self.duties.temporary is not Duty.NOTHING:
                self.temporary.clear()

    def _keep(self, change: Change, duties: Duties) -> None:
        places = ((self.temporary, duties.temporary), (self.index, duties.index))
        if change.old is not None:
            for place, duty in places:
                self._delete(place, duty, change.old)
        if change.new is not None:
            for place, duty in places:
                self._put(place, duty, change.new)

    def key(self, row: Row) -> Key:
        """The value, with the row's own key where two rows may have the same."""
        return (row.v,) if self.unique and row.v is not None else (row.v, row.k)

    def _delete(self, place: dict[Key, Entry], duty: Duty, row: Row) -> None:
        if duty is Duty.NOTHING:
            return
        key = self.key(row)
        found = place.get(key)
        is_own = found is not None and (
            found.owner == row.k or not self.rules.deletes_are_conditional_on_owner
        )
        if duty in (Duty.DELETE, Duty.PUT_AND_DELETE, Duty.ENFORCE):
            if is_own:
                del place[key]
        elif found is None:
            place[key] = Entry(row.k, True, self._next_number(place))
        elif is_own:
            found.deleted = True

    def _put(self, place: dict[Key, Entry], duty: Duty, row: Row) -> None:
        if duty is Duty.DELETE and self.rules.late_puts_remove_recorded_deletes:
            self._delete(place, duty, row)
        if duty in (Duty.NOTHING, Duty.DELETE, Duty.TOMBSTONE):
            return
        key = self.key(row)
        found = place.get(key)
        if found is None:
            place[key] = Entry(row.k, False, self._next_number(place))
            return
        if not found.deleted and found.owner != row.k:
            if duty is Duty.ENFORCE and self.rows.get(found.owner, FIRST) == row.v:
                raise Refused
            if self.rules.displaced_owners_are_recorded:
                self.suspects.add(found.owner)
        found.owner, found.deleted = row.k, False

    def _next_number(self, place: dict[Key, Entry]) -> int:
        if place is self.temporary:
            self.last_number += 1
        return self.last_number

    # What the builder does.

    @property
    def paused(self) -> bool:
        return False

    @property
    def rows_per_second(self) -> int | None:
        return None

    @property
    def indexes(self) -> Sequence[str]:
        return (INDEX,)

    def advance(self, state: State, failure: str | None = None) -> None:
        self.state, self.failure = state, failure

    def blockers(self) -> Sequence[Blocker]:
        if not self.rules.waits_for_writers:
            return []
        return [
            Blocker(identity=str(number), description=f"transaction {number}")
            for number, duties in self.writing.items()
            if duties != self.duties
        ]

    def plan_load(self, ranges: int) -> None:
        keys = sorted(self.rows)
        size = len(keys) // ranges
        borders = [keys[n * size] for n in range(1, ranges)] if size else []
        self._plan(LOAD, [FIRST, *borders, LAST])

    def plan_merge(self) -> None:
        self._plan(INDEX, [0, self.last_number])

    def _plan(self, phase: str, borders: Sequence[int]) -> None:
        if phase not in self.ranges:
            self.ranges[phase] = [Range(lower, upper) for lower, upper in pairwise(borders)]

    def unfinished(self, phase: str) -> list[int]:
        return [n for n, of in enumerate(self.ranges[phase]) if not of.done]

    def claim(self, phase: str, number: int) -> bool:
        return not self.ranges[phase][number].done

    def release(self, phase: str, number: int) -> None:
        """Claims are not kept: nobody else is here."""

    def load_step(self, number: int, rows: int) -> Step:
        step = self.put(self.scan(number, rows))
        return self.put_slowly(self.list_slowly(number, rows)) if step is None else step

    def scan(self, number: int, rows: int) -> Chunk:
        return Chunk(number, rows, self._next_rows(number, rows))

    def _next_rows(self, number: int, rows: int) -> tuple[Row, ...]:
        of = self.ranges[LOAD][number]
        keys = sorted(k for k in self.rows if of.position < k <= of.upper)
        return tuple(Row(k, self.rows[k]) for k in keys[:rows])

    def put(self, chunk: Chunk, only: int | None = None) -> Step | None:
        """The fast path; None if some entry found no place, and then the slow one must follow.

        With `only`, so many entries are put, as by a worker that dies in the middle.
        """
        is_whole = True
        for row in chunk.rows[:only]:
            found = self.index.get(self.key(row))
            strict = self.rules.fast_path_fails_on_tombstones or self.method is Method.MERGE
            if found is None or (found.deleted and not strict):
                self.index[self.key(row)] = Entry(row.k, False)
            elif found.deleted or found.owner != row.k:
                is_whole = False
                if self.method is Method.MERGE and self.unique:
                    self.suspects.add(row.k)
        if only is not None or not (is_whole or self.method is Method.MERGE):
            return None
        return self._loaded(chunk, chunk.rows)

    def list_slowly(self, number: int, rows: int) -> Chunk:
        """Which rows the slow path is about."""
        self.slow_chunks += 1
        return Chunk(number, rows, self._next_rows(number, rows), slow=True)

    def put_slowly(self, chunk: Chunk) -> Step:
        """The rows as they are now, under lock."""
        rows = chunk.rows
        if self.rules.slow_path_reads_again:
            rows = tuple(Row(row.k, self.rows[row.k]) for row in rows if row.k in self.rows)
        before = self._saved()
        clashes = tuple(clash for row in rows if (clash := self._init_put(row)) is not None)
        if clashes:
            self._restore(before)
            return Step(rows=0, slow=True, clashes=clashes)
        if not self.rules.position_stays_with_listed_rows:
            of = self.ranges[LOAD][chunk.number]
            moved = [Row(k, v) for k, v in self.rows.items() if of.position < k <= of.upper]
            gone = len(chunk.rows) - len(rows)
            return self._loaded(chunk, (*chunk.rows, *sorted(moved)[-gone:]) if gone else rows)
        return self._loaded(chunk, chunk.rows)

    def _init_put(self, row: Row) -> Clash | None:
        """Where nothing is, or a tombstone, or the same; else whose place it is."""
        key = self.key(row)
        found = self.index.get(key)
        if found is None or found.deleted:
            self.index[key] = Entry(row.k, False)
        elif found.owner != row.k:
            return Clash(index=INDEX, key={"v": row.v}, row={"k": row.k}, owner={"k": found.owner})
        return None

    def _loaded(self, chunk: Chunk, rows: Sequence[Row]) -> Step:
        of = self.ranges[LOAD][chunk.number]
        if rows:
            of.position = max(row.k for row in rows)
        of.done = len(rows) < chunk.limit
        return Step(rows=len(rows), entries=len(rows), slow=chunk.slow, finished=of.done)

    def merge_step(self, index: str, number: int, rows: int) -> Step:  # noqa: ARG002 (there is one)
        return self.copy(self.list_records(rows))

    def list_records(self, rows: int) -> Batch:
        (of,) = self.ranges[INDEX]
        found = sorted(
            (entry.number, key, entry.owner, entry.deleted)
            for key, entry in self.temporary.items()
            if of.position < entry.number <= of.upper
        )
        return Batch(rows, tuple(found[:rows]))

    def copy(self, batch: Batch) -> Step:
        (of,) = self.ranges[INDEX]
        for number, key, listed_owner, listed_deletion in batch.records:
            owner, deleted = listed_owner, listed_deletion
            if self.rules.records_are_locked_first:
                record = self.temporary[key]  # never gone: deletions are preserved
                assert record.number == number
                owner, deleted = record.owner, record.deleted
            found = self.index.get(key)
            is_displaced = found is not None and not found.deleted and found.owner != owner
            if found is not None and is_displaced and self.rules.merge_suspects_whom_it_overwrites:
                self.suspects.add(found.owner)
            self.index[key] = Entry(owner, deleted)
        if batch.records:
            of.position = batch.records[-1][0]
        of.done = len(batch.records) < batch.limit
        return Step(rows=len(batch.records), entries=len(batch.records), finished=of.done)

    def clear_step(self, rows: int) -> Step:
        gone = [key for key, entry in self.index.items() if entry.deleted][:rows]
        for key in gone:
            del self.index[key]
        return Step(rows=len(gone), finished=not gone)

    def verify_step(self, rows: int) -> Step:
        before = self._saved()
        taken = sorted(self.suspects)[:rows]
        self.suspects.difference_update(taken)
        present = [Row(k, self.rows[k]) for k in taken if k in self.rows]
        clashes = tuple(clash for row in present if (clash := self._init_put(row)) is not None)
        if clashes:
            self._restore(before)
        return Step(rows=len(taken), finished=not taken, clashes=clashes)

    def publish(self) -> Sequence[Clash]:
        before = self._saved()
        self.clear_step(LAST)
        if self.rules.publication_looks_again:
            clashes = self.verify_step(LAST).clashes
            if clashes:
                self._restore(before)
                return clashes
        self.state = State.PUBLIC
        self.temporary.clear()
        return ()

    def reverse(self) -> None:
        self.index.clear()
        self.temporary.clear()
        self.suspects.clear()
        self.state = State.REVERSED

    def close(self) -> None:
        """There is no session."""

    # What is true.

    def entries(self) -> set[Row]:
        """What the index says of rows."""
        return {Row(entry.owner, key[0]) for key, entry in self.index.items() if not entry.deleted}

    def expected(self) -> set[Row]:
        return {Row(k, v) for k, v in self.rows.items()}

    def _saved(self) -> tuple[dict[int, Value], dict[Key, Entry], set[int]]:
        index = {key: Entry(e.owner, e.deleted, e.number) for key, e in self.index.items()}
        return dict(self.rows), index, set(self.suspects)

    def _restore(self, saved: tuple[dict[int, Value], dict[Key, Entry], set[int]]) -> None:
        rows, self.index, self.suspects = saved
        # The dictionary itself is the caller's table.
        self.rows.clear()
        self.rows.update(rows)
