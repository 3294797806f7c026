# SPDX-License-Identifier: Apache-2.0
"""Collecting frames, where a failed job raises what PySpark promises: a PySparkException."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from scrub.spark.failures import SessionEnded
from scrub.spark.launching import has_ended

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
    except Py4JJavaError as error:
        from pyspark.errors.exceptions.captured import convert_exception

        _demand_no_interrupt(error)
        raise convert_exception(_unwrapped(error.java_exception)) from error
    except (Py4JError, ConnectionError) as error:
        _demand_no_interrupt(error)
        raise SessionEnded() from error
    except PySparkException as error:
        _demand_no_interrupt(error)
        raise
    # Rows that come through a socket just end when Java does.
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
