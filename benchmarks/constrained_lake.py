# SPDX-License-Identifier: Apache-2.0
"""The lake whose constraints are measured: sales, which refer to customers and to products.

It keeps every constraint. A small copy of it does not, so that whoever is timed can first show that
it sees violations.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import data, shapes
from benchmarks.shapes import IndexShape

TABLE = "sales"
CUSTOMERS, PRODUCTS = "customers", "products"
CUSTOMERS_MAX, PRODUCTS_MAX = 1_000_000, 10_000_000
PARENT_FILES = 4
BY_CUSTOMER = IndexShape("by_customer", ("customer_id", "id"), ("status", "amount"))

COLUMNS = {
    "id": "bigint, nullable: false",
    "customer_id": "bigint, nullable: false",
    "product_id": "bigint",
    "status": "string, nullable: false",
    "amount": '"decimal(10,2)"',
    "reference": "bigint",
}
CHECKS = {
    "positive_amount": "amount >= 0",
    "known_status": "status IN ('open', 'paid', 'shipped', 'cancelled')",
}
OF_ROWS = ("not_null", *CHECKS)
UNIQUE, TO_CUSTOMERS, TO_PRODUCTS = "one_reference", "customer", "product"
CONSTRAINTS = (*OF_ROWS, "primary_key", UNIQUE, TO_CUSTOMERS, TO_PRODUCTS)

DAMAGED_ROWS = 20_000
_STRIDE = 2_000  # of the damaged rows, so many apart are damaged in the same way
HITS = DAMAGED_ROWS // _STRIDE
PLANTED: Mapping[str, int] = dict.fromkeys(CONSTRAINTS, HITS) | {UNIQUE: 2 * HITS}
"""By constraint, the violations in the damaged copy; of a shared key, both rows are violations."""

FORMAT = 2  # to be raised whenever other data is generated, so that no old lake is used


@dataclass(frozen=True, slots=True)
class ConstrainedLake:
    """The generated lake of one size; `damaged` violates each constraint."""

    home: Path
    rows: int
    damaged: bool = False

    @classmethod
    def under(cls, directory: Path, rows: int) -> "ConstrainedLake":
        return cls(directory / f"sales-{rows}-format-{FORMAT}", rows)

    @classmethod
    def damaged_under(cls, directory: Path) -> "ConstrainedLake":
        return cls(directory / f"sales-damaged-format-{FORMAT}", DAMAGED_ROWS, damaged=True)

    @property
    def customers(self) -> int:
        return min(CUSTOMERS_MAX, self.rows // 5)

    @property
    def products(self) -> int:
        return min(PRODUCTS_MAX, self.rows)

    @property
    def catalog(self) -> Path:
        """The catalog with the index."""
        return self.home / "scrub.yaml"

    @property
    def catalog_of_constraints(self) -> Path:
        """The same without the index."""
        return self.home / "constraints.yaml"

    def relation(self, name: str) -> Path:
        return self.home / "lake" / name

    @property
    def index(self) -> Path:
        return self.relation(f"{TABLE}__{BY_CUSTOMER.name}")

    def generate(self) -> None:
        """Make what is not there yet, and bring it into the page cache."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.catalog.write_text(catalog_text(with_index=True))
        self.catalog_of_constraints.write_text(catalog_text(with_index=False))
        for name, rows in ((CUSTOMERS, self.customers), (PRODUCTS, self.products)):
            if not self.relation(name).exists():
                data.write_in_ranges(self.relation(name), rows, PARENT_FILES, _parents_query)
        table = self.relation(TABLE)
        if not table.exists():
            data.write_in_ranges(table, self.rows, shapes.TABLE_FILES, self._rows_query)
        if not self.index.exists():
            data.write_sorted(self.index, data.entries_of(table, BY_CUSTOMER), BY_CUSTOMER.key)
        data.read_ahead([table, self.index, self.relation(CUSTOMERS), self.relation(PRODUCTS)])

    def _rows_query(self, begin: int, end: int) -> str:
        """Sales [begin, end), each depending on its number alone; one in 100 is of no product."""
        sound = f"""
            WITH drawn AS (
                SELECT range AS id, hash(range, 1) AS a, hash(range, 2) AS b, hash(range, 3) AS c
                FROM range({begin}, {end})
            )
            SELECT
                id,
                (a % {self.customers})::BIGINT AS customer_id,
                CASE WHEN b % 100 > 0 THEN (c % {self.products})::BIGINT END AS product_id,
                ['open', 'paid', 'shipped', 'cancelled'][1 + ((b >> 8) % 4)::INT] AS status,
                (((b >> 16) % 10000000)::BIGINT / 100)::DECIMAL(10, 2) AS amount,
                {_reference("id")} AS reference
            FROM drawn
        """
        return f"{_with_violations(sound) if self.damaged else sound} ORDER BY id"


def catalog_text(*, with_index: bool) -> str:
    """A catalog of the lake, to be put beside its directory."""
    columns = "\n".join(f"      {name}: {{type: {rest}}}" for name, rest in COLUMNS.items())
    checks = "\n".join(f'      {name}: "{condition}"' for name, condition in CHECKS.items())
    indexes = f"""
    indexes:
      {BY_CUSTOMER.name}:
        columns: [{", ".join(BY_CUSTOMER.key)}]
        storing: [{", ".join(BY_CUSTOMER.stored)}]"""
    parents = "".join(
        f"""
  {name}:
    store: lake
    columns: {{id: {{type: bigint, nullable: false}}}}
    primary_key: [id]"""
        for name in (CUSTOMERS, PRODUCTS)
    )
    catalog = f"""version: 1
stores:
  lake: {{kind: delta, path: ./lake}}
tables:
  {TABLE}:
    store: lake
    columns:
{columns}
    primary_key: [id]
    checks:
{checks}
    unique:
      {UNIQUE}: [reference]
    foreign_keys:
      {TO_CUSTOMERS}: {{columns: [customer_id], references: {CUSTOMERS}}}
      {TO_PRODUCTS}: {{columns: [product_id], references: {PRODUCTS}}}"""
    return catalog.rstrip() + (indexes if with_index else "") + parents + "\n"


def _parents_query(begin: int, end: int) -> str:
    return f"SELECT range AS id, 'parent ' || range AS name FROM range({begin}, {end})"


def _reference(number: str) -> str:
    """A number of its own for each row, in no order: an odd factor repeats nothing."""
    return f"(({number})::HUGEINT * 7046029254386353131 % 9223372036854775808)::BIGINT"


def _with_violations(sound: str) -> str:
    """Every so many rows, one row for each constraint violates it."""
    turn = f"id % {_STRIDE}"
    return f"""
        SELECT
            CASE WHEN {turn} = 7 THEN id - 1 ELSE id END AS id,
            CASE {turn} WHEN 1 THEN NULL WHEN 2 THEN customer_id + {CUSTOMERS_MAX}
                ELSE customer_id END AS customer_id,
            CASE WHEN {turn} = 3 THEN id + {PRODUCTS_MAX} ELSE product_id END AS product_id,
            CASE WHEN {turn} = 4 THEN 'lost' ELSE status END AS status,
            CASE WHEN {turn} = 5 THEN -1 ELSE amount END::DECIMAL(10, 2) AS amount,
            CASE WHEN {turn} = 9 THEN {_reference("id - 1")} ELSE reference END AS reference
        FROM ({sound})
    """
