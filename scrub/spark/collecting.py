# SPDX-License-Identifier: Apache-2.0
"""Collecting a frame as Arrow, with failures of the kind that all other actions raise."""

from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def collect_arrow(frame: "DataFrame") -> "pa.Table":
    """The frame's rows on the driver; a failed job raises a PySparkException."""
    try:
        return frame.toArrow()
    except Py4JJavaError as error:
        # Arrow comes through a socket, past the place where PySpark translates Java's exceptions.
        from pyspark.errors.exceptions.captured import convert_exception

        raise convert_exception(error.java_exception) from error
