# SPDX-License-Identifier: Apache-2.0
"""All five sorts of constraints on random rows, against an oracle that counts in Python."""

import math
from collections import Counter
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrub.stores.constraints import RepeatedKeys
from tests.postgres_server import Database
from tests.scrub.stores.postgres.constraints.constraint_ground import Ground, ground

Row = tuple[Any, ...]
COLUMNS = {"id": "int", "word": "string", "rate": "double", "price": "decimal(6,2)"}
SERVER = "(id int, word {}, rate double precision, price numeric(6,2))"
ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 5)),
        st.sampled_from([None, "", "a", "a ", "A", "é'\\"]),
        st.sampled_from([None, 0.0, -0.0, float("nan"), 1.5]),
        st.sampled_from([None, Decimal("1.0"), Decimal("1.00"), Decimal(-2), Decimal("0.01")]),
    ),
    max_size=8,
)
KEYS = st.lists(st.sampled_from(["word", "rate", "price"]), min_size=1, max_size=3, unique=True)


def same(value: Any) -> Any:
    """Equal values as one value; numbers of many digits as text, as they are sent."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return f"{value:.2f}" if isinstance(value, Decimal) else value


def of(row: Row, names: list[str]) -> Row:
    return tuple(same(row[list(COLUMNS).index(name)]) for name in names)


def is_known(key: Row) -> bool:
    return all(value is not None for value in key)


def named(batches: Any, *letters: str) -> Counter[Row]:
    """The rows that were named, each with the columns whose names begin so."""
    return Counter(
        tuple(same(value) for name, value in row.items() if name[0] in letters)
        for batch in batches
        for row in batch.to_pylist()
    )


def judge_rows(there: Ground, rows: list[Row], where: str | None) -> None:
    of_rows = there.rows("t", where=where)
    rules = there.rules("t", "price > 0", "word <> 'a'", never_null=("id", "rate"))
    flags = [
        (row[0], row[0] is None, row[2] is None, row[3] is not None and row[3] <= 0, row[1] == "a")
        for row in rows
    ]
    broken = there.reader.count_broken(of_rows, rules)
    sums = [sum(row[n] for row in flags) for n in range(1, 5)]
    assert (broken.rows, *broken.nulls, *broken.checks) == (len(rows), *sums)
    found = named(there.reader.rows_that_break(of_rows, rules), "p", "n", "f")
    assert found == Counter(row for row in flags if any(row[1:]))


def judge_keys(there: Ground, rows: list[Row], where: str | None, key: list[str]) -> None:
    reader, of_rows, terms = there.reader, there.rows("t", where=where), there.terms("t", *key)
    pairs = Counter((row[0], *of(row, key)) for row in rows if is_known(of(row, key)))
    times: Counter[Row] = Counter()
    for pair, n in pairs.items():
        times[pair[1:]] += n if pair[0] is None else 1  # a NULL equals nothing
    shared = {pair: n for pair, n in pairs.items() if times[pair[1:]] > 1}
    counted = RepeatedKeys(len({pair[1:] for pair in shared}), len(shared))
    assert reader.count_shared(of_rows, terms) == counted
    found = named(reader.rows_that_share(of_rows, terms), "p", "k", "c")
    assert found == Counter((*pair, n) for pair, n in shared.items())
    primary = there.rows("t", *key, where=where)
    copied = {
        k: n for k, n in Counter(of(row, key) for row in rows).items() if n > 1 and is_known(k)
    }
    assert reader.count_copied(primary) == RepeatedKeys(len(copied), len(copied))
    assert named(reader.primary_keys_copied(primary), "p", "c") == Counter(
        (*k, n) for k, n in copied.items()
    )


def judge_reference(
    there: Ground, rows: list[Row], parents: list[Row], where: str | None, key: list[str]
) -> None:
    reference = there.reference(tuple(key), tuple(key), child="t", where=where)
    held = {of(row, key) for row in parents}
    orphans = Counter(
        (row[0], *of(row, key))
        for row in rows
        if is_known(of(row, key)) and of(row, key) not in held
    )
    assert there.reader.count_without_parent(reference) == orphans.total()
    assert named(there.reader.rows_without_parent(reference), "p", "k") == orphans


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, parents=ROWS, key=KEYS, limited=st.booleans())
def test_exactly_the_violations_are_counted_and_named(
    database: Database, rows: list[Row], parents: list[Row], key: list[str], limited: bool
) -> None:
    with database.connect() as connection, connection.cursor() as cursor:
        for relation, of_word, content in (("t", "varchar", rows), ("parent", "text", parents)):
            cursor.execute(f"DROP TABLE IF EXISTS {relation}")
            cursor.execute(f"CREATE TABLE {relation} {SERVER.format(of_word)}")
            cursor.executemany(f"INSERT INTO {relation} VALUES (%s, %s, %s, %s)", content)
    where = "id >= 2" if limited else None
    looked_at = [row for row in rows if not limited or (row[0] is not None and row[0] >= 2)]
    with ground(database, t=COLUMNS, parent=COLUMNS) as there:
        judge_rows(there, looked_at, where)
        judge_keys(there, looked_at, where, key)
        judge_reference(there, looked_at, parents, where, key)
