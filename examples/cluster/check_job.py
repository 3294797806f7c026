# SPDX-License-Identifier: Apache-2.0
"""A check as a spark-submit application: takes what `scrub check` takes, and exits as it does.

The session comes from spark-submit with its settings; scrub borrows it and leaves it running.
"""

import sys
from collections.abc import Sequence

from pyspark.sql import SparkSession

from scrub.cli.main import run


def main(arguments: Sequence[str]) -> int:
    """Run `scrub check ARGUMENTS` in the session that spark-submit describes."""
    spark = SparkSession.builder.appName("scrub check").getOrCreate()
    try:
        return run(["check", *arguments])
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
