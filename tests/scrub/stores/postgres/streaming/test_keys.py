# SPDX-License-Identifier: Apache-2.0
"""Primary keys that are no single integer: where they are read, and where changes belong."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from scrub.model.stream.heard import InOrder
from scrub.model.types import ColumnType, TypeName
from scrub.stores.postgres.changes.lsn import lsn_number
from tests.postgres_server import Database
from tests.scrub.stores.postgres.streaming.held_run import two_databases
from tests.scrub.stores.postgres.streaming.joined import Joined, Recipe

STRING, INT = ColumnType(TypeName.STRING), ColumnType(TypeName.INT)


@pytest.fixture
def databases() -> Iterator[tuple[Database, Database]]:
    with two_databases() as both:
        yield both


def catch_up(joined: Joined, upstream: Database) -> None:
    ((end,),) = upstream.rows("SELECT pg_current_wal_insert_lsn()::text")
    for _ in range(500):
        heard = joined.run.state.heard
        assert isinstance(heard, InOrder)
        if joined.run.state.is_read and heard.marks[""][0] >= lsn_number(end):
            return
        joined.run.epoch()
    raise AssertionError("the stream does not catch up")


def demand_equal(recipe: Recipe) -> None:
    columns = ", ".join(f"{name}::text" for name in recipe.columns)
    entries = recipe.sink.rows(f"SELECT {columns} FROM public.orders__by_customer")
    rows = recipe.upstream.rows(f"SELECT {columns} FROM public.orders")
    assert rows
    assert sorted(entries) == sorted(rows)


@pytest.mark.slow
@pytest.mark.parametrize("collation", ["C", "C.utf8"])
def test_text_of_any_letters(databases: tuple[Database, Database], collation: str) -> None:
    upstream, sink = databases
    keys = ["a", "B", "b", "ä", "Z", "z", "_", "aB", "a b", "Ab", "ß", "ss", "\U0001f600", "\uff9e"]
    upstream.run(
        f'CREATE TABLE public.orders (id text COLLATE "{collation}" PRIMARY KEY, customer int, '
        "note text)"
    )
    with upstream.connect() as connection:
        connection.execute(
            "INSERT INTO public.orders SELECT id, n, 'n' "
            "FROM unnest(%s::text[]) WITH ORDINALITY u(id, n)",
            (keys,),
        )
    types: Any = (STRING,)
    recipe = Recipe(upstream=upstream, sink=sink, key_types=types, rows_max=2, vnodes=1)
    with closing(Joined(recipe)) as joined:
        for number, key in enumerate(keys):
            joined.run.epoch()
            with upstream.connect() as connection:
                change = "UPDATE public.orders SET id = %s, customer = -1 WHERE id = %s"
                connection.execute(change, (keys[number - 1] + "'\\", key))
        catch_up(joined, upstream)
        demand_equal(recipe)
        joined.drop()


@pytest.mark.slow
def test_several_columns(databases: tuple[Database, Database]) -> None:
    upstream, sink = databases
    upstream.run(
        'CREATE TABLE public.orders (shop int, name text COLLATE "C", customer int, '
        "PRIMARY KEY (shop, name))",
        "INSERT INTO public.orders SELECT n % 20, md5(n::text), n FROM generate_series(1, 400) n",
        "ANALYZE public.orders",
    )
    recipe = Recipe(
        upstream=upstream,
        sink=sink,
        key=("shop", "name"),
        key_types=(INT, STRING),
        stored=(),
        rows_max=60,
    )
    with closing(Joined(recipe)) as joined:
        for number in range(6):
            joined.run.epoch()
            upstream.run(
                f"UPDATE public.orders SET shop = shop + 7 WHERE customer % 6 = {number}",
                f"DELETE FROM public.orders WHERE customer % 11 = {number}",
            )
        catch_up(joined, upstream)
        demand_equal(recipe)
        joined.drop()
