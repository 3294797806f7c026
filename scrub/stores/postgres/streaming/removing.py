# SPDX-License-Identifier: Apache-2.0
"""Removing a stream with everything that it made, and nothing else.

The record goes last, so that what is left of an interrupted removal is removed by the next one.
"""

import time
import uuid

import psycopg

from scrub.errors import StoreUnavailable
from scrub.model.stream.requests import Phase
from scrub.stores.postgres.changes.slots import drop_publication, drop_slot
from scrub.stores.postgres.streaming.index_tables import drop_index_table
from scrub.stores.postgres.streaming.opening import PostgresStream
from scrub.stores.postgres.streaming.streams import Stream

_POLL_SECONDS = 0.1


def take_over_to_remove(of: PostgresStream, stream: Stream, patience_seconds: float) -> None:
    """Sign the stream, so that whoever runs it writes nothing more, and wait until it ends."""
    runner = uuid.uuid4().hex
    of.streams.change(of.sink, stream.id, runner=runner, phase=Phase.DROPPING)
    of.hold(patience_seconds)


def remove(of: PostgresStream, stream: Stream, patience_seconds: float) -> None:
    """Everything that the stream made; what is gone already is passed over."""
    _drop_slot(of, stream, patience_seconds)
    if stream.made_publication:
        drop_publication(of.source, stream.publication)
    with of.sink.transaction():
        for number in stream.relations:
            drop_index_table(of.sink, number)
        of.streams.remove(of.sink, stream.id)


def _drop_slot(of: PostgresStream, stream: Stream, patience_seconds: float) -> None:
    """The server notices only a moment later that nobody reads the slot any more."""
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            drop_slot(of.source, stream.slot)
            return
        except psycopg.errors.ObjectInUse as error:
            if time.monotonic() > deadline:
                raise StoreUnavailable(
                    f"the slot {stream.slot} is still read by somebody",
                    hint="end that process, and drop the stream again",
                ) from error
            time.sleep(_POLL_SECONDS)
