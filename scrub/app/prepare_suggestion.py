# SPDX-License-Identifier: Apache-2.0
"""Whether to suggest `scrub prepare`: once, where Spark would start faster for it."""

import os
import sys

from scrub.app.checking.state_directory import state_directory
from scrub.model.request import SparkOptions

_TOLD = "prepare-suggested"


def suggest_once(options: SparkOptions) -> bool:
    """Whether it would help whoever has just waited for Spark, and nobody has told them yet."""
    directory = state_directory()
    if directory is None or not _would_help(options):
        return False
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / _TOLD).touch(exist_ok=False)
    except OSError:
        return False  # they were told, or it cannot be remembered that they are
    return True


def _would_help(options: SparkOptions) -> bool:
    """Whether the JVM is one of ours, and starts without an archive that could be made."""
    from scrub.spark.class_archive import using_archive
    from scrub.spark.session_settings import JAVA_OPTIONS, defaults

    is_ours = JAVA_OPTIONS in defaults(options, few_rows=False)
    if not is_ours or JAVA_OPTIONS in dict(options.conf) or using_archive():
        return False
    return os.access(sys.prefix, os.W_OK)
