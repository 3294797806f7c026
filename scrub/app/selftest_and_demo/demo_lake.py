# SPDX-License-Identifier: Apache-2.0
"""A lake of orders with four indexes, made up but of real Delta files."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scrub.app.selftest_and_demo.table_copy import TableCopy
from scrub.catalog import load_catalog

CATALOG = """\
version: 1
stores:
  lake: {kind: delta, path: ./lake}
tables:
  orders:
    store: lake
    columns:
      id:          {type: bigint, nullable: false}
      number:      {type: string}
      customer_id: {type: bigint}
      status:      {type: string}
      amount:      {type: "decimal(10,2)"}
      coupon:      {type: string}
      placed_on:   {type: date}
    primary_key: [id]
    indexes:
      by_number:   {columns: [number], unique: true}
      by_customer: {columns: [customer_id, {column: id, order: desc}], storing: [status]}
      open_orders: {columns: [placed_on], where: "status = 'open'", storing: [amount]}
      by_coupon:   {columns: [coupon], nulls: skip}
"""
_STATUSES = ("open", "paid", "shipped", "returned")
_COUPONS = ("SPRING5", "WELCOME", "FRIENDS10", "SORRY")
_FIRST_DAY = np.datetime64("2025-01-01")


def write_demo_catalog(directory: Path) -> Path:
    """The lake's `scrub.yaml`, as a person would write it."""
    path = directory / "scrub.yaml"
    path.write_text(CATALOG, encoding="utf-8")
    return path


def make_orders(catalog: Path, rows: int, seed: int) -> TableCopy:
    """Orders, and in every index exactly the entries that belong to them."""
    table = load_catalog(catalog).tables["orders"]
    orders = _orders(rows, np.random.default_rng(seed))
    covered = {
        "open_orders": pc.equal(orders["status"], "open"),
        "by_coupon": pc.is_valid(orders["coupon"]),
    }
    entries = {}
    for index in table.indexes:
        rows_covered = orders.filter(covered[index.name]) if index.name in covered else orders
        entry = rows_covered.select([column.name for column in index.entry])
        order = [(c.name, "descending" if c.descending else "ascending") for c in index.key]
        entries[index.name] = entry.sort_by(order).combine_chunks()
    return TableCopy(table=table, rows=orders, entries=entries)


def write_lake(copy: TableCopy, directory: Path) -> None:
    """Each relation as a Delta table of its own."""
    from deltalake import write_deltalake

    table = copy.table
    relations = {table.relation: copy.rows}
    relations |= {index.relation: copy.entries[index.name] for index in table.indexes}
    for name, relation in relations.items():
        write_deltalake(directory / name, relation)


def _orders(rows: int, rng: np.random.Generator) -> pa.Table:
    ids = np.arange(1, rows + 1)
    has_coupon = rng.random(rows) < 0.1  # noqa: PLR2004 - one order in ten
    return pa.table(
        {
            "id": pa.array(ids),
            "number": pc.binary_join_element_wise("A", pc.utf8_lpad(_text(ids), 8, "0"), "-"),
            "customer_id": pa.array(rng.integers(1, rows // 20 + 2, rows)),
            "status": _one_of(_STATUSES, rng.integers(0, len(_STATUSES), rows)),
            "amount": _cents(rng.integers(100, 100_000, rows)),
            "coupon": _one_of(_COUPONS, rng.integers(0, len(_COUPONS), rows), ~has_coupon),
            "placed_on": pa.array(_FIRST_DAY + np.sort(rng.integers(0, 365, rows))),
        }
    )


def _text(numbers: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> pa.Array:
    return pc.cast(pa.array(numbers), pa.string())


def _one_of(
    values: tuple[str, ...],
    codes: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    nulls: "np.ndarray[tuple[int], np.dtype[np.bool_]] | None" = None,
) -> pa.Array:
    return pa.array(values).take(pa.array(codes, mask=nulls))


def _cents(cents: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> pa.Array:
    """Whole cents as decimals: 128 bits each, of which the upper half is zero."""
    words = np.zeros((len(cents), 2), dtype=np.int64)
    words[:, 0] = cents
    buffers = [None, pa.py_buffer(words.tobytes())]
    return pa.Array.from_buffers(pa.decimal128(10, 2), len(cents), buffers)
