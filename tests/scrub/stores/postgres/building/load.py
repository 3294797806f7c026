# SPDX-License-Identifier: Apache-2.0
"""A shop whose orders are written to by pgbench while the real command builds indexes of them.

The command is killed as a user would lose it: the process that was typed, with SIGKILL. What it
started (a JVM, Python workers) is left to notice by itself.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from scrub.model.build import State
from tests.postgres_server import OwnServer, programs

SCRUB = Path(sys.executable).with_name("scrub")
INDEXES = ("by_customer", "by_email")
CLIENTS = 8
QUICK_JVM = (
    "--master=local[2]",
    "--conf=spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
)
"""A JVM that starts sooner and never gets fast: it has little to do, and is killed soon."""

_PLACES = 500
_HOURS = 6 * 3600

# Rows move between places, so between chunks that are done and chunks that are not; ids never
# clash. Whatever a script does succeeds, unless the build is in its way.
_SCRIPTS = {
    "insert": (2, r"""
\set place random(1, :places)
\set customer random(1, 50000)
INSERT INTO orders SELECT :place, n, :customer, CASE WHEN n % 10 > 0 THEN n || '@new.org' END, 'new'
FROM nextval('order_ids') AS n;
"""),
    "update": (4, r"""
\set id random(1, :ids)
\set customer random(1, 50000)
UPDATE orders SET customer_id = :customer, status = 'paid',
    email = CASE WHEN :customer % 10 > 0 THEN nextval('emails') || '@changed.org' END
WHERE id = :id;
"""),
    "move": (2, r"""
\set id random(1, :ids)
\set place random(1, :places)
UPDATE orders SET place = :place WHERE id = :id;
"""),
    "delete": (1, r"""
\set id random(1, :ids)
DELETE FROM orders WHERE id = :id;
"""),
    "both": (1, r"""
\set id random(1, :ids)
\set place random(1, :places)
BEGIN;
UPDATE orders SET email = nextval('emails') || '@both.org' WHERE id = :id;
\sleep 3 ms
UPDATE orders SET place = :place, status = 'sent' WHERE id = :id;
END;
"""),
}  # fmt: skip
_DIFFERENCES = """
    SELECT count(*) FROM orders o FULL JOIN {relation} i ON o.place = i.place AND o.id = i.id
    WHERE o.id IS NULL OR i.id IS NULL OR {differs}
