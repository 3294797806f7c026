# SPDX-License-Identifier: Apache-2.0
"""PySpark writes an error that a row raised to standard error, with the value in it.

It does so for every error, also for one that is caught, told in a sentence in the report, and
there without the value if `--redact` was asked for.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.logger import PySparkLogger

_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


@contextmanager
def values_not_told() -> Iterator[None]:
    """Within the block, PySpark keeps what a row raised to the error itself."""
    # By PySpark's own call: one that somebody else makes first is not of the class it needs.
    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was_disabled in zip(loggers, before, strict=True):
            logger.disabled = was_disabled
