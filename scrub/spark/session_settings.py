# SPDX-License-Identifier: Apache-2.0
"""The settings that a Spark session of our own is started with."""

import os
import re
import sys
from pathlib import Path

import pyspark

from scrub.model.request import SparkOptions
from scrub.model.table import UTC
from scrub.spark.class_archive import using_archive

TIME_ZONE = "spark.sql.session.timeZone"
LOCAL = re.compile(r"local(\[[^]]*\])?")
_OWN_SESSION = {
    "spark.app.name": "scrub",
    "spark.driver.memory": "2g",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Settings for a session of our own, where the user says nothing else."""
OF_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Compiling a plan takes longer than interpreting it for some thousands of rows."""
FIRST_COMPILER_ONLY = "-XX:TieredStopAtLevel=1"
_ROOM_FOR_CODE = "-XX:ReservedCodeCacheSize=240m"
"""As much as with both compilers: a long search for a row that raises fills the fifth of it that
Java gives to one, and then tells the user so and compiles nothing more."""
_LATER = 20
SECOND_COMPILER_LATER = (
    f"-XX:Tier4InvocationThreshold={_LATER * 5_000}",
    f"-XX:Tier4MinInvocationThreshold={_LATER * 600}",
    f"-XX:Tier4CompileThreshold={_LATER * 15_000}",
    f"-XX:Tier4BackEdgeThreshold={_LATER * 40_000}",
)
"""Multiples of Java's own thresholds: only what runs through rows is compiled a second time.

A command ends before the rest would have paid. At Java's thresholds, compiling takes three seconds
of CPU of a check whose tasks run in Python; one that Spark SQL does is as fast either way.
"""
JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
"""Beside `spark.driver.extraJavaOptions`, which are the user's."""
_DAEMON = "spark.python.daemon.module"
OUR_DAEMON = "checks.worker_daemon"
"""What workers are forked from, where they surely have the modules that we have."""
_EXECUTORS_JAVA_OPTIONS = "spark.executor.defaultJavaOptions"
_NO_LANGUAGE = ("-Duser.language=en", "-Duser.country=US", "-Duser.variant=")
"""Letters are cased, and ORC's clocks read, as the catalog says, not as the machine is set up."""


def defaults(options: SparkOptions, few_rows: bool, time_zone: str = UTC) -> dict[str, str]:
    """The default settings; none under spark-submit, which brings its own."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return {}
    if options.remote:
        return {k: v for k, v in _OWN_SESSION.items() if k.startswith("spark.sql")}
    if _has_conf_files():
        return dict(_OWN_SESSION)
    workers = {_DAEMON: OUR_DAEMON} if _is_local(options) and _is_our_python() else {}
    meaning = [*_NO_LANGUAGE, f"-Duser.timezone={time_zone}"]
    return {
        **_OWN_SESSION,
        **workers,
        JAVA_OPTIONS: " ".join([*_java_options(options, few_rows), *meaning]),
        _EXECUTORS_JAVA_OPTIONS: " ".join(meaning),
    }


def settings_of(options: SparkOptions, few_rows: bool, time_zone: str) -> dict[str, str]:
    """Everything that a session of our own is built with, but for the address of a server."""
    settings = defaults(options, few_rows, time_zone) | dict(options.conf)
    if not options.remote and (options.master or not _master_is_configured(options)):
        settings["spark.master"] = options.master or "local[*]"
    # Not for the machine or its administrator to choose: the catalog says what expressions mean.
    return settings | {TIME_ZONE: time_zone}


def use_our_python() -> None:
    """Tasks must run the Python that scrub and its engine are installed in."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def _master_is_configured(options: SparkOptions) -> bool:
    """Whether spark-submit or the user's settings already name a master."""
    return "spark.master" in dict(options.conf) or "PYSPARK_GATEWAY_PORT" in os.environ


def _java_options(options: SparkOptions, few_rows: bool) -> list[str]:
    java = using_archive()
    if options.short_lived and _is_local(options):  # later sessions of a process have the same JVM
        java += [FIRST_COMPILER_ONLY, _ROOM_FOR_CODE] if few_rows else SECOND_COMPILER_LATER
    return java


def _has_conf_files() -> bool:
    """Whether an administrator's files may name options of the JVM, which ours would replace."""
    elsewhere = {"SPARK_HOME", "SPARK_CONF_DIR"} & os.environ.keys()
    return bool(elsewhere) or Path(pyspark.__file__).with_name("conf").exists()


def _is_local(options: SparkOptions) -> bool:
    """Whether Spark runs in this process only."""
    master = options.master or dict(options.conf).get("spark.master", "local[*]")
    return LOCAL.fullmatch(master) is not None


def _is_our_python() -> bool:
    """Whether tasks run in the same Python as this process."""
    return os.environ.get("PYSPARK_PYTHON", sys.executable) == sys.executable
