# SPDX-License-Identifier: Apache-2.0
"""Thousands of rows under suspicion, in a table whose key has two columns."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from scrub.model.build import Method, State
from scrub.model.table import Column, EntryColumn
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import (
    BIGINT,
    Ground,
    building,
    kv_table,
    persistently,
)

ROWS = 60_000
PLACE = EntryColumn(name="place", source="place", type=BIGINT)
TABLE = (
    "CREATE TABLE t (place bigint, k bigint, v text NOT NULL, s text, PRIMARY KEY (place, k))",
    f"INSERT INTO t SELECT i % 50, i, 'v' || i, 's' FROM generate_series(1, {ROWS}) AS i",
    "ANALYZE t",
)


@pytest.fixture
def ground(database: Database) -> Iterator[Ground]:
    plain = kv_table(unique=True)
    (index,) = plain.indexes
    table = replace(
        plain,
        columns=(Column(name="place", type=BIGINT, nullable=False), *plain.columns),
        primary_key=("place", "k"),
        indexes=(replace(index, suffix=(PLACE, *index.suffix)),),
    )
    with building(database, table, Method.INIT_PUT, *TABLE) as made:
        made.advance_to(State.BACKFILLING)
        made.load(rows=20_000)
        made.advance()
        yield made


def suspect(ground: Ground, rows: int) -> None:
    (entry,) = ground.build.place.entries
    ground.database.run(f"INSERT INTO {entry.suspects} SELECT place, k FROM t LIMIT {rows}")


def test_thousands_of_them_are_looked_at_in_one_short_transaction(ground: Ground) -> None:
    suspect(ground, 8_000)
    assert ground.build.verify_step(5_000).rows == 5_000
    ground.settle()
    assert not ground.suspects()


def test_those_that_came_last_do_not_keep_the_index_from_being_published(ground: Ground) -> None:
    suspect(ground, 1_000)
    assert persistently(ground.build.publish) == ()
    ground.assert_right()
