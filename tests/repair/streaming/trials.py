# SPDX-License-Identifier: Apache-2.0
"""Random interleavings of writers, a stream, lags, splits and kills."""

from dataclasses import dataclass, field
from random import Random

from repair.streaming.running import Pace
from scrub.model.stream.state import StreamState
from tests.repair.streaming.model_stream import Difference, ModelStream
from tests.repair.streaming.model_upstream import Upstream

CLASSES = ("ordered prefix", "ordered transactions", "unordered prefix", "unordered transactions")
_KEYS = 12
_STEPS = 22
_MOVES = ("put", "put", "put", "note", "delete", "delete", "move", "move short")


class Killed(Exception):
    """The process is gone."""


@dataclass(slots=True)
class Trial:
    """One interleaving, which its seed and the class of its source determine."""

    seed: int
    source_class: str
    random: Random = field(init=False)
    upstream: Upstream = field(init=False)
    stream: ModelStream = field(init=False)
    is_settling: bool = False
    counter: int = 0
    shown: int = 0  # progress

    def __post_init__(self) -> None:
        self.random = random = Random(f"{self.seed} {self.source_class}")
        is_ordered = self.source_class.startswith("ordered")
        keys = random.sample(range(_KEYS), random.randint(0, _KEYS))
        bounds = sorted(random.sample(range(1, _KEYS), random.randint(0, 3)))
        self.upstream = Upstream(
            {(key,): (f"first {key}", "long") for key in keys},
            shows_transactions=self.source_class.endswith("transactions"),
            partitions=random.choice((1, 1, 2)),
        )
        self.stream = ModelStream(
            self.upstream,
            bounds=[(bound,) for bound in bounds],
            shuffle=None if is_ordered else random,
            moment=self.moment,
            rows_expected=random.choice((0, len(keys), 3 * len(keys))),
            pace=Pace(
                parallel=random.randint(1, 3),
                rows_max=random.randint(1, 4),
                idle_seconds=random.choice((0, 3600)),
            ),
        )

    def run(self) -> None:
        """Raises Difference."""
        for _ in range(self.random.randint(0, 4)):
            self.write()  # before there is a stream
        self.restart()
        for _ in range(_STEPS):
            try:
                self.adjust()
                self.epoch()
            except Killed:
                self.restart()
        self.is_settling = True
        self.stream.settle()
        self.stream.demand_what_is_claimed()
        if differences := self.stream.differences():
            raise Difference(str(differences))

    def epoch(self) -> None:
        ended = self.stream.run.epoch()
        if ended.late:
            raise Difference(f"late, and was not: {ended.late}")

    def restart(self) -> None:
        while True:
            try:
                self.stream.start()
            except Killed:
                continue
            if self.random.random() < 0.5 and self.stream.shuffle is None:
                self.stream.source.open_where_acknowledged()
            return

    def adjust(self) -> None:
        random, stream = self.random, self.stream
        stream.pace.parallel = random.randint(1, 4)
        stream.pace.rows_max = random.choice((0, 1, 1, 2, 4))
        stream.source.deliver = random.choice((0, 1, 2, 5, None))
        stream.source.resend = random.choice((0, 0, 0, 1, 3))
        if random.random() < 0.15:
            stream.run.split((random.randrange(1, _KEYS),))

    def moment(self, where: str) -> None:
        """Anything may happen between any two steps."""
        if where == "committed":
            self.stream.demand_what_is_claimed()
            self.demand_progress(self.stream.sink.state)
        if self.is_settling:
            return
        random = self.random
        if random.random() < 0.04:
            raise Killed
        for _ in range(random.choice((0, 0, 1, 1, 2))):
            self.write()
        if self.upstream.held and random.random() < 0.15:
            self.upstream.release(random.choice(sorted(self.upstream.held)))
        if not self.upstream.shows_transactions and random.random() < 0.3:
            end = len(self.upstream.log)
            self.upstream.version = random.choice((None, random.randint(0, end)))

    def write(self) -> None:
        random, upstream = self.random, self.upstream
        if upstream.shows_transactions and random.random() < 0.1:
            upstream.begin()
        xid = None
        if upstream.open and random.random() < 0.5:
            xid = random.choice(sorted(upstream.open))
        writes = [self.one_write() for _ in range(random.choice((1, 1, 1, 2, 3)))]
        hold = upstream.shows_transactions and random.random() < 0.25
        upstream.commit(*writes, xid=xid, hold=hold)

    def one_write(self) -> tuple[object, ...]:
        random = self.random
        self.counter += 1
        is_ordered = self.stream.shuffle is None
        if is_ordered and self.upstream.partitions == 1 and random.random() < 0.01:
            return ("truncate",)
        kind = random.choice(_MOVES)
        if not is_ordered:  # then rows must be whole
            kind = {"note": "put", "move short": "move"}.get(kind, kind)
        other = random.randrange(_KEYS) if kind.startswith("move") else self.counter
        return kind, random.randrange(_KEYS), other

    def demand_progress(self, state: StreamState | None) -> None:
        assert state is not None
        if not self.shown <= state.progress_shown <= 10_000:
            raise Difference(f"progress goes from {self.shown} to {state.progress_shown}")
        is_read = all(vnode.is_finished for vnode in state.vnodes)
        if state.progress_shown == 10_000 and not is_read:
            raise Difference("progress is whole, and the history is not read")
        self.shown = state.progress_shown
