# SPDX-License-Identifier: Apache-2.0
"""Constraints of a database: a first catalog has them, or a comment says why not."""

from pathlib import Path

import pytest

from scrub.app.catalog_init.from_database import init_database
from scrub.catalog import load_catalog
from scrub.model.table import ForeignKey, UniqueKey
from tests.postgres_server import Database


def written(database: Database, directory: Path) -> Path:
    path = directory / "scrub.yaml"
    init_database(database.url, path)
    return path


def comments(path: Path) -> list[str]:
    """What is left out, of checks and other constraints."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return [line for line in lines if line.startswith(("# check", "# constraint"))]


def test_unique_constraints_are_taken_over(database: Database, tmp_path: Path) -> None:
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, a int, b text,"
        ' CONSTRAINT ab UNIQUE (b, a), CONSTRAINT "on: it" UNIQUE (b))'
    )
    path = written(database, tmp_path)
    assert load_catalog(path).tables["t"].unique == (
        UniqueKey(name="ab", columns=("b", "a")),
        UniqueKey(name="on: it", columns=("b",)),
    )
    assert comments(path) == []


def test_a_unique_constraint_in_which_nulls_clash_is_marked(
    database: Database, tmp_path: Path
) -> None:
    if database.version < 150000:
        pytest.skip("PostgreSQL has NULLS NOT DISTINCT since version 15")
    database.run(
        "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL, b text,"
        " CONSTRAINT never UNIQUE NULLS NOT DISTINCT (a),"
        " CONSTRAINT clashing UNIQUE NULLS NOT DISTINCT (a, b))"
    )
    path = written(database, tmp_path)
    assert [key.name for key in load_catalog(path).tables["t"].unique] == ["clashing", "never"]
    marked = "    # in the database NULLs clash, too\n      clashing: [a, b]\n      never: [a]\n"
    assert marked in path.read_text()


def test_what_a_catalog_cannot_say_is_listed(database: Database, tmp_path: Path) -> None:
    database.run(
        "CREATE SCHEMA other",
        "CREATE TABLE other.far (id int PRIMARY KEY)",
        "CREATE TABLE nokey (id int)",
        "CREATE TABLE parent (id numeric(9,0) PRIMARY KEY, code text UNIQUE)",
        "CREATE TABLE t (id int PRIMARY KEY, tags int[], a int, code text, c circle,"
        " CONSTRAINT arrays UNIQUE (tags),"
        " CONSTRAINT primary_key UNIQUE (a),"
        " CONSTRAINT not_null CHECK (a > 0),"
        " CONSTRAINT to_code FOREIGN KEY (code) REFERENCES parent (code),"
        " CONSTRAINT to_far FOREIGN KEY (a) REFERENCES other.far,"
        " CONSTRAINT to_type FOREIGN KEY (a) REFERENCES parent,"
        " CONSTRAINT apart EXCLUDE USING gist (c WITH &&))",
    )
    path = written(database, tmp_path)
    table = load_catalog(path).tables["t"]
    assert (table.unique, table.foreign_keys, table.checks) == ((), (), {})
    reserved = "(every table uses its name for another constraint)"
    assert comments(path) == [
        f"# check left out: not_null, a > 0 {reserved}",
        "# constraint left out: apart, EXCLUDE USING gist (c WITH &&) (rows that exclude others)",
        "# constraint left out: arrays, UNIQUE (tags) (the catalog does not have tags)",
        f"# constraint left out: primary_key, UNIQUE (a) {reserved}",
        "# constraint left out: to_code, FOREIGN KEY (code) REFERENCES public.parent(code)"
        " (it does not refer to the primary key of parent)",
        "# constraint left out: to_far, FOREIGN KEY (a) REFERENCES other.far(id)"
        " (the table it refers to is in another schema)",
        "# constraint left out: to_type, FOREIGN KEY (a) REFERENCES public.parent(id)"
        " (a is int, id of parent is decimal(9,0))",
    ]


def test_a_foreign_key_is_written_in_the_order_of_the_primary_key(
    database: Database, tmp_path: Path
) -> None:
    database.run(
        "CREATE TABLE parent (x int, y text, PRIMARY KEY (x, y))",
        "CREATE TABLE t (id int PRIMARY KEY, a text, b bigint,"
        " CONSTRAINT to_parent FOREIGN KEY (a, b) REFERENCES parent (y, x) MATCH FULL NOT VALID,"
        " CONSTRAINT itself FOREIGN KEY (id) REFERENCES t)",
    )
    path = written(database, tmp_path)
    assert load_catalog(path).tables["t"].foreign_keys == (
        ForeignKey(name="itself", columns=("id",), references="t"),
        ForeignKey(name="to_parent", columns=("b", "a"), references="parent"),
    )
    assert "# in the database it is MATCH FULL: all or none may be NULL" in path.read_text()
    assert comments(path) == []


def test_a_table_that_is_not_described_has_no_references(
    database: Database, tmp_path: Path
) -> None:
    """Before, the catalog referred to a table that it did not have."""
    database.run(
        "CREATE TABLE parent (id circle, code int PRIMARY KEY) PARTITION BY LIST (code)",
        "CREATE TABLE part PARTITION OF parent DEFAULT",
        'CREATE TABLE "bad\nname" (id int PRIMARY KEY)',
        "CREATE TABLE t (id int PRIMARY KEY, CONSTRAINT to_parent FOREIGN KEY (id)"
        " REFERENCES parent)",
        'ALTER TABLE t ADD CONSTRAINT to_bad FOREIGN KEY (id) REFERENCES "bad\nname"',
    )
    path = written(database, tmp_path)
    assert [key.name for key in load_catalog(path).tables["t"].foreign_keys] == ["to_parent"]
    assert "is no table of the catalog" in str(comments(path))
