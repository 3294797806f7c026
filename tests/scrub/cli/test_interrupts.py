# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM, sent to real commands at various moments: no report, and nothing left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest

from reports import FORMATS
from scrub.app.repairing.repair import preview_repair
from scrub.model.defect import DefectKind
from scrub.model.place import IN_PROCESS_BYTES_VARIABLE
from scrub.model.repair import RepairRequest
from scrub.model.result import Status
from tests.builders import delta_lake, entries_of, orders, write_catalog
from tests.postgres_server import Database
from tests.reports.results import a_check, a_defect, a_run, a_table
from tests.scrub.stores.postgres.building.ground import until

_SOON = 15.0
SCRUB = (sys.executable, "-m", "scrub")
INSIDE = """
import os, signal, sys, threading, time
from contextlib import contextmanager
import scrub.cli.check as check
from scrub.cli.main import main

phase, number = sys.argv.pop(1), int(sys.argv.pop(1))

def send():
    from pyspark import SparkContext
    tracker = SparkContext._active_spark_context.statusTracker()
    while not tracker.getActiveJobsIds():
        time.sleep(0.01)
    os.kill(os.getpid(), number)

@contextmanager
def listening():
    sent = []
    def listen(progress):
        if progress.phase == phase and not sent:
            sent.append(True)
            threading.Thread(target=send, daemon=True).start()
    yield listen

check.shown_progress = listening
main()
"""
"""The command itself, which gets a signal as soon as a job runs in a phase."""


SLOW_TASKS = """
import sys, time
import checks.columns.split_sums as split_sums
from scrub.cli.main import main

scan = split_sums._scan_split

running = []

def slow(*given):
    running.append(given)
    if len(running) == 1:
        print("a task runs", file=sys.stderr, flush=True)
    time.sleep(2)
    return scan(*given)

split_sums._scan_split = slow
main()
"""
"""The command itself, with tasks that take a while."""


STARTING = """
import os, signal, sys, threading, time
from contextlib import contextmanager
import scrub.cli.check as check
from scrub.cli.main import main

seconds = float(sys.argv.pop())

def send():
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGINT)

@contextmanager
def listening():
    def listen(progress):
        if progress.phase == "starting Spark":
            threading.Thread(target=send, daemon=True).start()
    yield listen

check.shown_progress = listening
main()
"""
"""The command itself, which gets Ctrl-C so long after it has begun to wait for Spark."""


WAITING = """
import sys
from scrub.pacing import Pace
from scrub.cli.main import main

wait, waited = Pace._wait, []

def told(pace, seconds):
    if not waited:
        print("it waits", file=sys.stderr, flush=True)
    waited.append(seconds)
    wait(pace, seconds)

Pace._wait = told
main()
"""
"""The command itself, which says when it begins to wait."""


class Command:
    """A process, with all that it starts in a session of its own."""

    def __init__(self, *command: str, stdout: int = subprocess.PIPE, **options: Any) -> None:
        self.process = subprocess.Popen(
            command,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **options,
        )

    @property
    def living(self) -> list[psutil.Process]:
        """The processes of its session that do something."""
        found = []
        for process in psutil.process_iter():
            try:
                if os.getsid(process.pid) != self.process.pid:
                    continue
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (ProcessLookupError, psutil.NoSuchProcess):
                continue
        return found

    def wait_for_child(self, name: str) -> None:
        until(lambda: name in self._names_of_children())

    def _names_of_children(self) -> list[str]:
        found = []
        for process in self.living:
            with suppress(psutil.NoSuchProcess):  # it may end meanwhile
                if process.pid != self.process.pid:
                    found.append(process.name())
        return found

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

    def leaves_nothing_running(self) -> bool:
        deadline = time.monotonic() + _SOON
        while self.living and time.monotonic() < deadline:
            time.sleep(0.05)
        return not self.living

    def close(self) -> None:
        for process in self.living:
            process.kill()
        self.process.wait()


