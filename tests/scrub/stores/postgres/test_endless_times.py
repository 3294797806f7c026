# SPDX-License-Identifier: Apache-2.0
"""Infinite dates and times keep their order, whatever the driver makes of them."""

import pytest

from scrub.model.table import Column, Store
from scrub.model.types import ColumnType, TypeName
from scrub.stores.postgres.reader import PostgresSplitReader
from scrub.stores.postgres.store import PostgresStore
from tests.postgres_server import new_database


@pytest.mark.parametrize(
    ("server", "name", "bits"),
    [
        ("date", TypeName.DATE, 32),
        ("timestamptz", TypeName.TIMESTAMP, 64),
        ("timestamp", TypeName.TIMESTAMP_NTZ, 64),
    ],
)
def test_infinity_follows_and_minus_infinity_precedes_every_other_time(
    postgres_url: str, server: str, name: TypeName, bits: int
) -> None:
    columns = [Column(name="v", type=ColumnType(name))]
    with new_database(postgres_url) as database:
        database.run(
            f"CREATE TABLE t (v {server})",
            "INSERT INTO t VALUES ('infinity'), ('-infinity'), ('1970-01-01'), (NULL)",
        )
        store = PostgresStore(Store(name="shop", kind="postgres", url=database.url))
        try:
            facts = store.pin("t", None, lambda: pytest.fail("no session is needed"), columns)
            split = PostgresSplitReader(facts.splits[0], columns, facts.storage_options)
            (batch,) = split.batches()
        finally:
            store.close()
    values = batch.column(0).view(f"int{bits}").to_pylist()
    assert values == [2 ** (bits - 1) - 1, -(2 ** (bits - 1)), 0, None]
