# SPDX-License-Identifier: Apache-2.0
"""Collecting frames, where a failed job raises what PySpark promises: a PySparkException."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_WAITED_FOR = "Exception thrown in awaitResult"


@contextmanager
def translated() -> Iterator[None]:
    """Raise a PySparkException for every failed job of the block.

    PySpark translates most of Java's exceptions, but not a plain SparkException, which a file that
    cannot be read ends in; nor any that come through the socket that Arrow uses.
    """
    try:
        yield
    except Py4JJavaError as error:
        from pyspark.errors.exceptions.captured import convert_exception

        raise convert_exception(_unwrapped(error.java_exception)) from error


def _unwrapped(exception: Any) -> Any:
    """What failed, without the thread that was waiting for it."""
    while exception.getCause() is not None and _WAITED_FOR in (exception.getMessage() or ""):
        exception = exception.getCause()
    return exception


def collect_arrow(frame: "DataFrame") -> "pa.Table":
    """The frame's rows on the driver; a failed job raises a PySparkException."""
    with translated():
        return frame.toArrow()
