# SPDX-License-Identifier: Apache-2.0
"""Collecting frames, where a failed job raises what PySpark promises: a PySparkException."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scrub.spark.imported import spark_is_imported

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_WAITED_FOR = "Exception thrown in awaitResult"


@contextmanager
def translated() -> Iterator[None]:
    """Raise a PySparkException for every failed job of the block, KeyboardInterrupt for Ctrl-C.

    PySpark translates most of Java's exceptions, but not a plain SparkException, which a file that
    cannot be read ends in; nor any that come through the socket that Arrow uses; nor that Java does
    not answer at all. And a job that Ctrl-C has cancelled fails like any other.
    """
    try:
        yield
    except Exception as error:
        if spark_is_imported():
            _raise_translated(error)
        raise
    if spark_is_imported():
        _demand_a_session()


def _raise_translated(error: Exception) -> None:
    """Raise what an exception of Spark's or Py4J's stands for; leave any other alone."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException
    from pyspark.errors.exceptions.captured import convert_exception

    from scrub.spark.failures import SessionEnded

    if not isinstance(error, Py4JError | ConnectionError | PySparkException):
        return
    _demand_no_interrupt(error)
    if isinstance(error, Py4JJavaError):
        raise convert_exception(_unwrapped(error.java_exception)) from error
    if not isinstance(error, PySparkException):
        raise SessionEnded() from error


def _demand_a_session() -> None:
    """Rows that come through a socket just end when Java does."""
    from scrub.spark.failures import SessionEnded
    from scrub.spark.launching import has_ended

    if has_ended():
        raise SessionEnded()


def _demand_no_interrupt(error: BaseException) -> None:
    """Raise what the user wanted, if an error came only while that was on its way."""
    told: BaseException | None = error
    while told is not None:
        if isinstance(told, KeyboardInterrupt):
            raise told
        told = told.__cause__ or told.__context__


def _unwrapped(exception: Any) -> Any:
    """What failed, without the thread that was waiting for it."""
    while exception.getCause() is not None and _WAITED_FOR in (exception.getMessage() or ""):
        exception = exception.getCause()
    return exception


def collect_arrow(frame: "DataFrame") -> "pa.Table":
    """The frame's rows on the driver; a failed job raises a PySparkException."""
    with translated():
        return frame.toArrow()
