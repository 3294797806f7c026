# SPDX-License-Identifier: Apache-2.0
"""Chunks of a single index, whose entries go straight from the table into it."""

from dataclasses import replace
from typing import Any

import pytest

from scrub.errors import RelationMismatch
from scrub.model.build import Method, State
from scrub.model.table import Column, EntryColumn, Nulls, Table
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import BIGINT, STRING, Ground, building, kv_table

PAIRED = "CREATE TABLE t (k bigint, b bigint, v text NOT NULL, s text, PRIMARY KEY (k, b))"


def paired_table() -> Table:
    """The usual table with a primary key of two columns."""
    table = kv_table(unique=False)
    (index,) = table.indexes
    b = EntryColumn(name="b", source="b", type=BIGINT)
    return replace(
        table,
        columns=(*table.columns, Column(name="b", type=BIGINT, nullable=False)),
        primary_key=("k", "b"),
        indexes=(replace(index, suffix=(*index.suffix, b)),),
    )


def texts_table() -> Table:
    """The usual table with a primary key of text."""
    table = kv_table(unique=False)
    (index,) = table.indexes
    k, *others = table.columns
    suffix = (EntryColumn(name="k", source="k", type=STRING),)
    return replace(
        table,
        columns=(replace(k, type=STRING), *others),
        indexes=(replace(index, suffix=suffix),),
    )


def partial_table() -> Table:
    table = kv_table(unique=False, nullable=True)
    (index,) = table.indexes
    return replace(table, indexes=(replace(index, where="s = 'yes'", nulls=Nulls.SKIP),))


_SHAPES: dict[str, tuple[Table, str, str]] = {
    "plain": (
        kv_table(unique=False),
        "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text)",
        "INSERT INTO t SELECT n, 'v' || n % 3 FROM generate_series(1, 20) AS n",
    ),
    "composite key": (
        paired_table(),
        PAIRED,
        "INSERT INTO t SELECT n / 4, n % 4, 'v' || n % 3 FROM generate_series(1, 20) AS n",
    ),
    "text key": (
        texts_table(),
        "CREATE TABLE t (k text PRIMARY KEY, v text NOT NULL, s text)",
        "INSERT INTO t SELECT 'k' || n, 'v' || n % 3 FROM generate_series(1, 20) AS n",
    ),
    "some rows only": (
        partial_table(),
        "CREATE TABLE t (k bigint PRIMARY KEY, v text, s text)",
        "INSERT INTO t SELECT n, CASE WHEN n % 5 > 0 THEN 'v' || n END,"
        " CASE WHEN n % 3 = 0 THEN 'yes' ELSE 'no' END FROM generate_series(1, 20) AS n",
    ),
    "empty": (
        kv_table(unique=False),
        "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text)",
        "SELECT 1",
    ),
}


@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize("rows", [1, 5, 7, 20, 100])  # 5 and 20 leave nothing for the last chunk
@pytest.mark.parametrize("shape", list(_SHAPES))
def test_every_row_is_in_one_chunk_and_is_counted_once(
    database: Database, shape: str, rows: int, method: Method
) -> None:
    table, create, insert = _SHAPES[shape]
    with building(database, table, method, create, insert) as ground:
        ground.advance_to(State.WRITE_AND_DELETE)
        ground.build.plan_load(3)
        ground.advance()
        ground.load(rows)
        assert ground.entries() == ground.expected()
        assert sum(step.rows for step in ground.steps) == (0 if shape == "empty" else 20)
        assert sum(step.entries for step in ground.steps) == len(ground.expected())
        assert not any(step.slow for step in ground.steps)


@pytest.mark.parametrize("method", list(Method))
def test_a_range_that_is_done_is_finished_also_for_whoever_did_not_hear_of_it(
    database: Database, method: Method
) -> None:
    """A chunk may be called off at the moment when it is committed; it is then tried again."""
    table, create, insert = _SHAPES["plain"]
    with building(database, table, method, create, insert) as ground:
        ground.advance_to(State.BACKFILLING)
        ground.load(7)
        again = ground.build.load_step(0, 7)
        assert (again.rows, again.finished, again.clashes) == (0, True, ())
        assert ground.entries() == ground.expected()


def _blocks_read(ground: Ground, rows: int) -> int:
    """By the statement of the next chunk of the first range, which is then taken back."""
    loading = ground.build.loading
    statement = loading._statements(loading.range(0), rows).plain()
    with (
        ground.database.connect() as connection,
        connection.transaction(force_rollback=True),
    ):
        connection.execute("SET LOCAL enable_seqscan = off")
        explained = f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement}"
        found = connection.execute(explained).fetchall()[0][0]
    scans = [node for node in _nodes(found[0]["Plan"]) if "Scan" in node["Node Type"]]
    return sum(
        node["Shared Hit Blocks"] + node["Shared Read Blocks"]
        for node in scans
        if node.get("Relation Name") == "t" or node.get("Index Name") == "t_pkey"
    )


def _nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for part in plan.get("Plans", ()) for node in _nodes(part))]


def test_a_chunk_of_a_composite_key_reads_itself_and_not_the_rest_of_its_range(
    database: Database,
) -> None:
    insert = "INSERT INTO t SELECT n / 10, n % 10, 'v' FROM generate_series(1, 40000) AS n"
    with building(database, paired_table(), Method.INIT_PUT, PAIRED, insert, "ANALYZE t") as ground:
        ground.advance_to(State.WRITE_AND_DELETE)
        ground.build.plan_load(2)
        ground.advance()
        assert ground.build.loading.range(0).upper_key is not None
        assert _blocks_read(ground, 100) < 60  # of about 200 that the range has


def test_a_key_that_may_be_null_is_refused_before_anything_is_made(database: Database) -> None:
    """No order has a place for it; a chunk that ends with NULL would be empty."""
    create = "CREATE TABLE t (k bigint UNIQUE, v text NOT NULL, s text)"
    with (
        pytest.raises(RelationMismatch, match="without NULLs"),
        building(database, kv_table(unique=False), Method.INIT_PUT, create),
    ):
        pass
