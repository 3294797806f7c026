# SPDX-License-Identifier: Apache-2.0
"""Comparing inside the server, against an oracle that counts in Python."""

import math
from collections import Counter
from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql

from scrub.errors import StoreUnavailable
from scrub.model.predicate import ColumnTerm, Comparison, LiteralTerm, Operator
from scrub.model.table import Column, Store
from scrub.model.types import ColumnType, TypeName
from scrub.stores.base import ComparedSide
from scrub.stores.postgres.store import PostgresStore
from tests.postgres_server import Database
from tests.scrub.stores.sample import no_session

INT, STRING, DOUBLE = (ColumnType(n) for n in (TypeName.INT, TypeName.STRING, TypeName.DOUBLE))
COLUMNS = (
    Column(name="id", type=INT),
    Column(name="status", type=STRING),
    Column(name="rate", type=DOUBLE),
)
ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 4)),
        st.sampled_from([None, "", "open", "paid", "é'\\"]),
        st.sampled_from([None, 0.0, -0.0, float("nan"), 1.5]),
    ),
    max_size=6,
)


def term(column: Column) -> ColumnTerm:
    return ColumnTerm(column.name, column.type)


def fill(database: Database, relation: str, rows: list[tuple[Any, ...]]) -> None:
    with database.connect() as connection:
        connection.execute(f"TRUNCATE {relation}")
        insert = sql.SQL("INSERT INTO {} VALUES (%s, %s, %s)").format(sql.Identifier(relation))
        with connection.cursor() as cursor:
            cursor.executemany(insert, rows)


