# SPDX-License-Identifier: Apache-2.0
"""The five sorts of constraints, judged by the server."""

import pytest

from scrub.stores.constraints import BrokenRules, ConstraintStore, RepeatedKeys
from tests.postgres_server import Database
from tests.scrub.stores.postgres.constraints.constraint_ground import ground, listed

T = {"id": "int", "email": "string", "amount": "decimal(10,2)"}
FAMILY = {"id": "int", "parent_id": "bigint"}


@pytest.fixture
def people(database: Database) -> Database:
    database.run(
        "CREATE TABLE t (id int, email text, amount numeric(10,2))",
        "INSERT INTO t VALUES (1, 'a', 1), (2, 'a', -2), (3, 'b', NULL), (4, NULL, -10),"
        " (5, NULL, 100), (6, 'c', 9), (6, 'c', 9), (7, 'd', 5), (7, 'e', 5), (NULL, 'f', 1)",
    )
    return database


def test_the_store_offers_a_reader(database: Database) -> None:
    with ground(database) as there:
        assert isinstance(there.store, ConstraintStore)


def test_rows_that_break_rules_are_counted_and_named(people: Database) -> None:
    with ground(people, t=T) as there:
        rows = there.rows("t")
        rules = there.rules("t", "amount >= 0", "amount < 50", never_null=("id", "email"))
        broken = there.reader.count_broken(rows, rules)
        assert broken == BrokenRules(rows=10, nulls=(1, 2), checks=(2, 1))
        assert broken.any
        found = listed(there.reader.rows_that_break(rows, rules, there.terms("t", "amount")))
        assert [(p, str(c), *flags) for p, c, *flags in found] == [
            (None, "1.00", True, False, False, False),
            (2, "-2.00", False, False, True, False),
            (4, "-10.00", False, True, True, False),
            (5, "100.00", False, True, False, True),
        ]


def test_a_check_that_is_null_is_no_violation(people: Database) -> None:
    with ground(people, t=T) as there:
        rules = there.rules("t", "amount >= 0")
        rows = there.rows("t", where="id = 3")
        assert there.reader.count_broken(rows, rules) == BrokenRules(1, (), (0,))
        assert not listed(there.reader.rows_that_break(rows, rules))


def test_without_rules_rows_are_counted_and_none_is_broken(people: Database) -> None:
    with ground(people, t=T) as there:
        none = there.rules("t")
        assert there.reader.count_broken(there.rows("t"), none) == BrokenRules(10, (), ())
        assert not listed(there.reader.rows_that_break(there.rows("t"), none))


def test_different_rows_that_share_a_key_are_named_and_copies_of_one_are_not(
    people: Database,
) -> None:
    with ground(people, t=T) as there:
        key = there.terms("t", "email")
        assert there.reader.count_shared(there.rows("t"), key) == RepeatedKeys(keys=1, rows=2)
        assert listed(there.reader.rows_that_share(there.rows("t"), key)) == [
            (1, "a", 1),
            (2, "a", 1),
        ]


def test_the_copies_of_a_row_that_shares_its_key_are_counted(people: Database) -> None:
    people.run("INSERT INTO t VALUES (8, 'c', 9)")
    with ground(people, t=T) as there:
        key = there.terms("t", "email", "amount")
        assert there.reader.count_shared(there.rows("t"), key) == RepeatedKeys(keys=1, rows=2)
        found = listed(there.reader.rows_that_share(there.rows("t"), key))
        assert [(row[0], row[1], row[3]) for row in found] == [(6, "c", 2), (8, "c", 1)]


def test_a_key_with_a_null_in_one_of_its_columns_never_clashes(people: Database) -> None:
    people.run(
        "INSERT INTO t VALUES (20, 'x', NULL), (21, 'x', NULL), (22, NULL, 3), (23, NULL, 3)"
    )
    with ground(people, t=T) as there:
        key = there.terms("t", "email", "amount")
        assert there.reader.count_shared(there.rows("t"), key) == RepeatedKeys()


