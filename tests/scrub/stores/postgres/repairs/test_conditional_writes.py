# SPDX-License-Identifier: Apache-2.0
"""Conditional writes where PostgreSQL has more than the contract speaks of."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from scrub.errors import RelationMismatch
from scrub.model.entry_shape import EntryShape, Tombstones
from scrub.model.table import Column, Store
from scrub.model.types import parse_type
from scrub.stores.entry_states import Outcome
from tests.postgres_server import Database
from tests.scrub.stores.conditional_writes import PostgresWrites

WRITTEN, UNCHANGED, CONFLICT = Outcome.WRITTEN, Outcome.UNCHANGED, Outcome.CONFLICT


def column(name: str, kind: str, nullable: bool = True) -> Column:
    return Column(name=name, type=parse_type(kind), nullable=nullable)


def shape(relation: str = "i", tombstones: Tombstones = Tombstones.NONE) -> EntryShape:
    return EntryShape(
        relation=relation,
        indexed=(column("v", "string"),),
        suffix=(column("k", "bigint", nullable=False),),
        tombstones=tombstones,
    )


def entries(*rows: tuple[Any, Any]) -> pa.Table:
    return pa.table({"v": [row[0] for row in rows], "k": [row[1] for row in rows]})


def writer(database: Database) -> PostgresWrites:
    return PostgresWrites(Store(name="shop", kind="postgres", url=database.url))


def test_a_marked_tombstone_keeps_the_place_of_what_was_deleted(database: Database) -> None:
    database.run("CREATE TABLE i (v text, k bigint, scrub_deleted boolean NOT NULL DEFAULT false)")
    store, marked = writer(database), shape(tombstones=Tombstones.MARKED)
    one = entries(("a", 1))
    assert store.init_put(marked, one, fail_on_tombstones=True) == [WRITTEN]
    assert store.delete_if_equal(marked, one) == [WRITTEN]
    assert database.rows("SELECT * FROM i") == [("a", 1, True)]
    assert store.read_entries(marked, one) == [None]
    assert store.delete_if_equal(marked, one) == [UNCHANGED]
    assert store.init_put(marked, one, fail_on_tombstones=True) == [CONFLICT]
    assert store.init_put(marked, one, fail_on_tombstones=False) == [WRITTEN]
    assert database.rows("SELECT * FROM i") == [("a", 1, False)]


def test_without_a_unique_index_two_writers_still_put_one_entry(database: Database) -> None:
    database.run("CREATE TABLE i (v text, k bigint)")

    def put(number: int) -> list[Outcome]:
        return list(
            writer(database).init_put(
                shape(), entries((f"{number % 5}", 1)), fail_on_tombstones=True
            )
        )

    with ThreadPoolExecutor(4) as pool:
        outcomes = [outcome for found in pool.map(put, range(20)) for outcome in found]
    assert outcomes.count(WRITTEN) == 5
    assert database.rows("SELECT count(*) FROM i") == [(5,)]


def test_types_and_names_of_the_server_are_kept(database: Database) -> None:
    database.run(
        "CREATE TYPE mood AS ENUM ('fine', 'odd')",
        'CREATE TABLE "an ""index""" (v mood, k numeric(5,0), PRIMARY KEY (v, k))',
    )
    named = EntryShape(
        relation='an "index"',
        indexed=(column("v", "string", nullable=False),),
        suffix=(column("k", "decimal(5,0)", nullable=False),),
    )
    store = writer(database)
    one = pa.table({"v": ["odd"], "k": pa.array([Decimal(1)], pa.decimal128(5, 0))})
    assert store.init_put(named, one, fail_on_tombstones=True) == [WRITTEN]
    assert store.init_put(named, one, fail_on_tombstones=True) == [UNCHANGED]
    assert database.rows('SELECT v::text, k FROM "an ""index"""') == [("odd", 1)]


def test_an_entry_is_found_in_its_partition(database: Database) -> None:
    database.run(
        "CREATE TABLE i (v text NOT NULL, k bigint NOT NULL, PRIMARY KEY (v, k)) "
        "PARTITION BY HASH (v)",
        *(
            f"CREATE TABLE i{n} PARTITION OF i FOR VALUES WITH (MODULUS 3, REMAINDER {n})"
            for n in range(3)
        ),
    )
    store = writer(database)
    rows = [(str(n), n) for n in range(20)]
    known = EntryShape(
        relation="i",
        indexed=(column("v", "string", nullable=False),),
        suffix=(column("k", "bigint", nullable=False),),
    )
    store.init_put(known, entries(*rows), fail_on_tombstones=True)
    assert store.delete_if_equal(known, entries(*rows[5:])) == [WRITTEN] * 15
    assert sorted(database.rows("SELECT * FROM i")) == rows[:5]


def test_a_column_that_is_not_there_is_named(database: Database) -> None:
    database.run("CREATE TABLE i (v text)")
    with pytest.raises(RelationMismatch, match=r"public\.i has no column k"):
        writer(database).init_put(shape(), entries(("a", 1)), fail_on_tombstones=True)
