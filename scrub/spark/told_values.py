# SPDX-License-Identifier: Apache-2.0
"""Keeps PySpark from printing values of rows to standard error.

PySpark prints every error that a row raises, with the value, even if the error is caught and
reported without the value because of `--redact`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.logger import PySparkLogger

_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


@contextmanager
def values_not_told() -> Iterator[None]:
    """Within the block, PySpark does not print errors of rows; it only raises them."""
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
