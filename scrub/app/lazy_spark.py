# SPDX-License-Identifier: Apache-2.0
"""Spark, started when it is first needed: much of what a command does needs none."""

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrub.errors import UsageError
from scrub.model.place import IN_PROCESS_BYTES, IN_PROCESS_BYTES_VARIABLE, parse_size
from scrub.model.progress import Progress, ProgressListener
from scrub.model.request import SparkOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from scrub.spark.jvm_ahead import JvmAhead
    from scrub.stores.base import SessionProvider


_NAMED_BY = {
    "PYSPARK_GATEWAY_PORT": "spark-submit started this process",
    "SPARK_REMOTE": "SPARK_REMOTE is set",
}


@contextmanager
def lazy_session(
    spark: "SparkSession | None", options: SparkOptions | None, on_progress: ProgressListener
) -> "Iterator[SessionProvider]":
    """A session for one command, whatever the time zones of its tables."""
    with ExitStack() as stack:
        yield LazySpark(spark, options or SparkOptions(), on_progress, stack).started


@dataclass(slots=True)
class LazySpark:
    """One Spark, with a session for each time zone that is asked for."""

    given: "SparkSession | None"
    options: SparkOptions
    on_progress: ProgressListener
    stack: ExitStack
    may_be_few: bool = False  # whether the rows of the first plan are all that is read
    keeps_zone: bool = False  # no copy in another time zone: DataFrames are of the session itself
    seconds_starting: float = 0.0  # which says nothing about the check's speed
    sessions: "list[SparkSession]" = field(default_factory=list)
    in_zones: "dict[str, SparkSession]" = field(default_factory=dict)
    ahead: "JvmAhead | None" = None

    @property
    def named(self) -> str | None:
        """What asks for Spark by name, however little is to be done; None if nothing does."""
        conf = dict(self.options.conf)
        if self.options.remote or self.options.master:
            return f"{'--remote' if self.options.remote else '--master'} is given"
        for setting in ("spark.master", "spark.remote"):
            if setting in conf:
                return f"{setting} is set"
        for variable, told in _NAMED_BY.items():
            if variable in os.environ:
                return told
        if self.bytes_asked_for is not None:
            return None  # who sets the bound means it, whatever session there is
        if self.given is not None or _is_active():
            return "a session is active"
        return None

    @property
    def bytes_asked_for(self) -> int | None:
        """Up to how many bytes are read in this process, if a setting or a variable says so."""
        setting, told = IN_PROCESS_BYTES, dict(self.options.conf).get(IN_PROCESS_BYTES)
        if told is None:
            setting = IN_PROCESS_BYTES_VARIABLE
            told = os.environ.get(setting)
        if not told:
            return None
        try:
            return parse_size(told)
        except ValueError as error:
            hint = f"write {setting}=500MiB, or 0 to run every check on Spark"
            raise UsageError(f"{setting}: {error}", hint=hint) from None

    def started(self, zone: str = "UTC", few_rows: bool = False) -> "SparkSession":
        """The session; zone and number of rows are heeded by the first call only."""
        if not self.sessions:
            from scrub.spark.session import spark_session

            self.on_progress(Progress(phase="starting Spark"))
            began = time.monotonic()
            few = few_rows and self.may_be_few
            session = spark_session(self.given, self.options, few, zone, self.ahead)
            self.sessions.append(self.stack.enter_context(session))
            self.seconds_starting = time.monotonic() - began
        return self.sessions[0]

    def start_ahead(self, zone: str, few_rows: bool) -> None:
        """Start the JVM of a session in this zone in the background, if it is to be one of ours.

        Not for somebody's own process, in which other checks may use the same JVM.
        """
        if not self.options.short_lived or self.given is not None or _is_active():
            return
        if (
            self.options.remote
            or _is_remote(dict(self.options.conf))
            or _NAMED_BY.keys() & os.environ
        ):
            return
        from scrub.spark.jvm_ahead import JvmAhead

        self.ahead = JvmAhead(self.options, few_rows and self.may_be_few, zone)
        self.stack.callback(self._leave_ahead)

    def _leave_ahead(self) -> None:
        if self.ahead is not None and not self.sessions:
            self.ahead.abandon()

    def session(self, zone: str, few_rows: bool) -> "SparkSession":
        """The session of a time zone."""
        session = self.started(zone, few_rows)
        if self.keeps_zone:
            return session
        if zone not in self.in_zones:
            from scrub.spark.time_zone import in_time_zone

            # Whether an index needs it is asked when it is known what is checked.
            zoned = in_time_zone(session, zone, needed=False)
            self.in_zones[zone] = self.stack.enter_context(zoned)
        return self.in_zones[zone]


def _is_remote(conf: Mapping[str, str]) -> bool:
    """Whether settings make Spark a client of a server, which needs no JVM here."""
    modes = (conf.get("spark.api.mode"), os.environ.get("SPARK_API_MODE"))
    return "spark.remote" in conf or "connect" in modes


def _is_active() -> bool:
    """Whether somebody in this process has a session; whoever has not imported Spark has none."""
    if "pyspark" not in sys.modules:
        return False
    from scrub.spark.session import existing_session

    return existing_session() is not None