@pytest.fixture
def started() -> Iterator[Callable[..., Command]]:
    """Starts commands that are gone after the test, whatever it found."""
    commands: list[Command] = []

    def start(*command: str, **options: Any) -> Command:
        commands.append(Command(*command, **options))
        return commands[-1]

    yield start
    for command in commands:
        command.close()


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every entry is wrong, so that there is something to name."""
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    monkeypatch.setenv(IN_PROCESS_BYTES_VARIABLE, "0")
    rows = orders(300)
    wrong = entries_of(rows).set_column(2, "status", pa.array(["lost"] * len(rows)))
    return delta_lake(tmp_path, rows, wrong)


def check_of(catalog: Path, *options: str) -> tuple[str, ...]:
    return ("check", "table", "orders", "--catalog", str(catalog), *options)


@pytest.mark.slow
@pytest.mark.parametrize("child", ["bash", "java"])
def test_while_spark_starts(child: str, lake: Path, started: Callable[..., Command]) -> None:
    """PySpark itself lets go of a JVM that it is waiting for, which then never ends."""
    command = started(*SCRUB, *check_of(lake))
    command.wait_for_child(child)
    command.send(signal.SIGINT)
    assert command.end() == (130, "", "interrupted\n")
    assert command.leaves_nothing_running()


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Python's temporary files are."""
    path = tmp_path / "scratch"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("seconds", ["0.0", "0.3"])
def test_while_spark_is_waited_for(
    seconds: str, lake: Path, scratch: Path, started: Callable[..., Command]
) -> None:
    """Its JVM starts in another thread, which must not be left half-way."""
    command = started(sys.executable, "-c", STARTING, *check_of(lake), seconds)
    assert command.end() == (130, "", "interrupted\n")
    assert command.leaves_nothing_running()
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
def test_a_mistake_that_shows_while_spark_starts(
    lake: Path, scratch: Path, started: Callable[..., Command]
) -> None:
    """Nobody waits for the JVM then."""
    (lake.parent / "orders" / "_delta_log").rename(lake.parent / "elsewhere")
    command = started(*SCRUB, *check_of(lake))
    code, out, err = command.end()
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert command.living == []
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize(
    ("phase", "number", "code"),
    [
        ("comparing fingerprints", signal.SIGINT, 130),
        ("naming defects", signal.SIGTERM, 143),
    ],
)
def test_while_a_job_runs(
    phase: str, number: int, code: int, lake: Path, started: Callable[..., Command]
) -> None:
    report = lake.parent / "report.json"
    report.write_text("the last one")
    options = check_of(lake, "--format", "json", "--output", str(report))
    command = started(sys.executable, "-c", INSIDE, phase, str(int(number)), *options)
    assert command.end() == (code, "", "interrupted\n")
    assert report.read_text() == "the last one"
    assert [path.name for path in lake.parent.glob(".report*")] == []
    assert command.leaves_nothing_running()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_while_tasks_run_in_the_process(
    number: int, code: int, lake: Path, started: Callable[..., Command]
) -> None:
    report = lake.parent / "report.json"
    report.write_text("the last one")
    environment = os.environ | {IN_PROCESS_BYTES_VARIABLE: "1 GiB"}
    options = check_of(lake, "--format", "json", "--output", str(report))
    command = started(sys.executable, "-c", SLOW_TASKS, *options, env=environment)
    assert command.process.stderr is not None
    assert command.process.stderr.readline() == "a task runs\n"
    command.send(number)
    assert command.end() == (code, "", "interrupted\n")
    assert report.read_text() == "the last one"
    assert [path.name for path in lake.parent.glob(".report*")] == []
    assert command.leaves_nothing_running()


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--rows-per-second", "--pause-file"])
def test_while_it_waits(option: str, lake: Path, started: Callable[..., Command]) -> None:
    """All threads wait, the one that hears of the signal for the others."""
    value = str(lake) if option == "--pause-file" else "1"
    environment = os.environ | {IN_PROCESS_BYTES_VARIABLE: "1 GiB"}
    command = started(
        sys.executable, "-c", WAITING, *check_of(lake, option, value), env=environment
    )
    assert command.process.stderr is not None
    # On a busy machine there may be progress before, or amid what several threads write.
    assert any("it waits" in line for line in iter(command.process.stderr.readline, ""))
    began = time.monotonic()
    command.send(signal.SIGINT)
    code, out, err = command.end()
    assert (code, out, err.splitlines()[-1]) == (130, "", "interrupted")
    assert time.monotonic() - began < _SOON
    assert command.leaves_nothing_running()


