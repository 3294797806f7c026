# SPDX-License-Identifier: Apache-2.0
"""Beginning a stream: first its index tables and its record, then the change source, then history.

A process that ends in between leaves a record of what it has made or was about to make.
"""

from scrub.errors import UsageError
from scrub.model.stream.keys import Key
from scrub.model.stream.requests import Phase
from scrub.model.stream.state import Start
from scrub.stores.postgres.building.ownership import owner_of
from scrub.stores.postgres.changes.readiness import demand_ready
from scrub.stores.postgres.changes.slots import (
    create_slot,
    drop_slot,
    has_publication,
    publish,
)
from scrub.stores.postgres.connections import PIN_PATH_LOCALLY, only_row
from scrub.stores.postgres.streaming.index_tables import make_index_tables
from scrub.stores.postgres.streaming.opening import PostgresStream
from scrub.stores.postgres.streaming.publications import demand_publishes_all
from scrub.stores.postgres.streaming.streams import Stream
from scrub.stores.postgres.streaming.vnode_bounds import vnode_bounds

_LOCALE = """
    SELECT datcollate, datctype, pg_catalog.pg_encoding_to_char(encoding)
    FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()
"""


def rehearse(of: PostgresStream) -> None:
    """Refuse what `begin` would; nothing is changed."""
    _demand_ready(of)
    with of.sink.transaction(force_rollback=True):
        _make(of)


def begin(of: PostgresStream) -> Stream:
    """Make the index tables, and the record of the stream that says so."""
    _demand_ready(of)
    with of.sink.transaction():
        of.streams.create(of.sink)
        numbers = _make(of)
        made = of.streams.add(
            of.sink,
            table_name=of.table.name,
            indexes=[index.name for index in of.indexes],
            relations=numbers,
            slot=of.feed.slot,
            publication=of.feed.publication,
            made_publication=not has_publication(of.source, of.feed.publication),
            phase=Phase.BEGINNING,
        )
    found = of.streams.get(of.sink, made)
    assert found is not None, "it was made a moment ago"
    return found


def _demand_ready(of: PostgresStream) -> None:
    described = of.described
    demand_ready(of.source, described.table, of.feed.slot)
    if of.slot() is not None:
        raise UsageError(
            f"there is a replication slot {of.feed.slot} already, and no stream of "
            f"{of.table.name} has made it",
            hint="name another slot in the catalog, or drop this one if nobody reads it",
        )
    if has_publication(of.source, of.feed.publication):
        demand_publishes_all(of.source, of.feed.publication, described.table)
    _demand_one_meaning(of)


def _demand_one_meaning(of: PostgresStream) -> None:
    """Expressions must mean the same in the database of the index."""
    computed = [entry for entry in of.described.entries if entry.computed]
    if of.is_one_store or not computed:
        return
    there, here = only_row(of.source, _LOCALE), only_row(of.sink, _LOCALE)
    if tuple(there) != tuple(here):
        raise UsageError(
            f"index {computed[0].index} has expressions, and the databases of table and index "
            f"have different locales: {', '.join(there)} and {', '.join(here)}",
            hint="create the index's database with the locale of the table's",
        )


def _make(of: PostgresStream) -> list[int]:
    described = of.described
    owner = owner_of(of.source, described.table.oid) if of.is_one_store else None
    of.sink.execute(PIN_PATH_LOCALLY)
    return make_index_tables(of.sink, described.carried, described.entries, owner)


def start(of: PostgresStream) -> Start:
    """Open the change source: from here on it keeps what happens.

    A slot of this name was made by a process that did not come as far as the first state.
    """
    publish(of.source, of.feed.publication, of.described.table.sql)
    drop_slot(of.source, of.feed.slot)
    return create_slot(of.source_conninfo, of.feed.slot)


def bounds(of: PostgresStream, vnodes: int) -> tuple[Key, ...]:
    return vnode_bounds(of.source, of.described.table, vnodes, of.rows_expected())
