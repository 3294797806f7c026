# SPDX-License-Identifier: Apache-2.0
"""Which values are the same key: those that the catalog calls equal, whatever the database does."""

import pytest

from scrub.errors import RelationMismatch
from scrub.model.predicate import Comparison, IsIn, LiteralTerm, Operator
from scrub.stores.constraints import RepeatedKeys, RowRules
from tests.postgres_server import Database
from tests.scrub.stores.postgres.constraints.constraint_ground import ground, listed


def shared(database: Database, server: str, catalog: str, *values: str) -> set[int]:
    """The numbers of the values, from 1, that are equal to another one of them.

    Parents are judged alike: each value refers to all others, and to itself.
    """
    database.run(
        f"CREATE TABLE t (id int PRIMARY KEY, v {server})",
        *(f"INSERT INTO t VALUES ({n}, {value})" for n, value in enumerate(values, 1)),
    )
    with ground(database, t={"id": "int", "v": catalog}) as there:
        key, rows = there.terms("t", "v"), there.rows("t")
        found = {row[0] for row in listed(there.reader.rows_that_share(rows, key))}
        assert there.reader.count_shared(rows, key).rows == len(found)
        by_value = there.rows("t", "v")
        copied = listed(there.reader.primary_keys_copied(by_value))
        assert sum(row[1] for row in copied) == len(found)
        itself = there.reference("v", "v", child="t", parent="t")
        assert there.reader.count_without_parent(itself) == 0
        return found


def without_parent(database: Database, child: str, parent: str, *types: str) -> list[int]:
    """The children that have no parent; relations have the columns id and v."""
    database.run(f"CREATE TABLE child (id int, v {types[0]})", f"INSERT INTO child VALUES {child}")
    database.run(f"CREATE TABLE parent (v {types[1]})", f"INSERT INTO parent VALUES {parent}")
    with ground(database, child={"id": "int", "v": types[2]}, parent={"v": types[-1]}) as there:
        return [r[0] for r in listed(there.reader.rows_without_parent(there.reference("v", "v")))]


@pytest.mark.parametrize("of_type", ["double precision", "real"])
def test_nan_is_nan_and_minus_zero_is_zero(database: Database, of_type: str) -> None:
    catalog = {"double precision": "double", "real": "float"}[of_type]
    values = ("'NaN'", "'NaN'", "'-0'", "0", "1", "'Infinity'", "'-Infinity'", "NULL", "NULL")
    assert shared(database, of_type, catalog, *values) == {1, 2, 3, 4}
    children = "(1, 'NaN'), (2, '-0'), (3, 1), (4, NULL)"
    parents = "('NaN'), (0), ('Infinity')"
    found = without_parent(database, children, parents, of_type, of_type, catalog)
    assert found == [3]


def test_strings_are_equal_by_their_bytes(database: Database) -> None:
    values = ("'a'", "'a '", "'A'", "'á'", "U&'a\\0301'", "''", "'a'")
    assert shared(database, "text", "string", *values) == {1, 7}


def test_a_collation_of_the_column_changes_nothing(database: Database) -> None:
    provider = "provider = libc, locale = 'C'"
    database.run(f"CREATE COLLATION own ({provider})")
    assert shared(database, "text COLLATE own", "string", "'a'", "'A'", "'a '", "'a'") == {1, 4}
    children = "(1, 'a'), (2, 'A'), (3, 'b')"
    types = ("text COLLATE own", 'varchar(9) COLLATE "POSIX"', "string")
    assert without_parent(database, children, "('a'), ('b ')", *types) == [2, 3]


def test_a_column_in_which_other_letters_are_equal_is_refused(database: Database) -> None:
    """The server would call 'a' and 'A' one key, so it is not asked."""
    database.run(
        "CREATE COLLATION letters (provider = libc, locale = 'C')",
        # Not every server has ICU, which alone makes such a collation.
        "UPDATE pg_collation SET collisdeterministic = false WHERE collname = 'letters'",
        "CREATE TABLE t (id int, v text COLLATE letters)",
    )
    with (
        pytest.raises(RelationMismatch, match="non-deterministic collation"),
        ground(database, t={"id": "int", "v": "string"}),
    ):
        pass


def test_char_is_compared_without_its_padding(database: Database) -> None:
    assert shared(database, "char(5)", "string", "'a'", "'a  '", "'b'", "'A'") == {1, 2}
    types = ("char(5)", "text", "string")
    found = without_parent(database, "(1, 'a'), (2, 'b')", "('a'), ('b ')", *types)
    assert found == [2]


