# SPDX-License-Identifier: Apache-2.0
"""What a stream would do, in words."""

from collections.abc import Iterator

from scrub.model.stream.requests import StreamRequest
from scrub.stores.postgres.changes.slots import has_publication
from scrub.stores.postgres.streaming.opening import PostgresStream
from scrub.stores.postgres.streaming.streams import Stream
from scrub.stores.postgres.streaming.vnode_bounds import is_slow_to_order


def steps_of(
    stream: PostgresStream, record: Stream | None, request: StreamRequest
) -> tuple[str, ...]:
    """The steps of a run, from the beginning or from where the stream stands."""
    return tuple(_beginning(stream, request) if record is None else _going_on(record, request))


def _beginning(stream: PostgresStream, request: StreamRequest) -> Iterator[str]:
    described = stream.described
    for entry in described.entries:
        yield f"create {entry.relation} ({', '.join(entry.names)})"
    yield f"create {stream.streams.streams} and {stream.streams.vnodes}, for the state"
    if not has_publication(stream.source, stream.feed.publication):
        yield f"create the publication {stream.feed.publication} of {described.table.sql}"
    yield f"create the replication slot {stream.feed.slot}"
    pace = request.rows_per_second
    rate = f"at most {pace:,} rows/s" if pace else "as fast as they go"
    yield f"read the rows in up to {request.vnodes:,} slices, {rate}, and apply changes meanwhile"
    for column in is_slow_to_order(stream.source, described.table):
        yield (
            f"sort the table again for each part that is read: no index has {column} in the order "
            f'of its bytes; CREATE INDEX ON {described.table.sql} (... COLLATE "C") avoids that'
        )
    yield "check every entry at one snapshot of the table, and publish only if all is well"
    yield _afterwards(request)


def _going_on(record: Stream, request: StreamRequest) -> Iterator[str]:
    yield f"go on behind epoch {record.epoch or 0:,} ({record.phase})"
    yield _afterwards(request)


def _afterwards(request: StreamRequest) -> str:
    if request.until_caught_up:
        return "apply changes until all of them are applied"
    return "apply changes until interrupted"
