# SPDX-License-Identifier: Apache-2.0
"""Which stream a request means: the table, its changes, its indexes, and the databases of both."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from scrub.catalog import Catalog, load_catalog
from scrub.catalog.spelling import did_you_mean
from scrub.errors import StoreUnavailable, UsageError
from scrub.model.command_line import backfill_line, command_line
from scrub.model.stream.requests import StreamRequest
from scrub.model.table import ChangeFeed, Index, Store, Table
from scrub.stores.postgres.connections import require_psycopg, safe_message, server_message
from scrub.stores.postgres.streaming.opening import PostgresStream
from scrub.stores.postgres.streaming.streams import Stream


@contextmanager
def opened(request: StreamRequest) -> Iterator[PostgresStream]:
    """The stream of the indexes that the request names."""
    catalog, table, feed = _table_of(request)
    indexes = _indexes_of(table, request.indexes)
    for index in indexes:
        _demand_postgres(catalog, table, index)
    sinks = {index.store for index in indexes}
    if len(sinks) > 1:
        raise UsageError(
            f"indexes {', '.join(index.name for index in indexes)} of {table.name} are in "
            "different stores, and the entries and the state of a stream are in one",
            hint="choose indexes of one store",
        )
    with _opened(catalog, table, feed, sinks.pop(), indexes) as stream:
        yield stream


@contextmanager
def found(request: StreamRequest) -> Iterator[tuple[PostgresStream, Stream]]:
    """The stream of the table that somebody has begun, of whichever indexes. Refuses if none."""
    catalog, table, feed = _table_of(request)
    for sink in _possible_sinks(catalog, table):
        with _opened(catalog, table, feed, sink, ()) as stream:
            if (record := stream.record()) is not None:
                yield stream, record
                return
    raise UsageError(
        f"table {table.name} has no stream",
        hint="begin one with: "
        + command_line("stream run", table.name, "INDEX", "--execute", catalog=table.catalog),
    )


def described_again(request: StreamRequest, record: Stream) -> StreamRequest:
    """The same request with the indexes that the stream was begun with."""
    from dataclasses import replace

    return replace(request, indexes=record.indexes)


@contextmanager
def _opened(
    catalog: Catalog, table: Table, feed: ChangeFeed, sink: str, indexes: Sequence[Index]
) -> Iterator[PostgresStream]:
    """Errors of the servers become errors of ours."""
    driver = require_psycopg()
    source = _store(catalog, table.store, table)
    with closing(
        PostgresStream(source, _store(catalog, sink, table), table, feed, indexes)
    ) as stream:
        try:
            yield stream
        except driver.errors.InsufficientPrivilege as error:
            raise UsageError(
                f"PostgreSQL: {server_message(error)}",
                hint="connect as the owner of the table with the attribute REPLICATION, who may "
                "create tables in the schema of the index and publications in the database",
            ) from error
        except driver.Error as error:
            reason = safe_message(error, stream.source_conninfo)
            raise StoreUnavailable(f"PostgreSQL: {reason}") from error


def _store(catalog: Catalog, name: str, table: Table) -> Store:
    return catalog.stores[name].in_time_zone(table.time_zone)


def _table_of(request: StreamRequest) -> tuple[Catalog, Table, ChangeFeed]:
    catalog = load_catalog(request.catalog)
    table = catalog.table(request.table)
    if table.changes is None:
        kind = catalog.stores[table.store].kind
        hint = f"add to {request.catalog}, under {table.name}: changes: {{kind: postgres}}"
        if kind != "postgres":
            hint = "a stream reads tables in PostgreSQL"
            if kind == "delta":
                hint += f"; to build an index in Delta: {backfill_line('run', table, 'INDEX')}"
        raise UsageError(f"the catalog does not say where changes of {table.name} are", hint=hint)
    return catalog, table, table.changes


def _indexes_of(table: Table, names: Sequence[str]) -> tuple[Index, ...]:
    known = {index.name: index for index in table.indexes if not index.is_own}
    for name in names:
        if name not in known:
            is_own = any(index.name == name for index in table.indexes)
            raise UsageError(
                f"index {name} of {table.name} is one of the database's own, which it keeps itself"
                if is_own
                else f"the catalog has no index {name} of {table.name}",
                hint=did_you_mean(name, known, "indexes")
                if known
                else f"describe it under `indexes:` of {table.name}",
            )
    return tuple(known[name] for name in dict.fromkeys(names))


def _demand_postgres(catalog: Catalog, table: Table, index: Index) -> None:
    store = catalog.stores[index.store]
    if store.kind != "postgres":
        raise UsageError(
            f"index {index.name} of {table.name} is in store {store.name} of kind {store.kind}, "
            "and a stream writes to PostgreSQL only",
            hint="name a store of kind postgres for the index",
        )


def _possible_sinks(catalog: Catalog, table: Table) -> list[str]:
    stores = dict.fromkeys([*(index.store for index in table.indexes), table.store])
    return [name for name in stores if catalog.stores[name].kind == "postgres"]
