# SPDX-License-Identifier: Apache-2.0
"""What all tests share: one Spark session, and the marker of tests that need none."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.small_session import have_quick_jvms, small_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.postgres_server import Database

# Compiling a loop for the first time takes longer than any deadline of a single example.
settings.register_profile("scrub", deadline=None)
settings.load_profile("scrub")
have_quick_jvms()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not any(item.get_closest_marker(cost) for cost in ("spark", "slow")):
            item.add_marker(pytest.mark.fast)
    # A worker takes a file at a time: with a long one last, the other would have nothing to do.
    slow, spark = (
        {item.path for item in items if item.get_closest_marker(cost)} for cost in ("slow", "spark")
    )
    items.sort(key=lambda item: (item.path not in slow, item.path not in spark))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """A small local session, shared because starting one takes seconds."""
    session = small_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def light_spark(spark: "SparkSession") -> Iterator["SparkSession"]:
    """One partition is enough for tiny tables, of which a plan has many."""
    key = "spark.sql.shuffle.partitions"
    before = spark.conf.get(key)
    spark.conf.set(key, "1")
    yield spark
    spark.conf.set(key, before)


@pytest.fixture(params=["true", "false"], ids=["ansi", "legacy"])
def ansi_mode(request: pytest.FixtureRequest, spark: "SparkSession") -> Iterator[str]:
    """Both of Spark's ideas of what a failing expression does."""
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield request.param
    spark.conf.set("spark.sql.ansi.enabled", before)


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """A server for all tests; starting one takes a second."""
    from tests.postgres_server import start_server

    return start_server()


@pytest.fixture
def database(postgres_url: str) -> Iterator["Database"]:
    """An empty database of a real server."""
    from tests.postgres_server import new_database

    with new_database(postgres_url) as made:
        yield made
