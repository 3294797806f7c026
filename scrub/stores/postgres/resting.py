# SPDX-License-Identifier: Apache-2.0
"""Statements that leave the server to others: they rest now and then, and end for a pause.

One statement reads all rows of a relation, and nobody outside can slow it down. So a condition that
is always true puts the server to sleep at some rows, chosen at random: as often as it takes to keep
to a rate. Afterwards whoever asked waits for what is left, so the rate is kept over the statement.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from scrub import pacing
from scrub.model.relation import RelationFacts
from scrub.stores.postgres.connections import Connection, require_psycopg

_REST_SECONDS = 0.01
_ROWS_BETWEEN_RESTS = 40_000  # on average


def rest(seconds_a_row: float) -> str:
    """A condition that is true of every row, and takes so long on average."""
    seconds = max(_REST_SECONDS, seconds_a_row)
    return (
        "CASE WHEN pg_catalog.random() "
        f"OPERATOR(pg_catalog.<) {seconds_a_row / seconds:.12g}::double precision "
        f"THEN pg_catalog.pg_sleep({seconds:.6g})::pg_catalog.text IS NOT NULL ELSE true END"
    )


_WHILE_OTHERS_WRITE = _REST_SECONDS / _ROWS_BETWEEN_RESTS  # seconds a row


def rest_needed(row_bytes: float, gives_way: bool) -> str | None:
    """How a statement may have to rest: while others write, and to keep to the limits at any time.

    None if it never has to. `row_bytes` is about what a row takes.
    """
    pace = pacing.current()
    seconds = pace.limits.seconds(1, row_bytes) if pace else 0.0
    if gives_way or seconds:
        return rest(max(seconds, _WHILE_OTHERS_WRITE if gives_way else 0.0))
    return None


def must_rest() -> bool:
    """Whether a statement rests whether others write or not."""
    pace = pacing.current()
    return pace is not None and pace.limits.has_rate


@dataclass(slots=True)
class Reading:
    """What a statement reads: about, until somebody has counted it."""

    rows: float
    row_bytes: float

    @classmethod
    def of(cls, *relations: RelationFacts) -> "Reading":
        rows = sum(facts.rows or 0 for facts in relations)
        octets = sum(facts.bytes or 0 for facts in relations)
        return cls(rows, octets / max(rows, 1))


@contextmanager
def paid_afterwards(reading: Reading) -> Iterator[None]:
    """Around a statement: when it has ended, wait until what it read is paid for."""
    pace = pacing.current()
    if pace is None:
        yield
        return
    pace.hold()
    began = pace.clock()
    yield
    pace.passed(began, reading.rows, reading.rows * reading.row_bytes)


def hold_during_a_pause() -> None:
    """Ask nothing as long as there is a pause."""
    if pace := pacing.current():
        pace.hold()


class Paused(Exception):
    """A statement was cancelled for a pause, and must be asked again."""


@contextmanager
def ended_by_a_pause(connection: Connection) -> Iterator[None]:
    """Cancel the statement that runs in the block as soon as there is a pause."""
    pace = pacing.current()
    if pace is None or pace.limits.pause_file is None:
        yield
        return
    ended, paused = threading.Event(), threading.Event()

    def watch() -> None:
        while not ended.wait(pacing.LOOK_SECONDS):
            if pace.is_paused:
                paused.set()
                connection.cancel_safe()
                return

    watcher = threading.Thread(target=watch, name="scrub-pause", daemon=True)
    watcher.start()
    try:
        yield
    except require_psycopg().errors.QueryCanceled as error:
        if paused.is_set():
            raise Paused from error
        raise
    finally:
        ended.set()
        watcher.join()
