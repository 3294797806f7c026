# SPDX-License-Identifier: Apache-2.0
"""A secret is planted wherever one can be given; then everything that is left behind is searched.

Commands run as a process of their own, with Spark's event log on, while the command lines and
environments of all processes are looked at as `ps` would.
"""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from psycopg import conninfo

from reports import FORMATS
from tests.postgres_server import Database

ROOT = Path(__file__).parents[1]
# Not those of another run of these tests, whose processes are looked at too.
HUSH = f"hush{os.getpid()}"
IN_CATALOG = {
    "in-url": f"{HUSH}-url",
    "in-pairs": f"{HUSH}-pairs",
    "ssl": f"{HUSH}-ssl",
    "lake": f"{HUSH}-key",
}
IN_ENVIRONMENT = {"PGPASSWORD": f"{HUSH}-pgpassword", "SHOP_PASSWORD": f"{HUSH}-variable"}
SECRET = re.compile(rf"{HUSH}-[a-z]+".encode())
RELATIONS = ("scrub_runs", "scrub_journal")
PROGRAM = """
import json, sys
planted, commands = json.load(sys.stdin)
exec(planted)
from scrub.cli.main import run
for arguments in commands:
    print(arguments, flush=True)
    try:
        code = run(arguments)
    except SystemExit as stop:
        code = stop.code
    print("exit code", code, flush=True)
"""


@dataclass
class Watch:
    """What other users of the machine see of our processes."""

    leaks: set[str] = field(default_factory=set)
    lines: set[str] = field(default_factory=set)
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def watching(self) -> Iterator[None]:
        thread = threading.Thread(target=self._look, daemon=True)
        thread.start()
        yield
        self._ended.set()
        thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.1):
            for process in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):
                    line = (process / "cmdline").read_bytes()
                    if b"java" in line or b"pyspark" in line:
                        self.lines.add(line.decode(errors="replace"))
                    self._search(process, line)
                    given = (process / "environ").read_bytes()
                    for secret in IN_ENVIRONMENT.values():  # which is where it was put
                        given = given.replace(secret.encode(), b"")
                    self._search(process, given)

    def _search(self, process: Path, text: bytes) -> None:
        self.leaks |= {f"{process}: {found.decode()}" for found in SECRET.findall(text)}


@pytest.fixture
def catalog(database: Database, tmp_path: Path) -> Path:
    """Tables of four stores, each of which is given a secret; every index has a defect."""
    database.run(
        "CREATE TABLE t (id int8 PRIMARY KEY, v text)",
        "INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 200) AS i",
        "CREATE TABLE t__by_v AS SELECT v, id FROM t WHERE id <> 7",
        "CREATE TABLE t__by_id AS SELECT id AS other, id, v FROM t WHERE id = 0",
    )
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "v": ["a", "b"]})
    write_deltalake(tmp_path / "lake" / "t", rows)
    write_deltalake(tmp_path / "lake" / "t__by_v", rows.slice(1))
    parts = {k: str(v) for k, v in conninfo.conninfo_to_dict(database.url).items()}
    place = f"/{parts['dbname']}?host={parts['host']}" + (
        f"&port={parts['port']}" if "port" in parts else ""
    )
    url = f"postgresql://{parts['user']}:{IN_CATALOG['in-url']}@{place}"
    pairs = conninfo.make_conninfo("", **{**parts, "password": IN_CATALOG["in-pairs"]})
    stores = {
        "by_url": {"kind": "postgres", "url": url, "options": {"sslpassword": IN_CATALOG["ssl"]}},
        "by_pairs": {"kind": "postgres", "url": pairs},
        "by_variable": {
            "kind": "postgres",
            "url": f"postgresql://{parts['user']}:${{SHOP_PASSWORD}}@{place}",
        },
        "unreachable": {
            "kind": "postgres",
            "url": f"postgresql://u:{IN_CATALOG['in-url']}@127.0.0.1:1/d",
        },
        "lake": {
            "kind": "delta",
            "path": "./lake",
            "options": {"AWS_SECRET_ACCESS_KEY": IN_CATALOG["lake"]},
        },
    }
    tables = {
        store: {
            "store": store,
            "relation": "t",
            "columns": {"id": {"type": "bigint", "nullable": False}, "v": {"type": "string"}},
            "primary_key": ["id"],
            "indexes": {"by_v": {"columns": ["v"], "relation": "t__by_v"}},
        }
        for store in stores
    }
    path = tmp_path / "scrub.yaml"
    path.write_text(json.dumps({"version": 1, "stores": stores, "tables": tables}))
    return path