"""
_DIFFERS = {
    "by_customer": "(o.customer_id, o.status) IS DISTINCT FROM (i.customer_id, i.status)",
    "by_email": "o.email IS DISTINCT FROM i.email",
}


@dataclass(slots=True)
class Shop:
    """A server of its own with a table of orders, and the catalog that describes it."""

    server: OwnServer
    directory: Path
    rows: int
    catalog: Path = field(init=False)

    def __post_init__(self) -> None:
        self._fill()
        self.catalog = self._described()

    @property
    def url(self) -> str:
        return self.server.url

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(query).fetchall()

    def progress(self) -> "Progress":
        """How far the latest build has come."""
        return progress_of(self.ask)

    def differences(self) -> int:
        """Between table and indexes, as the server itself finds them."""
        found = 0
        for index, differs in _DIFFERS.items():
            query = _DIFFERENCES.format(relation=f"orders__{index}", differs=differs)
            found += self.ask(query)[0][0]
        return found

    def left_behind(self) -> list[str]:
        """Whatever of an index is there: relations, functions, triggers."""
        rows = self.ask("""
            SELECT relname::text FROM pg_class WHERE relname LIKE 'orders\\_\\_%'
            UNION ALL SELECT proname::text FROM pg_proc WHERE proname LIKE 'orders\\_\\_%'
            UNION ALL SELECT tgname::text FROM pg_trigger WHERE tgname LIKE 'orders\\_\\_%'
        """)
        return [name for (name,) in rows]

    def restart(self) -> None:
        """As after a crash of the machine: nobody is told, nothing is flushed."""
        self.server.crash()
        self.server.start()

    @contextmanager
    def traffic(self, rate: int) -> Iterator["Traffic"]:
        """Eight clients that write; every one of their transactions must succeed."""
        options: list[object] = [
            "-n",
            "-c",
            CLIENTS,
            "-j",
            1,
            "-T",
            _HOURS,
            "-R",
            rate,
            "--verbose-errors",
        ]
        options += ["-D", f"ids={self.rows + self.rows // 10}", "-D", f"places={_PLACES}"]
        for name, (weight, script) in _SCRIPTS.items():
            path = self.directory / f"{name}.sql"
            path.write_text(script)
            options += ["-f", f"{path}@{weight}"]
        command = [str(part) for part in (programs() / "pgbench", *options, self.url)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
            traffic = Traffic(process)
            try:
                yield traffic
            finally:
                traffic.end()

    def command(self, *arguments: str) -> "Command":
        """A command as typed; what it prints goes to a file."""
        return Command([*arguments, "--catalog", str(self.catalog)], self.directory)

    def _fill(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE orders (place int, id bigint, customer_id bigint NOT NULL,"
                " email text, status text, PRIMARY KEY (place, id))"
            )
            connection.execute(
                f"INSERT INTO orders SELECT 1 + i * 7919 % {_PLACES}, i, i * 104729 % 50000,"
                " CASE WHEN i % 10 > 0 THEN i || '@x.org' END, 'open'"
                f" FROM generate_series(1::bigint, {self.rows}) AS i"
            )
            connection.execute("CREATE INDEX ON orders (id)")
            connection.execute(f"CREATE SEQUENCE order_ids START {self.rows + 1} CACHE 20")
            connection.execute("CREATE SEQUENCE emails CACHE 20")
            connection.execute("VACUUM ANALYZE orders")

    def _described(self) -> Path:
        types = {"place": "int", "id": "bigint", "customer_id": "bigint"}
        types |= {"email": "string", "status": "string"}
        table = {
            "store": "shop",
            "columns": {name: {"type": type_} for name, type_ in types.items()},
            "primary_key": ["place", "id"],
            "indexes": {
                "by_customer": {"columns": ["customer_id"], "storing": ["status"]},
                "by_email": {"columns": ["email"], "unique": True},
            },
        }
        stores = {"shop": {"kind": "postgres", "url": self.url}}
        path = self.directory / "scrub.yaml"
        path.write_text(json.dumps({"version": 1, "stores": stores, "tables": {"orders": table}}))
        return path


@contextmanager
def shop(rows: int) -> Iterator[Shop]:
    """A server of its own, gone afterwards: it will be restarted, and others must not notice."""
    with tempfile.TemporaryDirectory(prefix="scrub-load-") as directory:
        server = OwnServer()
        try:
            yield Shop(server, Path(directory), rows)
        finally:
            server.close()


@dataclass(slots=True)
class Traffic:
    """A pgbench at work."""

    process: "subprocess.Popen[str]"
    said: str = ""

    def end(self) -> None:
        """Let it come to its end early: its own alarm clock is a signal."""
        if self.said:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGALRM)
        output, errors = self.process.communicate()
        self.said = output + errors

    def count(self) -> int:
        """How many transactions there were; none may have failed."""
        self.end()
        processed = re.search(r"number of transactions actually processed: (\d+)", self.said)
        failed = re.search(r"number of failed transactions: (\d+)", self.said)
        assert processed, f"pgbench did not come to its end: {self.said}"
        assert failed, f"pgbench did not come to its end: {self.said}"
        assert self.process.returncode == 0, self.said
        assert int(failed[1]) == 0, self.said
        assert "abort" not in self.said, self.said
        assert "ERROR" not in self.said, self.said
        return int(processed[1])


class Command:
    """A `scrub` that was started."""

    def __init__(self, arguments: Sequence[str], directory: Path) -> None:
        self.output = Path(tempfile.mkstemp(dir=directory, suffix=".txt")[1])
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [SCRUB, "backfill", *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | {"SCRUB_STATE_DIR": str(directory)},
            )
        self.began = time.monotonic()

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def said(self) -> str:
        return self.output.read_text()

    def kill(self) -> None:
        """Only the process itself; those it started find out."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self, limit: float = 300) -> int:
        return self.process.wait(timeout=limit)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build has come, as the database remembers it."""

    state: State | None = None
    rows: int = 0
    merged: int = 0
    runner: str | None = None

    def __str__(self) -> str:
        merged = f", {self.merged:,} records merged" if self.merged else ""
        return f"{self.state or 'not begun'}, {self.rows:,} rows loaded{merged}"


def progress_of(ask: Callable[[str], list[tuple[Any, ...]]]) -> Progress:
    if ask("SELECT to_regclass('scrub_builds')")[0][0] is None:
        return Progress()
    rows = ask("""
        SELECT b.state, coalesce(sum(g.rows) FILTER (WHERE g.phase = 'load'), 0)::bigint,
               coalesce(sum(g.rows) FILTER (WHERE g.phase <> 'load'), 0)::bigint, b.runner
        FROM scrub_builds b LEFT JOIN scrub_build_ranges g ON g.build = b.id
        WHERE b.id = (SELECT min(id) FROM scrub_builds WHERE id > (
            SELECT coalesce(max(id), 0) FROM scrub_builds WHERE state = 'reversed'))
        GROUP BY b.id
    """)
    return Progress(State(rows[0][0]), *rows[0][1:]) if rows else Progress()
