# SPDX-License-Identifier: Apache-2.0
"""Spark's JVM, started while this process still imports, and reads logs and snapshots.

Only for a command that surely needs Spark: its JVM is nobody else's. Whoever starts the session
waits for it. If the command ends before, the JVM is gone with it. What keeps it from starting is
left to be told by whoever then starts another.

This module imports PySpark in its own thread only.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from scrub.model.request import SparkOptions
from scrub.spark.launching import end_since, ended_if_interrupted, number_started

_LOOK_SECONDS = 0.05


class JvmAhead:
    """A JVM on its way, with the settings of a session in a time zone."""

    def __init__(self, options: SparkOptions, few_rows: bool, time_zone: str) -> None:
        self.log: Path | None = None  # what it says, unless everybody is to see that
        self._options, self._few_rows, self._time_zone = options, few_rows, time_zone
        self._before = number_started()
        # Not `Thread.join`: Python takes a thread for ended if Ctrl-C comes while it is waited for.
        self._unwanted, self._over = Event(), Event()
        Thread(target=self._launch, name="scrub-jvm", daemon=True).start()

    def wait(self) -> None:
        """Until it has started, or has failed to."""
        self._over.wait()

    def forget_log(self) -> None:
        """Remove the name of what it writes to, which stays open."""
        if self.log is not None:
            self.log.unlink(missing_ok=True)

    def abandon(self) -> None:
        """End it, however far it is."""
        self._unwanted.set()
        while True:
            is_over = self._over.is_set()
            end_since(self._before)  # what the thread is about to start, the next time
            if is_over:
                break
            self._over.wait(_LOOK_SECONDS)
        self.forget_log()

    def _launch(self) -> None:
        try:
            with suppress(Exception):
                self._start()
        finally:
            self._over.set()

    def _start(self) -> None:
        from pyspark import SparkConf, SparkContext

        from scrub.spark.java import require_java
        from scrub.spark.session_settings import settings_of, use_our_python

        require_java()
        use_our_python()
        conf = SparkConf()
        settings = settings_of(self._options, self._few_rows, self._time_zone)
        for key, value in settings.items():
            conf.set(key, value)
        with self._told_apart() as stderr, ended_if_interrupted(self._unwanted.is_set, stderr):
            SparkContext._ensure_initialized(conf=conf)

    @contextmanager
    def _told_apart(self) -> Iterator[int | None]:
        """Where the JVM writes what it says; nobody reads that unless it fails."""
        if self._options.verbose:
            yield None
            return
        handle, name = tempfile.mkstemp(prefix="scrub-spark-", suffix=".log")
        self.log = Path(name)
        try:
            yield handle
        finally:
            os.close(handle)
