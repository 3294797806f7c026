# SPDX-License-Identifier: Apache-2.0
"""Sessions in which expressions are evaluated in the time zone that the catalog names.

A borrowed session keeps its own zone. Expressions are evaluated in a copy of it that has the same
settings, views and cluster, but another zone.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from scrub.errors import StoreUnavailable
from scrub.spark.session import is_connect, parallelism
from scrub.spark.session_settings import TIME_ZONE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTING = TIME_ZONE


class ZoneNotToBeHad(StoreUnavailable):
    """The session has another time zone and cannot be copied."""


@contextmanager
def in_time_zone(spark: "SparkSession", zone: str, needed: bool = True) -> "Iterator[SparkSession]":
    """A session that evaluates in this time zone; the given session is not changed.

    If nothing depends on the zone (not `needed`), the given session is used when copying fails.
    """
    own_zone = spark.conf.get(SETTING)
    session: AbstractContextManager[SparkSession] = nullcontext(spark)
    if own_zone != zone:
        try:
            session = _copy(spark, zone)
        except Exception as error:
            # Platforms have ways of their own to forbid it.
            if needed:
                raise ZoneNotToBeHad(
                    f"the Spark session evaluates in time zone {own_zone}, the catalog says "
                    f"{zone}, and the session cannot be copied",
                    hint=f"set {SETTING} to {zone} in it, or let scrub start a session",
                ) from error
    with session as in_zone:
        yield in_zone


def zone_of_jvms(spark: "SparkSession") -> str | None:
    """The time zone of the JVMs that run tasks; None if it is unknown, or if they differ."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    asked = F.java_method(F.lit("java.time.ZoneId"), F.lit("systemDefault"))
    tasks = max(parallelism(spark), 1)
    try:
        zones = spark.range(0, tasks, 1, tasks).select(asked.alias("zone")).distinct().collect()
    except PySparkException:  # some platforms let nobody call Java
        return None
    return str(zones[0]["zone"]) if len(zones) == 1 else None


def _copy(spark: Any, zone: str) -> "AbstractContextManager[SparkSession]":
    """A copy of the session in another zone, which lives as long as the block."""
    if is_connect(spark):
        copy, lasting = spark.cloneSession(), _released
    else:
        of_jvm = spark._jsparkSession.cloneSession()
        copy, lasting = type(spark)(spark.sparkContext, of_jvm), _active_meanwhile
    copy.conf.set(SETTING, zone)
    return lasting(copy)


@contextmanager
def _released(copy: Any) -> Iterator[Any]:
    """A copy in a Spark Connect server, which keeps it until it is told not to."""
    try:
        yield copy
    finally:
        # Not `stop`: where the server runs in this process, that would end it for all its sessions.
        copy.client.release_session()
        copy.client.close()


@contextmanager
def _active_meanwhile(copy: Any) -> Iterator[Any]:
    """A copy in this process; it becomes the active session with the first frame made from it."""
    cls = type(copy)
    of_jvm = copy._jvm.org.apache.spark.sql.classic.SparkSession
    was_active, of_python = of_jvm.getActiveSession(), cls._activeSession
    try:
        yield copy
    finally:
        cls._activeSession = of_python
        if was_active.isDefined():
            of_jvm.setActiveSession(was_active.get())
        else:
            of_jvm.clearActiveSession()
