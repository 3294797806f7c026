# SPDX-License-Identifier: Apache-2.0
"""Every partition gets one range, as Spark divides rows."""

from typing import TYPE_CHECKING

import pytest

from checks.keys.range_places import places_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("partitions", [1, 2, 7, 200])
def test_there_is_one_place_for_each_partition(partitions: int) -> None:
    assert len(set(places_of(partitions))) == partitions


@pytest.mark.spark
def test_places_are_those_of_sparks_hash(spark: "SparkSession") -> None:
    places = places_of(13)
    frame = spark.createDataFrame([(place,) for place in places], "place int")
    rows = frame.selectExpr("place", "pmod(hash(place), 13) AS partition").collect()
    assert sorted((row.partition, row.place) for row in rows) == list(enumerate(places))
