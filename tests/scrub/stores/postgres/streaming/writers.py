# SPDX-License-Identifier: Apache-2.0
"""Writers of the table `orders`: insertions, updates, key changes, deletions, now and then all."""

import random
import threading
from typing import Any

import psycopg

from tests.postgres_server import Database

CREATE = """
    CREATE TABLE public.orders (id int PRIMARY KEY, customer int, note text, at timestamptz);
    ALTER TABLE public.orders ALTER note SET STORAGE EXTERNAL;
    INSERT INTO public.orders
    SELECT n * 2, n %% 50, repeat('n' || n, 1 + n %% 3 * 700), now() FROM generate_series(1, %s) n;
    ANALYZE public.orders
"""
SHOWN = "SELECT id, customer, md5(note), length(note) FROM public.{}"


class Writers:
    """Threads that write until they are stopped. No transaction of theirs may fail."""

    def __init__(self, database: Database, keys: int, seed: int, number: int = 4) -> None:
        self.written = 0
        self.failures: list[BaseException] = []
        self._database = database
        self._keys = keys
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._write, args=(random.Random(f"{seed} {n}"),))
            for n in range(number)
        ]

    def __enter__(self) -> "Writers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        assert not self.failures, self.failures

    def _write(self, rng: random.Random) -> None:
        try:
            with self._database.connect() as connection:
                while not self._stopping.is_set():
                    self._transaction(connection, rng)
                    self.written += 1
        except psycopg.Error as error:
            self.failures.append(error)

    def _transaction(self, connection: Any, rng: random.Random) -> None:
        # Rows in one order, so that writers never wait for one another in a circle.
        keys = sorted(rng.sample(range(self._keys), rng.choice((1, 1, 2, 4))))
        with connection.transaction(force_rollback=rng.random() < 0.05):
            for key in keys:
                connection.execute(*self._statement(rng, key))

    def _statement(self, rng: random.Random, key: int) -> tuple[str, tuple[Any, ...]]:
        customer = rng.randrange(50)
        match rng.choice(("put", "put", "customer", "note", "delete", "delete", "move")):
            case "put":
                return (
                    "INSERT INTO public.orders VALUES (%s, %s, repeat(%s, 900), now()) "
                    "ON CONFLICT (id) DO UPDATE SET customer = EXCLUDED.customer, "
                    "note = EXCLUDED.note",
                    (key, customer, f"{rng.random():.9f}"),
                )
            case "customer":  # the long note is not sent
                return "UPDATE public.orders SET customer = %s WHERE id = %s", (customer, key)
            case "note":
                return "UPDATE public.orders SET note = %s WHERE id = %s", (f"short {key}", key)
            case "move":  # to a place of its own, so that no key is taken
                return (
                    "UPDATE public.orders SET id = -id WHERE id = %s AND id > 0 "
                    "AND NOT EXISTS (SELECT FROM public.orders WHERE id = -%s::int)",
                    (key, key),
                )
        return "DELETE FROM public.orders WHERE id IN (%s, %s)", (key, -key)


def differences(upstream: Database, sink: Database) -> list[Any]:
    """Rows and entries that the other side does not have."""
    table = {*upstream.rows(SHOWN.format("orders"))}
    entries = {*sink.rows(SHOWN.format("orders__by_customer"))}
    return sorted(map(str, table ^ entries))
