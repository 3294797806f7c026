# SPDX-License-Identifier: Apache-2.0
"""What processes of tests run; imported before they are forked, so it imports no test."""

import sys

import pytest

from scrub.cli.main import main


def scrub_telling_of_spark(*arguments: str) -> None:
    """The command; its last line on standard error says whether it started a JVM."""
    sys.argv[1:] = arguments
    try:
        main()
    finally:
        pyspark = sys.modules.get("pyspark")
        started = pyspark is not None and pyspark.SparkContext._gateway is not None
        sys.stderr.write("a JVM was started\n" if started else "no JVM\n")


def pytest_of_a_user(*arguments: str) -> None:
    sys.exit(pytest.main(list(arguments)))