@pytest.mark.slow
def test_in_a_pipe_and_again_and_again(lake: Path, started: Callable[..., Command]) -> None:
    """A second Ctrl-C, while the first one is at work, ends everything at once."""
    command = started(*SCRUB, *check_of(lake))
    command.wait_for_child("java")
    while command.process.poll() is None:
        command.send(signal.SIGINT)
        time.sleep(0.05)
    code, out, err = command.end()
    assert (code, out) == (130, "")
    assert err in ("", "interrupted\n")
    assert command.leaves_nothing_running()


# PostgreSQL, without Spark


@pytest.fixture
def shop(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, status text)",
        "INSERT INTO orders SELECT i, i % 7, 'open' FROM generate_series(1, 50) i",
        "CREATE TABLE orders__by_customer AS SELECT customer_id, id, status FROM orders",
        "DELETE FROM orders__by_customer WHERE id = 17",
    )
    return write_catalog(tmp_path, store={"kind": "postgres", "url": database.url})


def missing_entry(directory: Path) -> Path:
    """The result of a check that found it."""
    entry = {"customer_id": 3, "id": 17, "status": "open"}
    defect = a_defect(
        DefectKind.MISSING,
        index_key={"customer_id": 3, "id": 17},
        expected=entry,
        actual=None,
    )
    outcome = a_check("by_customer", Status.DEFECTIVE, counts={DefectKind.MISSING: 1})
    path = directory / "result.json"
    path.write_text(FORMATS["json"](a_run(a_table(outcome), defects=(defect,))))
    return path


BLOCKED = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type LIKE 'client%'
"""


@contextmanager
def blocking(database: Database, lock: str) -> Iterator[None]:
    """While another session holds a lock."""
    with closing(database.connect()) as other:
        other.execute("BEGIN")
        other.execute(lock)
        yield


def interrupted(command: Command, number: int, database: Database) -> tuple[int, str, str]:
    """How a command ends that gets a signal as soon as it waits for a lock."""
    until(lambda: database.rows(BLOCKED) != [(0,)])
    command.send(number)
    return command.end()


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "table", "orders"),
        ("repair", "table", "orders", "--from", "result.json", "--execute"),
        ("backfill", "run", "orders", "by_status", "--execute"),
    ],
    ids=["check", "repair", "backfill"],
)
def test_while_the_database_lets_us_wait(
    arguments: tuple[str, ...],
    shop: Path,
    database: Database,
    started: Callable[..., Command],
) -> None:
    content = shop.read_text().replace(
        '"indexes": {', '"indexes": {"by_status": {"columns": ["status"]}, '
    )
    if arguments[0] == "backfill":
        shop.write_text(content)
    missing_entry(shop.parent)
    before = database.rows("SELECT * FROM orders__by_customer ORDER BY id")
    lock = "LOCK TABLE orders, orders__by_customer IN ACCESS EXCLUSIVE MODE"
    with blocking(database, lock):
        command = started(*SCRUB, *arguments, cwd=shop.parent)
        code, out, err = interrupted(command, signal.SIGINT, database)
    assert (code, out) == (130, "")
    assert err.endswith("interrupted\n")
    assert "Traceback" not in err
    assert database.rows("SELECT * FROM orders__by_customer ORDER BY id") == before
    until(lambda: database.rows(OTHERS) == [(0,)])
    assert command.leaves_nothing_running()


def test_an_interrupted_repair_can_be_made_again(
    shop: Path, database: Database, started: Callable[..., Command]
) -> None:
    file = missing_entry(shop.parent)
    arguments = ("repair", "table", "orders", "--from", str(file), "--execute")
    with blocking(database, "SELECT * FROM orders WHERE id = 17 FOR UPDATE"):
        command = started(*SCRUB, *arguments, cwd=shop.parent)
        assert interrupted(command, signal.SIGTERM, database) == (143, "", "interrupted\n")
    again = started(*SCRUB, *arguments, cwd=shop.parent)
    assert again.end()[0] == 0
    report = preview_repair(RepairRequest(table="orders", catalog=shop, from_file=file))
    assert [str(action.kind) for action in report.plan.actions] == ["put"]
    assert database.rows("SELECT count(*) FROM orders__by_customer") == [(50,)]
