# SPDX-License-Identifier: Apache-2.0
"""Building an index in PostgreSQL, beside the server's own INSERT ... SELECT and under traffic."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from pyspark.sql import SparkSession

from benchmarks.answers import demand
from benchmarks.postgres import CLIENTS, PROGRAMS, Shop, shop
from scrub.app.building.verbs import adjust_backfill, backfill_status, drop_index, run_backfill
from scrub.model.backfill import BackfillRequest
from scrub.model.build import Method, State

THROTTLE = 20_000
"""Rows a second at which traffic is measured; the table of results shows it."""

_CHUNK_SECONDS = 0.05  # while there is traffic: nobody waits longer than that for a chunk
_COPIED = "INSERT INTO peer SELECT customer_id, id, status FROM orders ORDER BY customer_id, id"
_TRAFFIC = r"""
\set id random(1, :rows)
\set choice random(1, 3)
\set customer random(1, 100000)
BEGIN;
UPDATE orders SET status = (ARRAY['open', 'paid', 'sent'])[:choice], customer_id = :customer
 WHERE id = :id;
END;
"""


@dataclass(frozen=True, slots=True)
class Site:
    """Orders without any index table, and room for one."""

    shop: Shop

    def request(self, **how: object) -> BackfillRequest:
        return BackfillRequest(
            table="orders",
            indexes=("by_customer",),
            catalog=self.shop.catalog,
            **how,  # type: ignore[arg-type]
        )

    def clear(self) -> None:
        """As before any build; what earlier runs left to be written is written."""
        public = [b for b in backfill_status(self.request()) if b.state is State.PUBLIC]
        if public:
            drop_index(self.request())
        with psycopg.connect(self.shop.url, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS orders__by_customer, peer")
            connection.execute(
                "CREATE TABLE peer (customer_id bigint, id bigint NOT NULL, status text)"
            )
            connection.execute("CREATE UNIQUE INDEX ON peer (customer_id, id) NULLS NOT DISTINCT")
            connection.execute("CHECKPOINT")

    def copy(self) -> None:
        """The same entries into a relation of the same shape, in one sorted statement."""
        with psycopg.connect(self.shop.url, autocommit=True) as connection:
            done = connection.execute(_COPIED)
            demand("entries copied", done.rowcount, self.shop.rows)

    def build(self, spark: SparkSession, method: Method) -> None:
        """From the first trigger to the published index, its check included."""
        (status,) = run_backfill(self.request(method=method), spark=spark).builds
        demand("state of the build", status.state, State.PUBLIC)
        demand("entries built", status.entries, self.shop.rows)

    def p99(self, seconds: int) -> float:
        """Milliseconds that one of a hundred transactions takes longer than."""
        script = self.shop.directory / "writes.sql"
        script.write_text(_TRAFFIC)
        for log in self.shop.directory.glob("latencies*"):
            log.unlink()
        options = ["-n", "-c", CLIENTS, "-j", 1, "-T", seconds, "-D", f"rows={self.shop.rows}"]
        options += ["-l", "--log-prefix", self.shop.directory / "latencies"]
        command = [PROGRAMS / "pgbench", *options, "-f", script, self.shop.url]
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, check=True
        )
        demand("failed transactions", "failed transactions: 0 (" in done.stdout, True)
        return _percentile(self.shop.directory, 0.99)

    def p99_during_a_build(self, spark: SparkSession, method: Method, seconds: int) -> float:
        """The same while a build goes at the throttled pace; it then comes to its end."""
        how = {"rows_per_second": THROTTLE, "chunk_seconds": _CHUNK_SECONDS, "method": method}
        request = self.request(**how)
        codes: list[int] = []
        build = threading.Thread(
            target=lambda: codes.append(run_backfill(request, spark=spark).exit_code)
        )
        build.start()
        while not any(b.state is State.BACKFILLING for b in backfill_status(self.request())):
            pass
        found = self.p99(seconds)
        demand("still building", build.is_alive() or self.shop.rows < THROTTLE * seconds, True)
        if build.is_alive():
            adjust_backfill(self.request(), rows_per_second=None)
        build.join()
        demand("exit code of the build", codes, [0])
        return found


@contextmanager
def site(rows: int) -> Iterator[Site]:
    with shop(rows) as made:
        found = Site(made)
        found.clear()
        yield found


def _percentile(directory: Path, share: float) -> float:
    latencies = sorted(
        int(line.split()[2])
        for log in directory.glob("latencies*")
        for line in log.read_text().splitlines()
    )
    return latencies[int(len(latencies) * share)] / 1000
