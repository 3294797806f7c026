# SPDX-License-Identifier: Apache-2.0
"""A row is gone and several indexes still hold it: none of them is emptied without being asked to.

The same table in PostgreSQL, in Delta and in Parquet files; order 7 is lost, order 99 never was.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from psycopg import conninfo

from reports.repairs import repair_as_text
from scrub.app.repairing.patch import write_patch
from scrub.app.repairing.repair import execute_repair, preview_repair
from scrub.errors import UsageError
from scrub.model.defect import DefectKind
from scrub.model.repair import RepairReport, RepairRequest
from tests.postgres_server import Database
from tests.scrub.cli.small_lake import (
    BY_CUSTOMER,
    BY_STATUS,
    ORDERS,
    described,
    write_catalog,
    write_orders,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOST, ALONE = 7, 99
OF_LOST = {"customer_id": 2, "id": LOST, "status": "open"}
OF_ALONE = {"customer_id": 1, "id": ALONE, "status": "open"}


@dataclass
class Shop:
    """A table with two indexes, wherever it is."""

    catalog: Path
    ids: Callable[[str], Sequence[int]]  # that an index holds

    def file(self, *entries: dict[str, Any], index: str = "by_customer") -> Path:
        """A result that tells dangling entries of one index."""
        defects = [
            {
                "kind": DefectKind.DANGLING,
                "table": "orders",
                "index": index,
                "primary_key": {"id": entry["id"]},
                "actual": entry,
            }
            for entry in entries
        ]
        check = {"check": "index", "index": index, "rows": 12, "entries": 13}
        tables = [{"table": "orders", "checks": [check]}]
        path = self.catalog.parent / "result.json"
        path.write_text(json.dumps({"schema_version": 1, "tables": tables, "defects": defects}))
        return path

    def request(self, *entries: dict[str, Any], **given: Any) -> RepairRequest:
        file = self.file(*entries) if entries else None
        return RepairRequest(
            table="orders", catalog=self.catalog, from_file=file, max_fraction=1.0, **given
        )


def with_row(table: pa.Table, row: dict[str, Any]) -> pa.Table:
    return pa.concat_tables([table, pa.Table.from_pylist([row], schema=table.schema)])


def without_lost(table: pa.Table) -> pa.Table:
    return table.filter(pa.array([number != LOST for number in table["id"].to_pylist()]))


def lake(folder: Path, store: str = "lake") -> Shop:
    root = folder / store
    write_orders(root, table=without_lost(ORDERS), by_customer=with_row(BY_CUSTOMER, OF_ALONE))

    def ids(index: str) -> list[int]:
        table = DeltaTable(root / f"orders__{index}").to_pyarrow_table()
        return sorted(table["id"].to_pylist())

    return Shop(write_catalog(folder, orders=described(store)), ids)


def in_postgres(database: Database, folder: Path) -> Shop:
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, status text, qty int)",
        "CREATE TABLE orders__by_customer (customer_id bigint, id bigint, status text)",
        "CREATE TABLE orders__by_status (status text, id bigint)",
    )
    with database.connect() as connection, connection.cursor() as cursor:
        for name, table in (
            ("orders", without_lost(ORDERS)),
            ("orders__by_customer", with_row(BY_CUSTOMER, OF_ALONE)),
            ("orders__by_status", BY_STATUS),
        ):
            columns = ", ".join(table.column_names)
            places = ", ".join(["%s"] * table.num_columns)
            cursor.executemany(
                f"INSERT INTO {name} ({columns}) VALUES ({places})",
                [tuple(row.values()) for row in table.to_pylist()],
            )

    def ids(index: str) -> list[int]:
        return [row[0] for row in database.rows(f"SELECT id FROM orders__{index} ORDER BY id")]

    catalog = write_catalog(folder, orders=described("shop"))
    document = json.loads(catalog.read_text())
    document["stores"]["shop"] = {"kind": "postgres", "url": database.url}
    catalog.write_text(json.dumps(document))
    return Shop(catalog, ids)


@pytest.fixture(params=["postgres", "delta"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    if request.param == "delta":
        return lake(tmp_path)
    return in_postgres(request.getfixturevalue("database"), tmp_path)


def deleted(report: RepairReport) -> list[Any]:
    return [(action.primary_key or {})["id"] for action in report.plan.actions]


@pytest.mark.parametrize("indexes", [("by_customer",), ()], ids=["--index and --from", "--from"])
def test_an_index_chosen_by_itself_does_not_lose_what_others_tell_of_a_lost_row(
    shop: Shop, indexes: tuple[str, ...]
) -> None:
    """Formerly the deletion was planned without a word; the entry of a single index still goes."""
    before = shop.ids("by_customer")
    report = execute_repair(shop.request(OF_LOST, OF_ALONE, indexes=indexes))
    assert deleted(report) == [ALONE]
    (refusal,) = report.plan.refusals
    assert refusal.primary_key == {"id": LOST}
    assert "several indexes agree on this row" in refusal.reason
    assert "--delete-last-copies" in refusal.remedy
    assert "--index" not in refusal.remedy
    (row,) = report.plan.lost_rows
    assert (row.primary_key, row.indexes) == ({"id": LOST}, ("by_customer", "by_status"))
    assert row.columns == OF_LOST
    assert report.exit_code == 1
    assert shop.ids("by_customer") == [one for one in before if one != ALONE]


@pytest.mark.spark
def test_a_check_of_one_index_asks_the_others_for_the_rows_concerned(
    shop: Shop, spark: "SparkSession"
) -> None:
    report = preview_repair(shop.request(indexes=("by_customer",)), spark=spark)
    assert deleted(report) == [ALONE]
    assert [refusal.primary_key for refusal in report.plan.refusals] == [{"id": LOST}]


def test_last_copies_are_deleted_when_that_is_asked_for_and_the_plan_says_what_is_lost(
    shop: Shop,
) -> None:
    request = shop.request(OF_LOST, indexes=("by_customer",), delete_last_copies=True)
    told = repair_as_text(preview_repair(request))
    assert "Rows whose last copies would be deleted, as asked with --delete-last-copies" in told
    assert "customer_id=2" in told
    assert "found alike in by_customer, by_status" in told
    report = execute_repair(request)
    assert (deleted(report), report.plan.refusals) == ([LOST], ())
    assert LOST not in shop.ids("by_customer")
    assert LOST in shop.ids("by_status")


def test_recovering_from_a_file_of_one_index_deletes_nothing_of_a_lost_row(shop: Shop) -> None:
    report = preview_repair(shop.request(OF_LOST, recover_rows=True))
    assert report.plan.actions == ()
    (refusal,) = report.plan.refusals
    assert "index by_status holds an entry of this row too" in refusal.reason


def test_putting_rows_back_and_deleting_what_is_left_of_them_do_not_go_together(
    shop: Shop,
) -> None:
    request = shop.request(OF_LOST, recover_rows=True, delete_last_copies=True)
    with pytest.raises(UsageError, match="--delete-last-copies deletes what is left") as error:
        preview_repair(request)
    assert error.value.exit_code == 2


def test_indexes_that_tell_a_row_differently_do_not_agree_on_one(shop: Shop) -> None:
    report = preview_repair(shop.request({**OF_LOST, "status": "another"}))
    assert deleted(report) == [LOST]


def test_an_index_that_may_not_be_read_is_no_reason_to_delete(
    database: Database, tmp_path: Path
) -> None:
    shop = in_postgres(database, tmp_path)
    database.run(
        "CREATE ROLE reader LOGIN", "GRANT ALL ON SCHEMA public TO reader",
        "GRANT ALL ON orders, orders__by_customer TO reader",
    )  # fmt: skip
    document = json.loads(shop.catalog.read_text())
    url = conninfo.make_conninfo(database.url, user="reader")
    document["stores"]["shop"]["url"] = url
    shop.catalog.write_text(json.dumps(document))
    try:
        report = preview_repair(shop.request(OF_LOST, OF_ALONE))
        assert report.plan.actions == ()
        for refusal in report.plan.refusals:
            assert "index by_status may hold the row too" in refusal.reason
            assert "permission denied" in refusal.reason
            assert "--delete-last-copies" in refusal.remedy
        meant = preview_repair(shop.request(OF_LOST, OF_ALONE, delete_last_copies=True))
        assert deleted(meant) == [LOST, ALONE]
    finally:
        database.run("DROP OWNED BY reader", "DROP ROLE reader")


def test_an_index_of_delta_that_cannot_be_read_is_no_reason_to_delete(tmp_path: Path) -> None:
    shop = lake(tmp_path)
    wrong = pa.table({"status": ["open"], "id": ["seven"]})
    relation = tmp_path / "lake" / "orders__by_status"
    write_deltalake(relation, wrong, mode="overwrite", schema_mode="overwrite")
    report = preview_repair(shop.request(OF_LOST))
    (refusal,) = report.plan.refusals
    assert "index by_status may hold the row too" in refusal.reason


def test_an_index_that_is_not_built_holds_nothing(shop: Shop) -> None:
    document = json.loads(shop.catalog.read_text())
    indexes = document["tables"]["orders"]["indexes"]
    indexes["by_qty"] = {"columns": ["qty"]}
    del indexes["by_status"]
    shop.catalog.write_text(json.dumps(document))
    assert deleted(preview_repair(shop.request(OF_LOST))) == [LOST]


@pytest.mark.spark
def test_a_patch_of_files_keeps_what_another_index_tells_of_a_lost_row(
    tmp_path: Path, spark: "SparkSession"
) -> None:
    shop = lake(tmp_path, "files")
    report = write_patch(shop.request(OF_LOST, OF_ALONE), tmp_path / "patch", spark=spark)
    assert deleted(report) == [ALONE]
    assert [row.primary_key for row in report.plan.lost_rows] == [{"id": LOST}]
