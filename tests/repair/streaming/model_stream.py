# SPDX-License-Identifier: Apache-2.0
"""A change source, a reader of history and a sink for the model, with places to crash."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

from repair.streaming.beginning import first_state
from repair.streaming.cutting import cut
from repair.streaming.running import Pace, StreamRun
from scrub.model.stream.changes import UNCHANGED, Change, Changes, Position
from scrub.model.stream.coverage import Coverage, HistorySnapshot, MustCover
from scrub.model.stream.epochs import Epoch, Part, Reread, WantedPart
from scrub.model.stream.heard import InOrder, OutOfOrder
from scrub.model.stream.keys import Key
from scrub.model.stream.state import Start, StreamIdentity, StreamState
from scrub.stores.streaming import TakenOver
from tests.repair.streaming.model_upstream import Row, Rows, Upstream

IDENTITY = StreamIdentity(table="t", source="s", index="i")
BLOCK = 4
"""A source without order shuffles so many changes, and may say each of them twice."""
DISORDER = 2 * BLOCK - 1

Moment = Callable[[str], None]
"""Called wherever the world may move on, or a process may be killed; its argument says where."""


class Difference(AssertionError):
    """The output is not what it should be."""


class ModelSource:
    """The log of a model, partition by partition."""

    def __init__(
        self, upstream: Upstream, moment: Moment, *, shuffle: Random | None = None
    ) -> None:
        self.upstream = upstream
        self.coverage: Coverage = upstream.coverage
        self.deliver: int | None = None  # how many changes come next; None: all
        self.resend = 0  # how many come again before them
        self._moment = moment
        self._shuffle = shuffle
        self._delivered: dict[str, list[Change]] = {}
        self._taken = 0  # commits of the log that are in the deliveries
        self._cursors: dict[str, int] = {}
        self._acknowledged: dict[str, int] = {}

    def create(self) -> Start:
        """Begin here: the changes before are reported by nobody."""
        up = self.upstream
        self._take_in()
        self._cursors = {name: len(changes) for name, changes in self._delivered.items()}
        self._acknowledged = dict(self._cursors)
        if up.shows_transactions:
            before = MustCover(snapshot=up.token(up.open))
        else:
            before = MustCover(positions=up.ends(up.log))
        heard = OutOfOrder(DISORDER) if self._shuffle else InOrder(up.ends(up.log))
        return Start(heard=heard, resume=self._resume(), before=before)

    def open(self, resume: str) -> None:
        self._moment("open")
        given = json.loads(resume)
        self._cursors = {
            name: max(given.get(name, 0), self._acknowledged.get(name, 0))
            for name in {*given, *self._acknowledged}
        }

    def open_where_acknowledged(self) -> None:
        """As a server does that was not told where to continue: it says some things again."""
        self._cursors = dict(self._acknowledged)

    def changes(self, limit: int) -> Changes:
        self._moment("changes")
        self._take_in()
        found: list[Change] = []
        room = min(limit, limit if self.deliver is None else self.deliver)
        for name, delivered in self._delivered.items():
            cursor = self._cursors.get(name, 0)
            end = min(len(delivered), cursor + room)
            if self._shuffle is None:
                while 0 < end < len(delivered) and end > cursor and _is_cut(delivered, end):
                    end += 1
            first = max(0, cursor - self.resend) if self._shuffle is None else cursor
            found += delivered[first:end]
            self._cursors[name] = end
        return Changes(changes=tuple(found), resume=self._resume())

    def acknowledge(self, resume: str) -> None:
        self._moment("acknowledge")
        for name, number in json.loads(resume).items():
            self._acknowledged[name] = max(number, self._acknowledged.get(name, 0))

    def say(self, *positions: Position) -> None:
        """Deliver these changes of the log next, in this order."""
        self._taken = len(self.upstream.log)
        changes = {c.position: c for commit in self.upstream.log for c in commit.changes}
        for position in positions:
            self._delivered.setdefault("0", []).append(changes[position])

    @property
    def is_drained(self) -> bool:
        self._take_in()
        return all(self._cursors.get(n, 0) == len(all_) for n, all_ in self._delivered.items())

    def _resume(self) -> str:
        return json.dumps(self._cursors)

    def _take_in(self) -> None:
        new = [c for commit in self.upstream.log[self._taken :] for c in commit.changes]
        self._taken = len(self.upstream.log)
        for name in sorted({change.partition for change in new}):
            own = [change for change in new if change.partition == name]
            delivered = self._delivered.setdefault(name, [])
            if self._shuffle is None:
                delivered += own
            for first in range(0, len(own) if self._shuffle else 0, BLOCK):
                delivered += _shuffled(own[first : first + BLOCK], self._shuffle)


def _is_cut(delivered: Sequence[Change], end: int) -> bool:
    return delivered[end - 1].transaction == delivered[end].transaction


def _shuffled(block: list[Change], random: Random | None) -> list[Change]:
    assert random is not None
    twice = [*block, *(change for change in block if random.random() < 0.3)]
    random.shuffle(twice)
    return twice


@dataclass(slots=True)
class ModelSnapshot:
    snapshot: HistorySnapshot
    rows: Rows
    moment: Moment

    def read(self, wanted: Sequence[WantedPart]) -> list[Part]:
        self.moment("read")
        return [self._part(part) for part in wanted]

    def read_again(self, keys: Sequence[Key]) -> Reread:
        found = [(key, self.rows[key]) for key in keys if key in self.rows]
        return Reread(keys=tuple(keys), rows=len(found), data=found)

    def _part(self, wanted: WantedPart) -> Part:
        behind = sorted(
            key
            for key in self.rows
            if wanted.slice.holds(key) and (wanted.after is None or key > wanted.after)
        )
        read = behind[: wanted.rows_max]
        return Part(
            vnode=wanted.vnode,
            after=wanted.after,
            last=read[-1] if read else None,
            is_end=len(behind) < wanted.rows_max,
            rows=len(read),
            data=[(key, self.rows[key]) for key in read],
        )


@dataclass(slots=True)
class ModelHistory:
    upstream: Upstream
    moment: Moment

    @contextmanager
    def snapshot(self) -> Iterator[ModelSnapshot]:
        self.moment("snapshot")
        snapshot, rows = self.upstream.snapshot()
        self.moment("snapshot taken")
        yield ModelSnapshot(snapshot, rows, self.moment)


@dataclass(slots=True)
class ModelSink:
    """Output and state; `tears` makes them two commits, with a place to crash in between."""

    moment: Moment
    tears: bool = False
    output: Rows = field(default_factory=dict)
    state: StreamState | None = None

    def restore(self) -> StreamState | None:
        self.moment("restore")
        return self.state

    def begin(self, state: StreamState) -> None:
        self.moment("begin")
        self.state = state

    def commit(self, epoch: Epoch) -> None:
        self.moment("commit")
        if self.state is None or self.state.epoch + 1 != epoch.state.epoch:
            raise TakenOver
        self._write(epoch)
        if self.tears:
            self.moment("torn")
        self.state = epoch.state
        self.moment("committed")

    def _write(self, epoch: Epoch) -> None:
        output = self.output
        for part in epoch.writes.parts:
            output.update(part.data)
        for cleared in epoch.writes.cleared:
            for key in [k for k in output if cleared.slice.holds(k) and cleared.stretch.holds(k)]:
                del output[key]
        stored = dict(output)
        for key, put in epoch.writes.changes.items():
            if put is None:
                output.pop(key, None)
            else:
                output[key] = _filled(put.values, stored.get(put.take_from))


def _filled(values: tuple[object, ...], stored: Row | None) -> Row:
    value, long = values
    if long is UNCHANGED:
        if stored is None:
            raise Difference("an update of a row that the output does not have")
        long = stored[1]
    return value, long


@dataclass(slots=True)
class ModelStream:
    """All of it, and processes that run it one after the other."""

    upstream: Upstream
    bounds: Sequence[Key] = ()
    shuffle: Random | None = None
    moment: Moment = lambda _: None
    rows_expected: int = 0
    identity: StreamIdentity = IDENTITY
    source: ModelSource = field(init=False)
    history: ModelHistory = field(init=False)
    sink: ModelSink = field(init=False)
    run: StreamRun = field(init=False)
    pace: Pace = field(default_factory=lambda: Pace(parallel=2, rows_max=4))

    def __post_init__(self) -> None:
        self.source = ModelSource(self.upstream, self.moment, shuffle=self.shuffle)
        self.history = ModelHistory(self.upstream, self.moment)
        self.sink = ModelSink(self.moment)

    def start(self) -> "ModelStream":
        """A new process; whatever the last one held in memory is gone."""
        self.run = StreamRun(
            self.identity,
            self.source,
            self.history,
            self.sink,
            first=self._first,
            pace=self.pace,
        )
        self.run.recover()
        return self

    def _first(self) -> StreamState:
        vnodes = cut(self.bounds, self.rows_expected)
        return first_state(self.identity, vnodes, self.source.create())

    def differences(self) -> dict[Key, tuple[Row | None, Row | None]]:
        """Keys whose entry is not what the table has now, with what is there and what should be."""
        rows, output = self.upstream.rows, self.sink.output
        return {
            key: (output.get(key), rows.get(key))
            for key in sorted({*rows, *output})
            if output.get(key) != rows.get(key)
        }

    def demand_what_is_claimed(self) -> None:
        """Of an ordered source: every passed place shows its position, unless a floor is above."""
        state = self.sink.state
        if state is None or not isinstance(state.heard, InOrder):
            return
        marks = state.heard.marks
        shown = self.upstream.rows_where(
            lambda change: change.position <= marks.get(change.partition, ())
        )
        for key in {*shown, *self.sink.output}:
            vnode = next(vnode for vnode in state.vnodes if vnode.slice.holds(key))
            is_passed = vnode.passed is not None and vnode.passed.holds(key)
            is_passed = is_passed and key not in state.rereads
            if key in state.reread_at or any(f.stretch.holds(key) for f in vnode.floors):
                continue
            expected = shown.get(key) if is_passed else None
            if self.sink.output.get(key) != expected:
                raise Difference(f"{key} at {state.heard.marks}: {self.sink.output.get(key)}")

    def settle(self) -> None:
        """Nobody writes any more: read the rest, and everything there is to hear."""
        self.upstream.release()
        self.upstream.version = None
        self.source.deliver = None
        self.pace.rows_max = max(1, self.pace.rows_max)
        for _ in range(500):
            if self.run.state.is_read and self.source.is_drained:
                return
            self.run.epoch()
        raise Difference("the stream is stuck")
