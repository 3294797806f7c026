# SPDX-License-Identifier: Apache-2.0
"""Provides a Spark session: borrows an active one and never stops it, or starts one."""

import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from scrub.errors import SparkUnavailable, first_line
from scrub.model.request import SparkOptions
from scrub.model.table import UTC
from scrub.spark.java import require_java
from scrub.spark.jvm_ahead import JvmAhead
from scrub.spark.launching import ended_if_interrupted, has_ended
from scrub.spark.session_settings import LOCAL, OF_FEW_ROWS, settings_of, use_our_python
from scrub.spark.told_values import values_not_told

_CONNECT_SECONDS = 5
_LOG_LINES_SHOWN = 3


@contextmanager
def spark_session(
    given: SparkSession | None,
    options: SparkOptions,
    few_rows: bool = False,
    time_zone: str = UTC,
    ahead: JvmAhead | None = None,
) -> Iterator[SparkSession]:
    """The given session, the active one, or a new one that ends with the block.

    A new session uses the time zone; a borrowed one keeps its own, see `in_time_zone`. With
    `few_rows`, a new session is configured to start fast rather than to run fast. Its JVM may have
    been started `ahead`.
    """
    with nullcontext() if options.verbose else values_not_told():
        active = given or existing_session()
        if active is not None:
            yield active
            return
        with _own_session(options, few_rows, time_zone, ahead) as session:
            yield session


@contextmanager
def _own_session(
    options: SparkOptions, few_rows: bool, time_zone: str, ahead: JvmAhead | None
) -> Iterator[SparkSession]:
    with _handlers_kept():
        session = _start(options, few_rows, time_zone, ahead)
        try:
            if few_rows:
                _interpret_plans(session)
            yield session
        finally:
            _stop(session)


def existing_session() -> SparkSession | None:
    """The session that somebody in this process has made, if there is one."""
    return SparkSession.getActiveSession() or _of_another_thread()


def _stop(session: SparkSession) -> None:
    """Stop a session. If its JVM has ended, make PySpark forget it."""
    if not is_connect(session):
        _leave_accumulators(session.sparkContext)
    with suppress_end():
        session.stop()
    if not is_connect(session) and has_ended():
        with suppress_end():
            session.sparkContext.stop()  # the first time it had only found out
        SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = None


def _leave_accumulators(context: Any) -> None:
    """End the server of accumulators, which takes a second, without waiting for it."""
    server, context._accumulatorServer = context._accumulatorServer, None
    if server is not None:
        threading.Thread(target=_quietly, args=(server.shutdown,), daemon=True).start()


def stop_jobs() -> None:
    """Cancel everything that runs in this process's session, from a handler of signals.

    In a thread of its own: the one that was interrupted may be in the middle of a call to Java.
    """
    context = SparkContext._active_spark_context
    session = SparkSession.getActiveSession() if context is None else None
    if context is not None:
        threading.Thread(target=_quietly, args=(context.cancelAllJobs,), daemon=True).start()
    elif session is not None:
        threading.Thread(target=_quietly, args=(session.interruptAll,), daemon=True).start()


def _quietly(stop: Callable[[], object]) -> None:
    with suppress(Exception):  # it is the end in any case
        stop()


@contextmanager
def suppress_end() -> Iterator[None]:
    """Ignore errors of a session that has already ended: there is nothing to clean up."""
    with suppress(Py4JError, ConnectionError):
        yield


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Restore the handler of Ctrl-C after the block: PySpark replaces it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


def _of_another_thread() -> SparkSession | None:
    """The session of this process where another thread has made it: only there it is active.

    The builder would hand it out too, but with our settings in it, and we would stop it.
    """
    found: SparkSession | None = getattr(SparkSession, "_instantiatedSession", None)
    return found if found is not None and found.sparkContext._jsc is not None else None


