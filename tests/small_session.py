# SPDX-License-Identifier: Apache-2.0
"""The Spark session of tests: of small tables, of plans that run once, of a JVM that ends soon."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPTIONS = "SPARK_SUBMIT_OPTS"
# Without the second compiler, Java has 48 MB for compiled code; a session of many tests needs more,
# and would search it for what can be dropped, all the time, and compile that again.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
ADAPTIVE = "spark.sql.adaptive.enabled"


def have_quick_jvms() -> None:
    """Have every JVM of this process, and of commands that it starts, be ready soon.

    Java's second compiler and its parallel collector take more of two cores than they give back
    before a test is over. No command line and no result tells the difference.
    """
    os.environ[_OPTIONS] = f"{os.environ.get(_OPTIONS, '')} {QUICK}".strip()


@contextmanager
def adapting_plans(spark: "SparkSession") -> Iterator[None]:
    """What Spark does as it comes, in a session of tests that does not."""
    before = spark.conf.get(ADAPTIVE)
    spark.conf.set(ADAPTIVE, "true")
    try:
        yield
    finally:
        spark.conf.set(ADAPTIVE, before)


def interpreting_plans() -> dict[str, str]:
    """Variables of a process whose Spark interprets its plans, as the session of tests does."""
    from scrub.spark.session_settings import OF_FEW_ROWS

    interpreting = " ".join(f"-D{name}={value}" for name, value in OF_FEW_ROWS.items())
    return {_OPTIONS: f"{os.environ.get(_OPTIONS, '')} {interpreting}".strip()}


def small_session(
    home: Path, time_zone: str | None = None, *, adapting: bool = False
) -> "SparkSession":
    """A session of our own, with what it writes below `home`; maybe with a zone of its JVM.

    Plans are not adapted while they run, which costs more than running them; `adapting` turns that
    on, as it is in Spark as it comes.
    """
    from pyspark.sql import SparkSession

    from scrub.spark.class_archive import using_archive
    from scrub.spark.launching import ended_if_interrupted
    from scrub.spark.session_settings import JAVA_OPTIONS, OF_FEW_ROWS

    os.environ["PYSPARK_PYTHON"] = sys.executable
    java = [f"-Dderby.system.home={home}"]
    if time_zone is not None:
        java.append(f"-Duser.timezone={time_zone}")
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("scrub tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        # Plans of tiny tables run once: compiling them costs more than running them. Commands that
        # tests start as processes of their own have Spark's settings as they come.
        .config(map=dict(OF_FEW_ROWS))
        .config(ADAPTIVE, str(adapting).lower())
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config(JAVA_OPTIONS, " ".join(using_archive()))
        .config("spark.driver.extraJavaOptions", " ".join(java))
    )
    with ended_if_interrupted():
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