def test_decimals_are_equal_by_value(database: Database) -> None:
    for server, catalog in (("numeric(10,2)", "decimal(10,2)"), ("numeric", "string")):
        database.run("DROP TABLE IF EXISTS t")
        assert shared(database, server, catalog, "1.0", "1.00", "1", "1.1", "-1") == {1, 2, 3}


def test_what_a_number_has_beyond_the_scale_of_the_catalog_counts(database: Database) -> None:
    database.run(
        "CREATE TABLE child (id int, v numeric)",
        "CREATE TABLE parent (v numeric)",
        "INSERT INTO parent VALUES (1.00)",
        "INSERT INTO child VALUES (1, 1.0), (2, 1.001)",
    )
    types = {"v": "decimal(10,2)"}
    with ground(database, child={"id": "int", **types}, parent=types) as there:
        reference = there.reference("v", "v")
        assert there.reader.count_without_parent(reference) == 1
        assert [row[-1] for row in listed(there.reader.rows_without_parent(reference))] == ["1.001"]


def test_times_are_equal_by_instant(database: Database) -> None:
    values = ("'2026-01-01 12:00+00'", "'2026-01-01 13:00+01'", "'2026-01-01 12:00+01'")
    assert shared(database, "timestamptz", "timestamp", *values, "'infinity'") == {1, 2}


@pytest.mark.parametrize(
    ("server", "catalog", "values"),
    [
        ("timestamp", "timestamp_ntz", ("'2026-01-01 12:00'", "'2026-01-01 12:00:00.000001'")),
        ("date", "date", ("'2026-01-01'", "'0001-01-01'")),
        ("bytea", "binary", ("'\\x00'", "'\\x0000'", "''")),
        ("boolean", "boolean", ("true", "false")),
        ("uuid", "string", ("gen_random_uuid()", "gen_random_uuid()")),
        ("name", "string", ("'a'", "'A'")),
        ("varchar(3)", "string", ("'a'", "'a '")),
        ("oid", "bigint", ("1", "4000000000")),
        ("numeric(38,18)", "decimal(38,18)", ("1", "1.000000000000000001")),
    ],
)
def test_different_values_of_each_type_are_different_keys(
    database: Database, server: str, catalog: str, values: tuple[str, ...]
) -> None:
    assert shared(database, server, catalog, *values) == set()
    database.run("INSERT INTO t SELECT id + 10, v FROM t WHERE id = 1")
    with ground(database, t={"id": "int", "v": catalog}) as there:
        found = there.reader.rows_that_share(there.rows("t"), there.terms("t", "v"))
        assert [row[0] for row in listed(found)] == [1, 11]


def test_enums_and_domains_are_keys_like_others(database: Database) -> None:
    database.run("CREATE TYPE mood AS ENUM ('glad', 'sad')", "CREATE DOMAIN word AS varchar(9)")
    assert shared(database, "mood", "string", "'glad'", "'sad'", "'glad'") == {1, 3}
    types = ("word", "mood", "string")
    assert without_parent(database, "(1, 'glad'), (2, 'Glad')", "('glad')", *types) == [2]


NAMES = ('a"b', "select", "p0", "v0", "%s", "a b;--", "ключ", "v", "k'0")


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_only_a_name(database: Database, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    relation = f"r{name}"
    of_relation = '"' + relation.replace('"', '""') + '"'
    database.run(
        f"CREATE TABLE {of_relation} (id int, {quoted} int)",
        f"INSERT INTO {of_relation} VALUES (1, 1), (2, 1), (3, 9), (4, NULL)",
    )
    with ground(database, **{relation: {"id": "int", name: "int"}}) as there:
        reader, rows, key = there.reader, there.rows(relation), there.terms(relation, name)
        assert reader.count_shared(rows, key) == RepeatedKeys(1, 2)
        rules = there.rules(relation, never_null=(name,))
        assert listed(reader.rows_that_break(rows, rules, key)) == [(4, None, True)]
        itself = there.reference(name, child=relation, parent=relation)
        assert listed(reader.rows_without_parent(itself)) == [(3, 9)]
        assert reader.count_copied(there.rows(relation, name)) == RepeatedKeys(1, 1)


def test_values_of_checks_are_only_values(database: Database) -> None:
    database.run(
        "CREATE TABLE t (id int, v text)",
        "INSERT INTO t VALUES (1, 'it''s \\ %s'), (2, 'other'), (3, NULL)",
    )
    with ground(database, t={"id": "int", "v": "string"}) as there:
        (term,) = there.terms("t", "v")
        quoted = LiteralTerm("it's \\ %s", term.type)
        checks = (Comparison(term, Operator.EQUAL, quoted), IsIn(term, ("other", "';--")))
        rules = RowRules(checks=checks)
        found = listed(there.reader.rows_that_break(there.rows("t"), rules))
        assert found == [(1, False, True), (2, True, False)]
