# SPDX-License-Identifier: Apache-2.0
"""A test run that is ended, by whatever signal, leaves no server, no JVM and no files behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.postgres_server import OwnServer

ROOT = Path(__file__).parents[1]
_SECONDS_MAX = 120.0
_SLEEPING_TEST = """
import json, os, time
from pathlib import Path

def test_that_is_interrupted({fixtures}):
    given = locals()
    said = {{"pid": os.getpid(), "directory": given["postgres_url"].partition("host=")[2]}}
    if "spark" in given:
        said["java"] = given["spark"].sparkContext._gateway.proc.pid
    written = Path(__file__).with_name("said.json.new")
    written.write_text(json.dumps(said))
    written.rename(Path(__file__).with_name("said.json"))
    time.sleep(600)
"""


def until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _SECONDS_MAX
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def ended(folder: Path, number: signal.Signals, *fixtures: str, workers: int = 0) -> dict[str, Any]:
    """A run that got a signal in the middle of its test; what it had started."""
    probe = folder / "test_probe.py"
    probe.write_text(_SLEEPING_TEST.format(fixtures=", ".join(fixtures)))
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", f"--numprocesses={workers}"]
    command += ["-c", str(ROOT / "pyproject.toml"), f"--basetemp={folder / 'base'}", str(probe)]
    # Apart from this run's xdist, whose settings are for its own workers.
    env = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    env |= {"PYTHONPATH": str(ROOT), "SCRUB_TEST_PG_URL": ""}
    said = folder / "said.json"
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A shell has its background jobs ignore Ctrl-C, and so do the processes that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        try:
            until(lambda: said.exists() or process.poll() is not None, "no test has begun")
            process.send_signal(number)
            printed = process.communicate(timeout=_SECONDS_MAX)[0]
        finally:
            process.kill()
    assert said.exists(), printed
    told: dict[str, Any] = json.loads(said.read_text())
    return told


def assert_nothing_is_left(told: dict[str, Any]) -> None:
    directory = Path(told["directory"])
    until(lambda: not directory.exists(), f"{directory} is left")
    until(lambda: not servers_of(directory), "the server is left")
    for started in ("pid", "java"):
        if started in told:
            until(lambda pid=told[started]: not is_alive(pid), f"{started} is left")


def servers_of(directory: Path) -> list[int]:
    found = psutil.process_iter(["pid", "cmdline"])
    return [process.pid for process in found if str(directory) in (process.info["cmdline"] or ())]


def is_alive(pid: int) -> bool:
    """Not a process that has ended and that nobody has asked for its exit code."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_postgresql_server_is_left(number: signal.Signals, tmp_path: Path) -> None:
    assert_nothing_is_left(ended(tmp_path, number, "postgres_url"))


@pytest.mark.slow
def test_no_server_of_a_worker_is_left(tmp_path: Path) -> None:
    """The process that a user kills is another one than those that run tests."""
    assert_nothing_is_left(ended(tmp_path, signal.SIGKILL, "postgres_url", workers=1))


@pytest.mark.spark
def test_no_jvm_is_left(tmp_path: Path) -> None:
    assert_nothing_is_left(ended(tmp_path, signal.SIGKILL, "postgres_url", "spark"))


def test_a_server_that_was_closed_is_gone_at_once() -> None:
    server = OwnServer()
    assert servers_of(server.directory)
    server.close()
    assert not server.directory.exists()
    assert not servers_of(server.directory)
