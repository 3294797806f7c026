# SPDX-License-Identifier: Apache-2.0
"""An index and its rows in memory: the reference of what a store does for a repair."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from scrub.codec.json_values import to_table
from scrub.model.index_shape import shape_of
from scrub.model.journal import JournalRecord, RunRecord
from scrub.model.repair import Action, ActionOutcome, Entry
from scrub.model.table import Index, Table
from scrub.stores.entry_states import EntryStates, Values, comparable
from scrub.stores.repairing import Applied, changes_of, is_in_order, judge

Row = tuple[int, int, str]  # id, customer_id, status
Held = tuple[int, int, str]  # customer_id, id, status


@dataclass
class MemoryStore:
    """Rows and one index `by_customer` of table `orders`."""

    rows: list[Row]
    entries: list[Held]
    while_waiting: Callable[["MemoryStore"], None] = lambda _: None  # what writers do meanwhile
    recorded: list[RunRecord] = field(default_factory=list)
    changes: list[JournalRecord] = field(default_factory=list)
    batches: list[list[Action]] = field(default_factory=list)  # as they were applied
    batch_actions_max: int = 10

    def begin(self, record: RunRecord) -> None:
        self.recorded.append(record)

    def end(self, run: str) -> None:
        now = datetime.now(UTC)
        self.recorded = [replace(r, finished=now) if r.run == run else r for r in self.recorded]

    def runs(self) -> list[RunRecord]:
        return self.recorded

    def journal(self, run: str) -> list[JournalRecord]:
        return [record for record in self.changes if record.run == run]

    def wait_for_writers(self, table: Table, seconds: float) -> None:  # noqa: ARG002
        self.while_waiting(self)

    def apply(
        self, run: str, table: Table, index: Index, actions: Sequence[Action]
    ) -> list[Applied]:
        self.batches.append(list(actions))
        shape = shape_of(table, index)
        changes = changes_of(shape, [(a.kind, a.before, a.after, 0) for a in actions])
        states = EntryStates.of(shape, self._values(table, index))
        applied = judge(changes, [self._demanded(table, index, a) for a in actions], states)
        held = [one.values for of in states.held.values() for one in of]
        self.entries = [(c, i, s) for c, i, s in held]
        done = [
            (a, r) for a, r in zip(actions, applied, strict=True) if r.outcome is ActionOutcome.DONE
        ]
        self.changes += [_record(run, n, a) for n, (a, _) in enumerate(done)]
        return applied

    def in_order(self, table: Table, index: Index, actions: Sequence[Action]) -> list[bool]:
        shape = shape_of(table, index)
        changes = changes_of(shape, [(a.kind, a.before, a.after, 0) for a in actions])
        found = self._values(table, index)
        return [
            is_in_order(change, self._demanded(table, index, action), found, shape)
            for change, action in zip(changes, actions, strict=True)
        ]

    def _values(self, table: Table, index: Index) -> list[Values]:
        return comparable(to_table(map(entry, self.entries), shape_of(table, index).columns))

    def _demanded(self, table: Table, index: Index, action: Action) -> list[Values]:
        key = (action.primary_key or {})["id"]
        due = [entry((customer, id_, status)) for id_, customer, status in self.rows if id_ == key]
        return comparable(to_table(due, shape_of(table, index).columns))


def entry(held: Held) -> Entry:
    return dict(zip(("customer_id", "id", "status"), held, strict=True))


def _record(run: str, number: int, action: Action) -> JournalRecord:
    same = ("index", "kind", "defect", "primary_key", "before", "after")
    return JournalRecord(run=run, number=number, **{name: getattr(action, name) for name in same})
