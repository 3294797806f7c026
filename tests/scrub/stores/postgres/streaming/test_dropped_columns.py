# SPDX-License-Identifier: Apache-2.0
"""A column that the index needs is dropped while the stream runs."""

from contextlib import closing

import pytest

from scrub.stores.postgres.changes.decoding import TableChanged
from tests.scrub.stores.postgres.streaming.held_run import two_databases
from tests.scrub.stores.postgres.streaming.joined import Joined, Recipe

ENTRIES = "SELECT id, customer, note FROM public.orders__by_customer ORDER BY id"


def epochs(joined: Joined, number: int) -> None:
    for _ in range(number):
        joined.run.epoch()


@pytest.mark.slow
def test_the_stream_stops_and_writes_no_null_in_its_place() -> None:
    with two_databases() as (upstream, sink):
        upstream.run(
            "CREATE TABLE public.orders (id int PRIMARY KEY, customer int, note text)",
            "INSERT INTO public.orders SELECT n, n, 'n' || n FROM generate_series(1, 3) n",
        )
        with closing(Joined(Recipe(upstream=upstream, sink=sink))) as joined:
            while not joined.run.state.is_read:
                joined.run.epoch()
            before = sink.rows(ENTRIES)
            assert len(before) == 3
            upstream.run(
                "ALTER TABLE public.orders DROP COLUMN note",
                "UPDATE public.orders SET customer = 9 WHERE id = 2",
            )
            with pytest.raises(TableChanged, match="no longer has the column note") as stopped:
                epochs(joined, 100)
            assert stopped.value.exit_code == 3
            assert sink.rows(ENTRIES) == before
        upstream.run(f"SELECT pg_drop_replication_slot('slot_{upstream.name}')")
