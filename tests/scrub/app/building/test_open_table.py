# SPDX-License-Identifier: Apache-2.0
"""Writing to a table from a job, with its indexes caught up."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from scrub.app.building.open_table import open_table
from scrub.errors import UsageError
from tests.builders import write_catalog
from tests.scrub.stores.delta.delta_ground import DeltaGround, rows_of


@pytest.fixture
def ground(tmp_path: Path) -> DeltaGround:
    made = DeltaGround(tmp_path, rows_of((1, 10, "open"), (2, 20, "paid"), (3, 30, None)))
    made.load()
    return made


def keys(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array(numbers, pa.int64())})


def test_upserts_and_deletes_are_one_commit_and_the_index_follows(ground: DeltaGround) -> None:
    table = open_table(ground.catalog, "orders")
    written = table.write(upserts=rows_of((1, 11, "open"), (9, 90, "new")), deletes=keys(2, 77))
    assert (written.version, written.inserted, written.updated, written.deleted) == (1, 1, 1, 1)
    assert sorted(row["id"] for row in ground.rows()) == [1, 3, 9]
    assert ground.entries() == ground.expected()
    assert [(one.index, one.lag) for one in written.indexes.followed] == [("by_customer", 0)]


def test_nothing_to_write_commits_nothing_and_still_catches_up(ground: DeltaGround) -> None:
    ground.append((5, 50, "open"))
    written = open_table(ground.catalog, "orders").write()
    assert (written.version, written.inserted) == (1, 0)
    assert ground.table.version() == 1
    assert ground.entries() == ground.expected()


def test_writers_at_the_same_time_all_succeed_and_the_index_is_right(ground: DeltaGround) -> None:
    def write(writer: int) -> None:
        table = open_table(ground.catalog, "orders")
        for number in range(4):
            rows = rows_of((1, writer, str(number)), (100 + writer, writer, str(number)))
            table.write(upserts=rows)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, range(3)))
    open_table(ground.catalog, "orders").write()
    assert ground.table.version() == 12
    assert ground.entries() == ground.expected()
    assert len(ground.rows()) == 6


@pytest.mark.parametrize(
    ("upserts", "deletes", "message"),
    [
        (rows_of((1, 1, "a"), (1, 2, "b")), None, "more than once"),
        (rows_of((1, 1, "a")), keys(1), "more than once"),
        (rows_of((None, 1, "a")), None, "may not be NULL"),
        (keys(1), None, "lack: customer_id, status"),
        (None, rows_of((1, 1, "a")).select(["status"]), "lack: id"),
        (rows_of((1, 1, "a")).append_column("x", pa.array([1])), None, "has no column x"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    ground: DeltaGround, upserts: Any, deletes: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        open_table(ground.catalog, "orders").write(upserts, deletes)
    assert ground.table.version() == 0


@pytest.mark.parametrize("indexes", [None, {}], ids=["none that follows", "none at all"])
def test_a_table_without_a_following_index_is_written(tmp_path: Path, indexes: Any) -> None:
    write_deltalake(str(tmp_path / "orders"), rows_of((1, 1, "a")))
    catalog = write_catalog(tmp_path, indexes)
    written = open_table(catalog, "orders").write(deletes=keys(1))
    assert written.deleted == 1
    assert written.indexes.passed_over == (["by_customer"] if indexes is None else [])


def test_names_that_need_quoting(tmp_path: Path) -> None:
    columns = {"id": "bigint", "Customer Id": "bigint", 'it"s': "string"}
    schema = pa.schema([("id", pa.int64()), ("Customer Id", pa.int64()), ('it"s', pa.string())])
    write_deltalake(str(tmp_path / "orders"), pa.table([[1], [2], ["a"]], schema))
    indexes = {"by_customer": {"columns": ["Customer Id"], "storing": ['it"s']}}
    catalog = write_catalog(tmp_path, indexes, columns)
    open_table(catalog, "orders").write(upserts=pa.table([[1, 3], [5, 6], ["b", "c"]], schema))
    rows = DeltaTable(str(tmp_path / "orders")).to_pyarrow_table().sort_by("id").to_pylist()
    assert [tuple(row.values()) for row in rows] == [(1, 5, "b"), (3, 6, "c")]
