# SPDX-License-Identifier: Apache-2.0
"""A shop whose orders are written to while the real command streams indexes of them."""

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from scrub.model.stream.requests import StreamRequest
from tests.postgres_server import Database

SCRUB = Path(sys.executable).with_name("scrub")
INDEXES = ("by_customer", "open_orders")
PATIENCE_SECONDS = 30.0
_CREATE = (
    "CREATE TABLE public.orders (id bigint PRIMARY KEY, customer int, status text, note text)",
    "ALTER TABLE public.orders ALTER COLUMN note SET STORAGE EXTERNAL",
)
_STATUSES = ("open", "paid", "sent")
_CATALOG = """\
version: 1
stores:
  shop: {kind: postgres, url: URL_OF_SHOP}
  beside: {kind: postgres, url: URL_BESIDE}
tables:
  orders:
    store: shop
    changes: {kind: postgres, slot: SLOT}
    columns:
      id: {type: bigint, nullable: false}
      customer: {type: int}
      status: {type: string}
      note: {type: string}
    primary_key: [id]
    indexes:
      by_customer: {columns: [customer], storing: [status, note], store: SINK}
      open_orders:
        {columns: [status], where: "status = 'open'", storing: [customer], store: SINK}
      unlike: {columns: [note], store: SINK}
"""


@dataclass
class Shop:
    """The database of the orders, that of the indexes, and a catalog of both."""

    database: Database
    sink: Database
    directory: Path
    rows: int = 2_000
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.database.run(
            *_CREATE,
            "INSERT INTO public.orders SELECT n, n % 97, "
            "(ARRAY['open', 'paid', 'sent'])[1 + n % 3], repeat(n::text, 3) "
            f"FROM generate_series(1, {self.rows}) AS n",
            "ANALYZE public.orders",
        )
        text = _CATALOG.replace("URL_OF_SHOP", json.dumps(self.database.url.strip()))
        text = text.replace("URL_BESIDE", json.dumps(self.sink.url))
        text = text.replace("SINK", "shop" if self.sink is self.database else "beside")
        self.catalog.write_text(text.replace("SLOT", f"slot_{self.database.name}"))

    @property
    def catalog(self) -> Path:
        return self.directory / "scrub.yaml"

    def request(self, *indexes: str, **given: Any) -> StreamRequest:
        return StreamRequest(
            table="orders",
            indexes=indexes or INDEXES,
            catalog=self.catalog,
            **{"epoch_seconds": 0.05, "vnodes": 16, "wait_limit": 20.0, **given},
        )

    # Commands

    def command(self, *words: str) -> list[str]:
        return [str(SCRUB), "stream", *words, "--catalog", str(self.catalog)]

    def scrub(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words), capture_output=True, text=True, timeout=120, check=False
        )

    @contextmanager
    def running(self, *more: str) -> Iterator[subprocess.Popen[str]]:
        """The command that keeps the indexes current, until it is killed or ends."""
        words = ("run", "orders", *INDEXES, "--execute", "--epoch-seconds", "0.05", *more)
        process = subprocess.Popen(
            self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.communicate()

    # What the databases have

    def differences(self) -> dict[str, tuple[int, int]]:
        """How many entries of each index are missing and how many are left over; none if none."""
        wanted = {
            "by_customer": "SELECT customer, id, status, note FROM public.orders",
            "open_orders": "SELECT status, id, customer FROM public.orders WHERE status = 'open'",
        }
        names = {
            "by_customer": "customer, id, status, note",
            "open_orders": "status, id, customer",
        }
        found = {}
        for index, query in wanted.items():
            rows = set(self.database.rows(query))
            entries = set(self.sink.rows(f"SELECT {names[index]} FROM public.orders__{index}"))
            if rows != entries:
                found[index] = (len(rows - entries), len(entries - rows))
        return found

    def slot(self) -> list[tuple[Any, ...]]:
        return self.database.rows(
            "SELECT slot_name, active FROM pg_replication_slots "
            f"WHERE slot_name = 'slot_{self.database.name}'"
        )

    def drop_slot(self) -> None:
        """A slot belongs to the server, and would be in the way of dropping the database."""
        until(lambda: not any(active for _, active in self.slot()))
        if self.slot():
            self.database.run(f"SELECT pg_drop_replication_slot('slot_{self.database.name}')")

    # Writers

    @contextmanager
    def written_to(self, writers: int = 4, seed: int = 0) -> Iterator[None]:
        """Insertions, updates of indexed columns, key changes and deletions, all the time."""
        ended = threading.Event()
        threads = [
            threading.Thread(target=self._write, args=(random.Random(f"{seed} {n}"), n, ended))
            for n in range(writers)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join()

    def _write(self, random_: random.Random, number: int, ended: threading.Event) -> None:
        with self.database.connect() as connection:
            new = 0
            while not ended.wait(random_.random() * 0.02):
                new += 1
                try:
                    self._write_once(connection, random_, 1_000_000 * (number + 1) + new)
                except psycopg.Error as error:
                    self.failures.append(str(error))

    def _write_once(self, connection: Any, random_: random.Random, new: int) -> None:
        known = random_.randint(1, self.rows)
        status, customer = random_.choice(_STATUSES), random_.randrange(97)
        with connection.transaction():
            for _ in range(random_.randint(1, 3)):
                self._statement(connection, random_, known, new, status, customer)
                known, new = random_.randint(known, self.rows), -new

    def _statement(
        self, connection: Any, random_: random.Random, known: int, new: int, status: str, of: int
    ) -> None:
        kind = random_.random()
        if kind < 0.3:
            connection.execute(
                "INSERT INTO public.orders VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
                (new, of, status, "x" * random_.choice([1, 5_000])),
            )
        elif kind < 0.7:
            connection.execute(
                "UPDATE public.orders SET customer = %s, status = %s WHERE id = %s",
                (of, status, known),
            )
        elif kind < 0.85:
            connection.execute(
                "UPDATE public.orders SET id = %s WHERE id = %s "
                "AND NOT EXISTS (SELECT FROM public.orders WHERE id = %s)",
                (new, known, new),
            )
        else:
            connection.execute("DELETE FROM public.orders WHERE id = %s", (known,))


def until(is_so: Any, seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.05)


def phase_of(shop: Shop) -> str:
    """As `status` says it, from another process."""
    found = shop.scrub("status", "orders", "--format", "json")
    return str(json.loads(found.stdout)["stream"]["phase"]) if found.returncode == 0 else ""