def test_primary_keys_of_several_rows_are_named_once(people: Database) -> None:
    people.run("INSERT INTO t VALUES (NULL, 'g', 1)")
    with ground(people, t=T) as there:
        assert there.reader.count_copied(there.rows("t")) == RepeatedKeys(keys=2, rows=2)
        assert listed(there.reader.primary_keys_copied(there.rows("t"))) == [(6, 2), (7, 2)]
        both = there.rows("t", "id", "email")
        assert listed(there.reader.primary_keys_copied(both)) == [(6, "c", 2)]


@pytest.fixture
def family(database: Database) -> Database:
    database.run(
        "CREATE TABLE parent (id int, parent_id bigint)",
        "INSERT INTO parent VALUES (1, NULL), (2, 1), (2, 1), (NULL, 7), (3, 9)",
        "CREATE TABLE child (id int, parent_id bigint)",
        "INSERT INTO child VALUES (10, 1), (11, 2), (12, NULL), (13, 4), (13, 4), (14, -1),"
        " (15, 5000000000)",
    )
    return database


def test_rows_without_a_parent_are_counted_and_named(family: Database) -> None:
    """Parents come twice, or have NULL; the key is an int there, and a bigint here."""
    with ground(family, child=FAMILY, parent=FAMILY) as there:
        reference = there.reference("parent_id")
        assert there.reader.count_without_parent(reference) == 4
        assert listed(there.reader.rows_without_parent(reference)) == [
            (13, 4),
            (13, 4),
            (14, -1),
            (15, 5000000000),
        ]
        assert listed(there.reader.rows_without_parent(reference, 1)) == [(13, 4)]


@pytest.mark.parametrize("of_child", ["smallint", "int", "bigint"])
@pytest.mark.parametrize("of_parent", ["smallint", "int", "bigint"])
def test_integers_of_different_width_refer_to_each_other(
    database: Database, of_child: str, of_parent: str
) -> None:
    database.run(
        f"CREATE TABLE parent (id {of_parent})",
        "INSERT INTO parent VALUES (-1), (300)",
        f"CREATE TABLE child (id int, parent_id {of_child})",
        "INSERT INTO child VALUES (1, -1), (2, 300), (3, 301)",
    )
    child = {"id": "int", "parent_id": of_child}
    with ground(database, child=child, parent={"id": of_parent}) as there:
        found = there.reader.rows_without_parent(there.reference("parent_id"))
        assert listed(found) == [(3, 301)]


def test_a_table_may_refer_to_itself(family: Database) -> None:
    with ground(family, parent=FAMILY) as there:
        reference = there.reference("parent_id", child="parent")
        assert listed(there.reader.rows_without_parent(reference)) == [(None, 7), (3, 9)]
        assert there.reader.count_without_parent(reference) == 2


def test_a_composite_reference_with_a_null_refers_to_nothing(database: Database) -> None:
    pair = {"id": "int", "a": "int", "b": "string"}
    database.run(
        "CREATE TABLE parent (id int, a int, b text)",
        "INSERT INTO parent VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, NULL)",
        "CREATE TABLE child (id int, a int, b varchar(5))",
        "INSERT INTO child VALUES (1, 1, 'x'), (2, 1, 'y'), (3, NULL, 'z'), (4, 3, NULL),"
        " (5, 3, '')",
    )
    with ground(database, child=pair, parent=pair) as there:
        reference = there.reference(("a", "b"), ("a", "b"))
        assert there.reader.count_without_parent(reference) == 2
        assert listed(there.reader.rows_without_parent(reference)) == [(2, 1, "y"), (5, 3, "")]


