# SPDX-License-Identifier: Apache-2.0
"""The table and the indexes that are measured, as queries that make them and as a catalog."""

from dataclasses import dataclass

TABLE = "orders"
TABLE_FILES = 8
INDEX_FILES = 4

COLUMNS = {
    "id": "bigint",
    "customer_id": "bigint",
    "email": "string",
    "status": "string",
    "amount": "decimal(10,2)",
    "created_at": "timestamp",
    "note": "string",
}


@dataclass(frozen=True, slots=True)
class IndexShape:
    """One index: its name, what it is ordered by, and what it stores beside the key."""

    name: str
    key: tuple[str, ...]
    stored: tuple[str, ...] = ()
    expression: str | None = None  # of the first column of the key, else a column of the table
    where: str | None = None  # of a partial index; means the same in Spark and in DuckDB

    @property
    def relation(self) -> str:
        return f"{TABLE}__{self.name}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of an entry, which are also those to read of the table."""
        return (*self.key, *(() if "id" in self.key else ("id",)), *self.stored)

    @property
    def query(self) -> str:
        """What an entry is made of, as DuckDB selects it."""
        made = f"{self.expression} AS {self.key[0]}" if self.expression else self.key[0]
        return ", ".join((made, *self.columns[1:]))

    def catalog_text(self) -> str:
        """What the catalog says of it."""
        first = (
            f'{{expr: "{self.expression}", as: {self.key[0]}}}' if self.expression else self.key[0]
        )
        said = [f"columns: [{', '.join((first, *self.key[1:]))}]"]
        if self.stored:
            said.append(f"storing: [{', '.join(self.stored)}]")
        if self.where:
            said.append(f'where: "{self.where}"')
        return f"{self.name}: {{{', '.join(said)}}}"


BY_CUSTOMER = IndexShape("by_customer", ("customer_id", "id"), ("status",))
BY_CUSTOMER_DAMAGED = IndexShape("by_customer_damaged", BY_CUSTOMER.key, BY_CUSTOMER.stored)
BY_EMAIL = IndexShape("by_email", ("email",))
BY_STATUS_AMOUNT = IndexShape("by_status_amount", ("status", "amount"))
BY_CREATED = IndexShape("by_created", ("created_at",), ("amount",))
BY_EMAIL_LOWER = IndexShape("by_email_lower", ("email_lower",), expression="lower(email)")
OPEN_BY_CUSTOMER = IndexShape(
    "open_by_customer", BY_CUSTOMER.key, BY_CUSTOMER.stored, where="status = 'open'"
)

FOUR_INDEXES = (BY_CUSTOMER, BY_EMAIL, BY_STATUS_AMOUNT, BY_CREATED)
INDEXES = (*FOUR_INDEXES, BY_CUSTOMER_DAMAGED, BY_EMAIL_LOWER, OPEN_BY_CUSTOMER)


def rows_query(rows: int, begin: int, end: int) -> str:
    """The rows of the table whose id is in [begin, end); each depends on its id alone.

    Ten orders a customer, one order in a hundred without a customer and so without an email.
    """
    return f"""
        WITH drawn AS (
            SELECT range AS id, hash(range, 1) AS a, hash(range, 2) AS b, hash(range, 3) AS c
            FROM range({begin}, {end})
        ), placed AS (
            SELECT *, CASE WHEN b % 100 > 0 THEN (a % {max(rows // 10, 1)})::BIGINT END AS customer
            FROM drawn
        )
        SELECT
            id,
            customer AS customer_id,
            'customer' || customer || '@mail' || (customer % 97) || '.example' AS email,
            ['open', 'paid', 'shipped', 'cancelled'][1 + ((b >> 8) % 4)::INT] AS status,
            (((b >> 16) % 10000000)::BIGINT / 100)::DECIMAL(10, 2) AS amount,
            TIMESTAMPTZ '2024-01-01 00:00:00+00' + to_microseconds((c % 60000000000000)::BIGINT)
                AS created_at,
            printf('%016x%016x', a, c) AS note
        FROM placed ORDER BY id
    """


def catalog_text() -> str:
    """A catalog of the table with all indexes, to be put beside the directory of the lake."""
    columns = "\n".join(
        f'      {name}: {{type: "{column_type}"{", nullable: false" if name == "id" else ""}}}'
        for name, column_type in COLUMNS.items()
    )
    indexes = "\n".join(f"      {index.catalog_text()}" for index in INDEXES)
    return f"""version: 1
stores:
  lake: {{kind: delta, path: ./lake}}
tables:
  {TABLE}:
    store: lake
    columns:
{columns}
    primary_key: [id]
    indexes:
{indexes}
"""