def shares_python(spark: SparkSession) -> bool:
    """Whether tasks surely run on this machine and in this Python, so they have what we have."""
    if is_connect(spark):
        return False
    master = spark.conf.get("spark.master", None) or ""
    python = shutil.which(spark.sparkContext.pythonExec) or ""
    return LOCAL.fullmatch(master) is not None and Path(python) == Path(sys.executable)


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is a client of a Spark Connect server."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at once, as far as the session tells."""
    if is_connect(spark):
        return int(spark.conf.get("spark.default.parallelism", None) or os.cpu_count() or 1)
    return spark.sparkContext.defaultParallelism


def _start(
    options: SparkOptions, few_rows: bool, time_zone: str, ahead: JvmAhead | None
) -> SparkSession:
    use_our_python()
    address = options.remote or options.master or ""
    _require_reachable(address)
    if not options.remote:
        require_java()
    builder = SparkSession.builder
    for key, value in settings_of(options, few_rows, time_zone).items():
        builder = builder.config(key, value)
    if options.remote:
        builder = builder.remote(options.remote)
    before = signal.getsignal(signal.SIGINT)
    with _noise_aside(options.verbose) as log:
        try:
            if ahead is not None:
                ahead.wait()
            with ended_if_interrupted():
                session = builder.getOrCreate()
        except Exception as error:
            raise SparkUnavailable(
                f"Spark did not start{f' on {address}' if address else ''}: "
                + _tail((ahead.log if ahead is not None else None, log), error),
                hint="--verbose shows all that Spark says",
            ) from error
        finally:
            if ahead is not None:
                ahead.forget_log()
    if not (options.remote or options.verbose):
        # Its thread would tell of a JVM that has ended with a traceback, whoever knows already.
        accumulators: Any = session.sparkContext._accumulatorServer
        accumulators.handle_error = _say_nothing
    if before not in (None, signal.default_int_handler, signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, before)  # somebody's own, which stops jobs by `stop_jobs`
    return session


def _say_nothing(*_: object) -> None:
    """Replaces a handler that prints tracebacks."""


def _interpret_plans(session: SparkSession) -> None:
    """Set in the session itself: what a JVM is started with, its later sessions have too."""
    if "PYSPARK_GATEWAY_PORT" in os.environ or is_connect(session):
        return
    known = session.sparkContext.getConf()
    if LOCAL.fullmatch(known.get("spark.master") or "") is None:
        return
    for key, value in OF_FEW_ROWS.items():
        if not known.contains(key):
            session.conf.set(key, value)


def _require_reachable(address: str) -> None:
    """Answer an unreachable master in seconds; Spark itself keeps trying for a minute."""
    scheme, _, rest = address.partition("://")
    if scheme not in ("spark", "sc"):
        return
    hosts = rest.split("/")[0].split(",")
    failures = []
    for host_and_port in hosts:
        host, _, port = host_and_port.rpartition(":")
        if not port.isdigit():
            host, port = host_and_port, "15002" if scheme == "sc" else "7077"
        try:
            socket.create_connection((host, int(port)), timeout=_CONNECT_SECONDS).close()
            return
        except OSError as error:
            failures.append(f"{host}:{port} ({error.strerror or error})")
    raise SparkUnavailable(
        f"no Spark master answers at {', '.join(failures)}",
        hint="check --master or --remote, or leave it out to run on this machine",
    )


@contextmanager
def _noise_aside(verbose: bool) -> Iterator[Path | None]:
    """Redirect standard error to a file while the JVM starts, which inherits it."""
    if verbose:
        yield None
        return
    handle, name = tempfile.mkstemp(prefix="scrub-spark-", suffix=".log")
    sys.stderr.flush()
    original = os.dup(2)
    os.dup2(handle, 2)
    try:
        yield Path(name)
    finally:
        os.dup2(original, 2)
        os.close(original)
        os.close(handle)
        # The JVM keeps writing to the open file; nobody needs its name any more.
        Path(name).unlink(missing_ok=True)


def _tail(logs: Sequence[Path | None], error: Exception) -> str:
    told = [log.read_text(errors="replace") for log in logs if log is not None]
    lines = [line for text in told for line in text.splitlines()]
    telling = [line for line in lines if "Exception" in line or "ERROR" in line]
    return "\n".join(telling[-_LOG_LINES_SHOWN:]) or first_line(error)