def test_where_limits_the_rows_and_not_their_parents(family: Database) -> None:
    with ground(family, child=FAMILY, parent=FAMILY) as there:
        some = there.reference("parent_id", where="id < 14")
        assert there.reader.count_without_parent(some) == 2
        own = there.reference("parent_id", child="parent", where="id >= 2")
        assert listed(there.reader.rows_without_parent(own)) == [(3, 9)]


def test_where_limits_every_sort_of_constraint(people: Database) -> None:
    with ground(people, t=T) as there:
        reader, rows = there.reader, there.rows("t", where="id >= 2 AND amount < 9")
        rules = there.rules("t", "amount >= 0", never_null=("email",))
        assert reader.count_broken(rows, rules) == BrokenRules(4, (1,), (2,))
        assert [row[0] for row in listed(reader.rows_that_break(rows, rules))] == [2, 4]
        assert reader.count_shared(rows, there.terms("t", "email")) == RepeatedKeys()
        assert reader.count_copied(rows) == RepeatedKeys(1, 1)


def test_a_limit_gives_the_lowest_primary_keys(database: Database) -> None:
    """By value, and strings by their bytes: neither by the text of a number nor by a locale."""
    database.run(
        "CREATE TABLE t (id numeric(10,2), email text, amount numeric(10,2))",
        "INSERT INTO t VALUES (100, 'B', 1), (20, 'a', 1), (3, 'b', 1), (100, 'A', 1)",
    )
    columns = T | {"id": "decimal(10,2)"}
    with ground(database, t=columns) as there:
        rules, key = there.rules("t", "amount > 1"), there.terms("t", "amount")
        by_number, by_text = there.rows("t"), there.rows("t", "email")
        reader = there.reader
        for found in (
            reader.rows_that_break(by_number, rules, limit=2),
            reader.rows_that_share(by_number, key, limit=2),
        ):
            assert sorted(row[0] for row in listed(found)) == ["20.00", "3.00"]
        found = reader.rows_that_break(by_text, rules, limit=3)
        assert [row[0] for row in listed(found)] == ["A", "B", "a"]
        copied = reader.primary_keys_copied(by_number, limit=1)
        assert [row[0] for row in listed(copied)] == ["100.00"]
        assert not listed(reader.primary_keys_copied(by_number, limit=0))


def test_nothing_is_found_in_an_empty_table(database: Database) -> None:
    database.run(
        "CREATE TABLE parent (id int, parent_id bigint)",
        "CREATE TABLE child (id int, parent_id bigint)",
        "INSERT INTO child VALUES (1, 1)",
    )
    with ground(database, child=FAMILY, parent=FAMILY) as there:
        reader, rows = there.reader, there.rows("parent")
        rules = there.rules("parent", "id > 0", never_null=("id",))
        assert reader.count_broken(rows, rules) == BrokenRules(0, (0,), (0,))
        assert reader.count_shared(rows, there.terms("parent", "id")) == RepeatedKeys()
        assert reader.count_copied(rows) == RepeatedKeys()
        nothing = there.reference("parent_id", child="parent")
        assert reader.count_without_parent(nothing) == 0
        assert reader.count_without_parent(there.reference("parent_id")) == 1


def test_many_rows_arrive_in_batches(database: Database) -> None:
    database.run(
        "CREATE TABLE t (id int, email text, amount numeric(10,2))",
        "INSERT INTO t SELECT i, repeat('x', 1000), -1 FROM generate_series(1, 40000) AS i",
    )
    with ground(database, t=T) as there:
        rules = there.rules("t", "amount > 0")
        email = there.terms("t", "email")
        batches = there.reader.rows_that_break(there.rows("t"), rules, email)
        first = next(batches)
        rest = [batch.num_rows for batch in batches]
        assert rest, "all of them came at once"
        assert first.num_rows + sum(rest) == 40000
        given_up = there.reader.rows_that_break(there.rows("t"), rules, email)
        next(given_up)
        given_up.close()
        assert there.reader.count_broken(there.rows("t"), rules).checks == (40000,)