def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Equal values as one value."""
    number = row[2]
    if number is not None:
        number = "nan" if math.isnan(number) else number + 0.0
    return (*row[:2], number)


def sources(store: PostgresStore, where: bool = False) -> tuple[ComparedSide, ComparedSide]:
    status = Comparison(term(COLUMNS[1]), Operator.GREATER_OR_EQUAL, LiteralTerm("open", STRING))
    made = [
        ComparedSide(
            store.pin(relation, None, no_session, COLUMNS),
            (term(COLUMNS[0]),),
            (term(COLUMNS[1]), term(COLUMNS[2])),
            (status,) if where and relation == "t" else (),
        )
        for relation in ("t", "t__i")
    ]
    return made[0], made[1]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=ROWS,
    entries=ROWS,
    keep=st.integers(0, 6),
    where=st.booleans(),
    unique=st.booleans(),
    writing=st.booleans(),
)
def test_what_differs_is_found_and_nothing_else_is_fetched(
    database: Database,
    rows: list[tuple[Any, ...]],
    entries: list[tuple[Any, ...]],
    keep: int,
    where: bool,
    unique: bool,
    writing: bool,
) -> None:
    """With and without a key that the server keeps unique, and while another session writes."""
    if unique:
        rows = list({row[0]: row for row in rows if row[0] is not None}.values())
    kept = [row for row in rows if not where or (row[1] is not None and row[1] >= "open")]
    entries = kept[:keep] + entries[keep:]
    key = "int PRIMARY KEY" if unique else "int"
    database.run(
        "DROP TABLE IF EXISTS t",
        f"CREATE TABLE t (id {key}, status text, rate double precision)",
        "CREATE TABLE IF NOT EXISTS t__i (id int, status varchar, rate double precision)",
    )
    fill(database, "t", rows)
    fill(database, "t__i", entries)
    store = PostgresStore(Store(name="shop", kind="postgres", url=database.url))
    writer = database.connect()
    if writing:
        writer.execute("BEGIN")
        writer.execute("SELECT pg_current_xact_id()")
    try:
        expected, actual = sources(store, where)
        compared = store.compare(expected, actual)
        wanted, there = Counter(map(plain, kept)), Counter(map(plain, entries))
        assert (compared.expected, compared.actual) == (len(kept), len(entries))
        once = all(n == 1 for n in (wanted | there).values())
        keys = [Counter(row[0] for row in side) for side in (kept, entries)]
        if compared.agrees:
            assert wanted == there
        if wanted == there and once and all(n == 1 for side in keys for n in side.values()):
            assert compared.agrees
        fetched = store.entries_that_differ(expected, actual, compared).to_pylist()
        for is_expected, side in ((True, wanted), (False, there)):
            got = Counter(
                plain((r["p0"], r["c0"], r["c1"])) for r in fetched if r["expected"] is is_expected
            )
            other = there if is_expected else wanted
            # All of a key or nothing of it, and every key that differs.
            differing = {row[0] for row in side if side[row] != other[row]}
            assert differing <= {row[0] for row in got}
            assert got == Counter({r: n for r, n in side.items() if r[0] in {g[0] for g in got}})
    finally:
        writer.close()
        store.close()


def test_rows_that_share_a_key_are_fetched(database: Database) -> None:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, status text, rate double precision)",
        "INSERT INTO t VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, NULL), (5, NULL)",
        "CREATE TABLE t__i (id int, status text, rate double precision)",
    )
    store = PostgresStore(Store(name="shop", kind="postgres", url=database.url))
    expected, _ = sources(store)
    assert sorted(store.entries_sharing(expected, ["c0"]).column("p0").to_pylist()) == [1, 2]
    store.close()


def test_a_session_that_is_cut_off_in_the_middle_is_replaced(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scrub.stores.postgres import sessions

    database.run("CREATE TABLE t (id int, status text, rate float8)", "CREATE TABLE t__i (LIKE t)")
    store = PostgresStore(Store(name="shop", kind="postgres", url=database.url))
    expected, actual = sources(store)
    real, cut = sessions.read_at, [True]

    def read_at(snapshot: str) -> tuple[str, ...]:
        suicide = ("SELECT pg_terminate_backend(pg_backend_pid())",) if cut.pop() else ()
        cut.append(False)
        return (*real(snapshot), *suicide)

    monkeypatch.setattr(sessions, "read_at", read_at)
    assert store.compare(expected, actual).agrees
    store.close()


@pytest.mark.parametrize(
    ("key", "is_counted_again"),
    [
        ("id int PRIMARY KEY", False),
        ("id int NOT NULL UNIQUE", False),
        ("id int UNIQUE", True),  # NULL may be there many times
        ("id int NOT NULL, UNIQUE (id, status)", True),
        ("id int NOT NULL, UNIQUE (id) DEFERRABLE", True),
        ("id int NOT NULL", True),
    ],
)
def test_entries_are_counted_again_unless_the_server_keeps_the_key_unique(
    database: Database, key: str, is_counted_again: bool
) -> None:
    first, _, more = key.partition(",")
    columns = [first, "status text", "rate double precision", *([more] if more else [])]
    database.run(f"CREATE TABLE t ({', '.join(columns)})", "CREATE TABLE t__i (LIKE t)")
    store = PostgresStore(Store(name="shop", kind="postgres", url=database.url))
    try:
        assert store._comparison(*sources(store)).unique_rows is not is_counted_again
    finally:
        store.close()


def test_texts_that_a_unique_index_should_keep_apart_are_counted(database: Database) -> None:
    """Where the order of texts changed under an index, it no longer sees all of them."""
    name = Column(name="name", type=STRING)
    database.run("CREATE TABLE t (name text PRIMARY KEY)", "CREATE TABLE t__i (LIKE t)")
    store = PostgresStore(Store(name="shop", kind="postgres", url=database.url))
    try:
        sides = [
            ComparedSide(store.pin(relation, None, no_session, (name,)), (term(name),), (), ())
            for relation in ("t", "t__i")
        ]
        assert not store._comparison(*sides).unique_rows
    finally:
        store.close()


DECIMAL = ColumnType(TypeName.DECIMAL, 10, 2)
PRICES = (Column(name="id", type=INT), Column(name="price", type=DECIMAL))


def _compared(database: Database, entry: str) -> tuple[PostgresStore, ComparedSide, ComparedSide]:
    """A row with the price 1.50, and an index whose column is a number of any scale."""
    database.run(
        "CREATE TABLE p (id int PRIMARY KEY, price numeric(10,2))",
        "CREATE TABLE p__i (id int PRIMARY KEY, price numeric)",
        "INSERT INTO p VALUES (1, 1.5)",
        f"INSERT INTO p__i VALUES (1, {entry})",
    )
    store = PostgresStore(Store(name="shop", kind="postgres", url=database.url))
    made = [
        ComparedSide(
            store.pin(relation, None, no_session, PRICES),
            (term(PRICES[0]),),
            (term(PRICES[1]),),
            (),
        )
        for relation in ("p", "p__i")
    ]
    assert made[1].facts.columns["price"] == DECIMAL
    return store, made[0], made[1]


@pytest.mark.parametrize(("entry", "agrees"), [("1.500", True), ("1.504", False), ("2", False)])
def test_a_number_of_any_scale_is_compared_exactly_with_a_decimal(
    database: Database, entry: str, agrees: bool
) -> None:
    """As in the index of a build, whose columns have no scale: the table's may be widened."""
    store, expected, actual = _compared(database, entry)
    with closing(store):
        assert store.compare(expected, actual).agrees is agrees


def test_a_number_that_no_decimal_of_the_catalog_is_has_no_name(database: Database) -> None:
    store, expected, actual = _compared(database, "1.504")
    with closing(store), pytest.raises(StoreUnavailable, match="does not fit its type"):
        store.entries_that_differ(expected, actual, store.compare(expected, actual))
