# SPDX-License-Identifier: Apache-2.0
"""Spark for a check: started when it is first needed, with a session for each time zone."""

import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrub.model.progress import Progress, ProgressListener
from scrub.model.request import SparkOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(slots=True)
class LazySpark:
    """Spark, started when it is first needed; one session for each time zone."""

    given: "SparkSession | None"
    options: SparkOptions
    on_progress: ProgressListener
    stack: ExitStack
    may_be_few: bool  # whether the rows of the first plan are all that is read
    seconds_starting: float = 0.0  # which says nothing about the check's speed
    sessions: "list[SparkSession]" = field(default_factory=list)
    in_zones: "dict[str, SparkSession]" = field(default_factory=dict)

    def session(self, zone: str, few_rows: bool) -> "SparkSession":
        if not self.sessions:
            from scrub.spark.session import spark_session

            self.on_progress(Progress(phase="starting Spark"))
            began = time.monotonic()
            few_rows = few_rows and self.may_be_few
            session = spark_session(self.given, self.options, few_rows, zone)
            self.sessions.append(self.stack.enter_context(session))
            self.seconds_starting = time.monotonic() - began
        if zone not in self.in_zones:
            from scrub.spark.time_zone import in_time_zone

            # Whether an index needs it is asked when it is known what is checked.
            zoned = in_time_zone(self.sessions[0], zone, needed=False)
            self.in_zones[zone] = self.stack.enter_context(zoned)
        return self.in_zones[zone]
