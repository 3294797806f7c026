# SPDX-License-Identifier: Apache-2.0
"""A process that has a Spark session of its own and borrows it to scrub; started by tests.

Prints a JSON line for each catalog: by index, the status and the reason of its check.
"""

import json
import sys

from pyspark.sql import SparkSession

from scrub.app import check
from scrub.spark.time_zone import SETTING


def main(where: str, *catalogs: str) -> None:
    builder = SparkSession.builder.config("spark.ui.enabled", "false")
    builder = builder.config("spark.log.level", "OFF").config(SETTING, "Europe/Berlin")
    builder = builder.remote("local[2]") if where == "connect" else builder.master("local[2]")
    spark = builder.getOrCreate()
    for catalog in catalogs:
        result = check(catalog=catalog, spark=spark)
        outcomes = {one.index: (one.status.value, one.reason) for one in result.outcomes}
        print(json.dumps(outcomes))  # noqa: T201 - this is what it is for
        assert spark.conf.get(SETTING) == "Europe/Berlin"
        assert spark.range(3).count() == 3


if __name__ == "__main__":
    main(*sys.argv[1:])