def commands(folder: Path, database: Database) -> Iterator[Sequence[str]]:
    parts = conninfo.conninfo_to_dict(database.url)
    pairs = conninfo.make_conninfo("", **{**parts, "password": IN_CATALOG["in-pairs"]})
    yield ["init", pairs, "--catalog", str(folder / "new.yaml")]
    yield ["init", f"host=127.0.0.1 port=1 password={IN_CATALOG['in-pairs']}"]
    yield ["catalog", "show"]
    for style in FORMATS:
        out = ["--format", style, "--output", str(folder / f"report.{style}")]
        yield ["check", "table", "by_url", "unreachable", *out]
        yield ["check", "table", "by_variable", "--format", style]
    yield ["check", "table", "by_url", "--explain", "--format", "json"]
    for failing in (["check", "table"], ["repair", "table"], ["backfill", "status"]):
        yield [*failing, "unreachable"]
    yield ["backfill", "run", "unreachable", "by_v", "--execute"]
    yield ["repair", "table", "by_pairs", "--execute", "--format", "json"]
    yield ["journal", "list"]
    events = [
        *("--conf", "spark.eventLog.enabled=true"),
        *("--conf", f"spark.eventLog.dir={folder / 'events'}"),
        *("--conf", "spark.eventLog.compress=false"),
    ]
    every = ["by_url", "by_pairs", "by_variable", "lake"]
    yield ["check", "table", *every, "--strategy", "fingerprint", "--verbose", "--fresh", *events]
    yield ["repair", "table", "lake", "--execute", "--verbose", *events, "--max-fraction", "1"]


@dataclass(frozen=True)
class Ran:
    """Commands that were run, and what was seen meanwhile."""

    folder: Path
    output: bytes
    watch: Watch

    def leaks(self, catalog: Path, database: Database) -> set[str]:
        """Where a secret is: on the terminal, in a process, in a file or in the database."""
        # The program repeats what it was given; scrub may not.
        said = b"\n".join(line for line in self.output.splitlines() if not line.startswith(b"["))
        found = {f"output: {secret.decode()}" for secret in SECRET.findall(said)}
        found |= self.watch.leaks
        found |= {
            f"file {path.relative_to(self.folder)}"
            for path in self.folder.rglob("*")
            if path.is_file() and path != catalog and SECRET.search(path.read_bytes())
        }
        return found | {f"relation {name}" for name in RELATIONS if in_relation(database, name)}


def in_relation(database: Database, name: str) -> bool:
    if database.rows(f"SELECT to_regclass('{name}')") == [(None,)]:
        return False
    return bool(SECRET.search(str(database.rows(f"SELECT r::text FROM {name} AS r")).encode()))


def ran(folder: Path, commands: Iterable[Sequence[str]], planted: str = "") -> Ran:
    """Run commands in one process of their own, after a line that may plant a leak in it."""
    (folder / "events").mkdir()
    (folder / "state").mkdir()
    watch = Watch()
    # By standard input: an argument would be a command line with a secret, of our own making.
    with watch.watching():
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps([planted, list(commands)]).encode(),
            cwd=folder,
            env=os.environ
            | IN_ENVIRONMENT
            | {
                "PYTHONPATH": str(ROOT),
                "SCRUB_STATE_DIR": str(folder / "state"),
                "SCRUB_IN_PROCESS_BYTES": "0",  # on Spark, more processes see more
            },
            capture_output=True,
            check=True,
        )
    return Ran(folder, done.stdout + done.stderr, watch)


@pytest.mark.spark
@pytest.mark.slow
def test_no_secret_is_left_anywhere(catalog: Path, database: Database, tmp_path: Path) -> None:
    listed = [
        [
            *command,
            *(
                []
                if "--catalog" in command or command[0] == "init"
                else ["--catalog", str(catalog)]
            ),
        ]
        for command in commands(tmp_path, database)
    ]
    done = ran(tmp_path, listed)
    assert done.leaks(catalog, database) == set()
    # All that was searched was there.
    assert any("java" in line for line in done.watch.lines), "no JVM was seen"
    assert any("pyspark" in line and "daemon" in line for line in done.watch.lines)
    assert list((tmp_path / "events").iterdir()), "no event log"
    assert codes_of(done.output) == {0, 1, 2, 3}
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert {f"report.{style}" for style in FORMATS} < left
    assert any(name.startswith("lake/") and "journal" in name for name in left), sorted(left)
    for relation in RELATIONS:
        assert database.rows(f"SELECT 1 FROM {relation}")


@pytest.mark.parametrize(
    ("planted", "leak"),
    [
        ("import scrub.redaction; scrub.redaction.redacted = str", f"output: {HUSH}-url"),
        (f"print('{HUSH}-key')", f"output: {HUSH}-key"),
        (f"open('left.txt', 'w').write('{HUSH}-ssl')", "file left.txt"),
        (
            "import subprocess; subprocess.run([sys.executable, '-c',"
            f" 'import time; time.sleep(1)', '{HUSH}-' + 'pairs'])",
            f"{HUSH}-pairs",
        ),
    ],
    ids=["redaction", "output", "file", "command_line"],
)
def test_a_leak_that_is_planted_is_found(
    planted: str, leak: str, catalog: Path, database: Database, tmp_path: Path
) -> None:
    commands = [["check", "table", f"//u:{IN_CATALOG['in-url']}@h", "--catalog", str(catalog)]]
    found = ran(tmp_path, commands, planted).leaks(catalog, database)
    assert len(found) == 1, found
    assert found.pop().endswith(leak)


def test_a_leak_in_the_database_is_found(catalog: Path, database: Database, tmp_path: Path) -> None:
    database.run(f"CREATE TABLE scrub_journal AS SELECT 'with {HUSH}-url in it' AS note")
    assert Ran(tmp_path, b"", Watch()).leaks(catalog, database) == {"relation scrub_journal"}


def codes_of(out: bytes) -> set[int]:
    return {int(code) for code in re.findall(rb"exit code (\d+)\n", out)}
