# SPDX-License-Identifier: Apache-2.0
"""What all tests share: one Spark session, and the marker of tests that need none."""

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.postgres_server import Database

# Compiling a loop for the first time takes longer than any deadline of a single example.
settings.register_profile("scrub", deadline=None)
settings.load_profile("scrub")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not any(item.get_closest_marker(cost) for cost in ("spark", "slow")):
            item.add_marker(pytest.mark.fast)
    # A worker takes a file at a time: with a long one last, the other would have nothing to do.
    long = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """A small local session, shared because starting one takes seconds."""
    from pyspark.sql import SparkSession

    from scrub.spark.class_archive import using_archive
    from scrub.spark.launching import ended_if_interrupted
    from scrub.spark.session_settings import JAVA_OPTIONS

    os.environ["PYSPARK_PYTHON"] = sys.executable
    home = tmp_path_factory.mktemp("spark")
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("scrub tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        # Plans of tiny tables run once: compiling them costs more than running them. Commands that
        # tests start as processes of their own have Spark's settings as they come.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config(JAVA_OPTIONS, " ".join(using_archive()))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")
    )
    with ended_if_interrupted():
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


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
