# SPDX-License-Identifier: Apache-2.0
"""What the journal of a lake and the logs of its indexes say together of a run.

A change is written to the journal before it is committed to the index. That commit carries the
number of the journal's event in the run's name (a transaction of Delta's log), so it is known
exactly whether it came about. The log keeps the last number only. Each event therefore tells the
number before, as the log had it: from the last one back, they name all that were committed. When a
run ends, the numbers are noted, for indexes that are made anew later.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime

from scrub.errors import RelationMismatch, StoreUnavailable
from scrub.model.journal import JournalRecord, RunRecord
from scrub.model.repair import ActionKind
from scrub.stores.delta.holders import LEASE, Holder
from scrub.stores.delta.journal import DeltaJournal, Event, EventKind
from scrub.stores.delta.lake import Lake
from scrub.stores.delta.snapshot import DeltaSnapshot
from scrub.stores.delta.undo import Recorded

_EVENT_CHANGES_MAX = 1_000_000


def repair_mark(run: str) -> str:
    """The application that commits of a run name."""
    return f"scrub-repair:{run}"


def last_committed(snapshot: DeltaSnapshot, run: str) -> int | None:
    """The number of the event that a run's last commit to an index carried."""
    version = snapshot.table.transaction_version(repair_mark(run))
    return None if version is None else int(version)


class DeltaRuns:
    """The runs of one lake."""

    def __init__(self, journal: DeltaJournal, lake: Lake) -> None:
        self.journal = journal
        self.lake = lake

    def begin(self, record: RunRecord, holder: Holder) -> None:
        content = {
            "command": record.command,
            "table": record.table,
            "started": record.started.isoformat(),
            "undoes": record.undoes,
            "holder": asdict(holder),
        }

        def nobody_else(snapshot: DeltaSnapshot) -> None:
            self._demand_nobody_else(snapshot, record.table, holder)

        self.journal.add(record.run, EventKind.BEGIN, [content], nobody_else)

    def end(self, run: str) -> None:
        committed = sorted(self._committed(self.journal.of_run(run)))
        self.journal.add(run, EventKind.END, [{"committed": committed}])

    def runs(self, snapshot: DeltaSnapshot | None = None) -> list[RunRecord]:
        found: dict[str, RunRecord] = {}
        events = self.journal.of_kinds(EventKind.BEGIN, EventKind.END, snapshot=snapshot)
        for event in events:
            before = found.get(event.run)
            if event.kind is EventKind.BEGIN:
                found[event.run] = _record(event, before)
            elif before is not None:
                found[event.run] = replace(before, finished=event.written)
        return sorted(found.values(), key=lambda record: record.started, reverse=True)

    def changes(self, run: str) -> list[Recorded]:
        """What a run did, in order, and by which run it was taken back."""
        events = self.journal.of_run(run)
        committed = self._committed(events)
        undone = self._undone(run)
        return [
            _recorded(event, undone.get(number_of(event)))
            for event in events
            if event.kind is EventKind.REPAIR and event.number in committed
        ]

    def forget(self, before: datetime) -> int:
        gone = [r.run for r in self.runs() if r.finished is not None and r.finished < before]
        self.journal.remove(gone)
        return len(gone)

    def _undone(self, run: str) -> dict[int, str]:
        found: dict[int, str] = {}
        for record in self.runs():
            if record.undoes != run:
                continue
            events = self.journal.of_run(record.run)
            committed = self._committed(events)
            for event in events:
                if event.kind is EventKind.UNDO and event.number in committed:
                    found.setdefault(event.content["number"], record.run)
        return found

    def _committed(self, events: Sequence[Event]) -> set[int]:
        """The numbers of a run's changes that came about."""
        changes = [e for e in events if e.kind in (EventKind.REPAIR, EventKind.UNDO)]
        before = {event.number: event.content["follows"] for event in changes}
        ends = [event for event in events if event.kind is EventKind.END]
        committed = {number for event in ends for number in event.content["committed"]}
        # What changes no entry needs no commit to an index.
        committed |= {e.number for e in changes if e.content["relation"] is None}
        places = {(e.content["store"], e.content["relation"], e.run) for e in changes}
        for store, relation, run in places:
            number = None if relation is None else self._last(store, relation, run)
            while number is not None and number in before:
                committed.add(number)
                number = before[number]
        return committed

    def _last(self, store: str, relation: str, run: str) -> int | None:
        try:
            with self.lake.open(store, relation) as snapshot:
                return last_committed(snapshot, run)
        except RelationMismatch:
            return None  # the index is gone, and what was done to it

    def _demand_nobody_else(self, snapshot: DeltaSnapshot, table: str, holder: Holder) -> None:
        for record in self.runs(snapshot):
            if record.table != table or record.finished is not None:
                continue
            events = self.journal.of_run(record.run, snapshot)
            begin = [event for event in events if event.kind is EventKind.BEGIN][-1]
            other = Holder(**begin.content["holder"])
            if other != holder and other.is_at_work(events[-1].written, datetime.now(UTC)):
                since = begin.written.replace(microsecond=0).isoformat()
                raise StoreUnavailable(
                    f"another repair of table {table} is at work: run {record.run}, {other}, "
                    f"since {since}",
                    hint="wait for it to end, or end that process; one on another machine that "
                    f"gives no sign for {LEASE.seconds // 60} minutes no longer counts",
                )


def number_of(event: Event) -> int:
    """A number that no other change of the lake has, in the order of changes."""
    assert event.position < _EVENT_CHANGES_MAX, "a batch is smaller than that"
    return event.number * _EVENT_CHANGES_MAX + event.position


def _record(begin: Event, before: RunRecord | None) -> RunRecord:
    content = begin.content
    return RunRecord(
        run=begin.run,
        command=content["command"],
        table=content["table"],
        started=before.started if before else datetime.fromisoformat(content["started"]),
        undoes=content["undoes"],
    )


def _recorded(event: Event, undone_by: str | None) -> Recorded:
    content = event.content
    kind, removed = ActionKind(content["kind"]), content["removed"]
    record = JournalRecord(
        run=event.run,
        number=number_of(event),
        index=content["index"],
        kind=kind,
        defect=content["defect"],
        primary_key=content["primary_key"],
        before=content["before"],
        after=content["after"],
        copies=max(0, len(removed) - (kind is not ActionKind.KEEP_ONE)),
        undone_by=undone_by,
    )
    return Recorded(record, event.number, removed, content["left"])
