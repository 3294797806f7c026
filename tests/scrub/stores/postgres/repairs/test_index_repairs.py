# SPDX-License-Identifier: Apache-2.0
"""Repairs of index tables in a real PostgreSQL: each action and outcome, writers, crashes, undo."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from repair.executing import Executor
from repair.planning import plan_repair
from scrub.errors import ScrubError, StoreUnavailable
from scrub.model.defect import Defect, DefectKind
from scrub.model.journal import RunRecord
from scrub.model.repair import Action, ActionKind, ActionOutcome, DoneAction, Entry
from scrub.model.table import EntryColumn, Index, Nulls, Table
from scrub.model.types import ColumnType, TypeName
from scrub.stores.postgres.repairs.index_repairs import PostgresRepairs
from scrub.stores.repairing import Applied
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import Background, until
from tests.scrub.stores.postgres.repairs.postgres_ground import (
    BIGINT,
    STRING,
    Ground,
    defect_of,
    index_of,
    kv_table,
    new_run,
    outcomes,
    table_of,
)

CREATE = (
    "CREATE TABLE t (k bigint PRIMARY KEY, v text, s text)",
    "CREATE TABLE t__by_v (v text, k bigint, s text)",
    "INSERT INTO t SELECT i, 'v' || i % 3, 's' || i FROM generate_series(1, 9) AS i",
    "INSERT INTO t__by_v SELECT v, k, s FROM t",
)
GUARD = "ALTER TABLE t__by_v ADD PRIMARY KEY (v, k)"
LIVE = (ActionOutcome.DONE, ActionOutcome.ALREADY_RIGHT)


@pytest.fixture(params=["guarded", "unguarded"])
def ground(request: pytest.FixtureRequest, database: Database) -> Ground:
    """Nine rows and their entries; in one of two, a unique index keeps copies out."""
    database.run(*CREATE, *([GUARD] if request.param == "guarded" else []))
    return Ground(database, kv_table())


@pytest.fixture
def bare(database: Database) -> Ground:
    """The same without any unique index."""
    database.run(*CREATE)
    return Ground(database, kv_table())


def entry(k: int, v: str | None = None, s: str | None = None) -> Entry:
    return {"v": v or f"v{k % 3}", "k": k, "s": s or f"s{k}"}


def missing(k: int, **given: Any) -> Defect:
    return defect_of(kv_table(), "by_v", DefectKind.MISSING, expected=entry(k, **given))


def dangling(k: int, **given: Any) -> Defect:
    return defect_of(kv_table(), "by_v", DefectKind.DANGLING, actual=entry(k, **given))


def wrong(k: int, s: str) -> Defect:
    kind = DefectKind.WRONG_STORED_VALUE
    return defect_of(kv_table(), "by_v", kind, expected=entry(k), actual=entry(k, s=s))


def doubled(k: int) -> Defect:
    kind = DefectKind.DUPLICATE_ENTRY
    return defect_of(kv_table(), "by_v", kind, expected=entry(k), actual=entry(k))


def assert_repaired_and_undone(ground: Ground) -> None:
    """All that a check finds is put in order, and taken back as if nothing had been."""
    before = ground.contents()
    assert all(done.in_order for done in ground.repair(ground.defects(), run="first"))
    ground.assert_right()
    ground.undo("first")
    assert ground.contents() == before


def one(done: Sequence[DoneAction]) -> ActionOutcome:
    (only,) = done
    return only.outcome


# ---- each action, each outcome ----


PLANTED: Mapping[str, tuple[str, Defect]] = {
    "put": ("DELETE FROM t__by_v WHERE k = 3", missing(3)),
    "delete": ("INSERT INTO t__by_v VALUES ('v0', 99, 's99')", dangling(99)),
    "delete of another key": ("INSERT INTO t__by_v VALUES ('old', 3, 's3')", dangling(3, v="old")),
    "replace": ("UPDATE t__by_v SET s = 'bad' WHERE k = 3", wrong(3, "bad")),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_defect_is_repaired_verified_and_journalled_and_undo_restores_it(
    ground: Ground, name: str
) -> None:
    statement, defect = PLANTED[name]
    ground.database.run(statement)
    assert ground.defects() == [defect]
    before = ground.contents()
    (done,) = ground.repair([defect], run="first")
    assert (done.outcome, done.in_order) == (ActionOutcome.DONE, True)
    ground.assert_right()
    (record,) = ground.journal("first")
    assert (record.defect, record.before, record.after) == (
        defect.id,
        defect.actual,
        defect.expected,
    )
    assert list(record.before or record.after or {}) == ["v", "k", "s"]
    ((_, applied),) = ground.undo("first")
    assert applied.outcome is ActionOutcome.DONE
    assert ground.contents() == before


@pytest.mark.parametrize("name", PLANTED)
def test_a_defect_that_somebody_else_repaired_is_left_alone_and_reported_so(
    ground: Ground, name: str
) -> None:
    _, defect = PLANTED[name]
    before = ground.contents()
    (done,) = ground.repair([defect], run="first")
    assert (done.outcome, done.in_order) == (ActionOutcome.ALREADY_RIGHT, True)
    assert ground.contents() == before
    assert ground.journal("first") == []


@pytest.mark.parametrize("name", PLANTED)
def test_a_row_that_changed_since_the_check_decides_and_the_old_reading_does_not(
    ground: Ground, name: str
) -> None:
    """What the defect says of the row is no longer so; the entry that a writer put now stays."""
    statement, defect = PLANTED[name]
    ground.database.run(statement)
    if name == "delete":
        ground.database.run("INSERT INTO t VALUES (99, 'v0', 's99')")
    elif name == "delete of another key":
        ground.database.run(
            "UPDATE t SET v = 'old' WHERE k = 3", "DELETE FROM t__by_v WHERE k = 3 AND v = 'v0'"
        )
    else:
        ground.database.run("UPDATE t SET s = 'new' WHERE k = 3")
    before = ground.contents()
    (done,) = ground.repair([defect], run="first")
    assert done.outcome is ActionOutcome.ROW_CHANGED
    assert done.in_order is (name.startswith("delete"))
    assert ground.contents() == before
    assert ground.journal("first") == []


def test_an_entry_with_other_stored_values_is_a_conflict_for_what_was_planned(
    ground: Ground,
) -> None:
    """Somebody else wrote into the place: neither put nor delete nor replace touches it."""
    ground.database.run(
        "UPDATE t__by_v SET s = 'theirs' WHERE k = 3",
        "INSERT INTO t__by_v VALUES ('v0', 99, 'theirs')",
    )
    before = ground.contents()
    for defect in (missing(3), wrong(3, "bad"), dangling(99)):
        (done,) = ground.repair([defect])
        assert (done.outcome, done.in_order) == (ActionOutcome.CONFLICT, False)
    assert ground.contents() == before


def test_of_several_copies_one_is_kept_and_undo_brings_the_others_back(bare: Ground) -> None:
    bare.database.run("INSERT INTO t__by_v SELECT v, k, s FROM t, generate_series(1, 2) WHERE k=3")
    before = bare.contents()
    assert bare.defects() == [doubled(3)]
    assert one(bare.repair(bare.defects(), run="first")) is ActionOutcome.DONE
    bare.assert_right()
    assert [record.copies for record in bare.journal("first")] == [2]
    bare.undo("first")
    assert bare.contents() == before
    assert one(bare.repair([doubled(4)])) is ActionOutcome.ALREADY_RIGHT
    bare.database.run("UPDATE t SET s = 'new' WHERE k = 3")
    assert one(bare.repair([doubled(3)])) is ActionOutcome.ROW_CHANGED


@pytest.mark.parametrize("copies", [2, 3])
def test_a_dangling_entry_that_is_there_several_times_goes_and_comes_back_whole(
    bare: Ground, copies: int
) -> None:
    bare.database.run(
        f"INSERT INTO t__by_v SELECT 'v0', 99, 's99' FROM generate_series(1, {copies})"
    )
    before = bare.contents()
    found = bare.defects()
    assert {d.kind for d in found} == {DefectKind.DANGLING, DefectKind.DUPLICATE_ENTRY}
    assert all(done.in_order for done in bare.repair(found, run="first"))
    bare.assert_right()
    bare.undo("first")
    assert bare.contents() == before


@pytest.mark.parametrize("copies", [2, 3])
def test_a_wrong_entry_that_is_there_several_times_is_mended_and_comes_back_whole(
    bare: Ground, copies: int
) -> None:
    bare.database.run(
        "DELETE FROM t__by_v WHERE k = 3",
        f"INSERT INTO t__by_v SELECT 'v0', 3, 'bad' FROM generate_series(1, {copies})",
    )
    assert_repaired_and_undone(bare)


def test_a_wrong_entry_beside_the_right_one_goes_and_undo_puts_it_there_again(
    bare: Ground,
) -> None:
    """A check tells this as a wrong value and a copy; the right entry is never touched."""
    bare.database.run("INSERT INTO t__by_v VALUES ('v0', 3, 'bad')")
    assert_repaired_and_undone(bare)


def test_two_different_wrong_entries_of_one_row_are_gone_after_a_second_run(bare: Ground) -> None:
    """A check names one of them; that the place is not in order yet is told."""
    bare.database.run(
        "UPDATE t__by_v SET s = 'bad' WHERE k = 3", "INSERT INTO t__by_v VALUES ('v0', 3, 'worse')"
    )
    before = bare.contents()
    assert any(done.in_order is False for done in bare.repair(bare.defects(), run="first"))
    assert all(done.in_order for done in bare.repair(bare.defects(), run="second"))
    bare.assert_right()
    bare.undo("second")
    bare.undo("first")
    assert bare.contents() == before


# ---- shapes ----


def test_rows_with_null_in_the_key_have_entries_of_their_own(ground: Ground) -> None:
    ground.database.run(
        "ALTER TABLE t__by_v DROP CONSTRAINT IF EXISTS t__by_v_pkey",
        "ALTER TABLE t__by_v ALTER v DROP NOT NULL",
        "UPDATE t SET v = NULL WHERE k IN (1, 2, 4)",
        "UPDATE t__by_v SET v = NULL WHERE k IN (1, 2)",
        "DELETE FROM t__by_v WHERE k = 4",
        "UPDATE t__by_v SET s = 'bad' WHERE k = 2",
        "INSERT INTO t__by_v VALUES (NULL, 77, 's77')",
    )
    before = ground.contents()
    found = ground.defects()
    assert {d.kind for d in found} == {
        DefectKind.MISSING,
        DefectKind.DANGLING,
        DefectKind.WRONG_STORED_VALUE,
    }
    assert outcomes(ground.repair(found, run="first")) == {ActionOutcome.DONE: 3}
    ground.assert_right()
    ground.undo("first")
    assert ground.contents() == before


def test_an_entry_without_a_primary_key_is_deleted_and_never_called_right(bare: Ground) -> None:
    bare.database.run("INSERT INTO t__by_v VALUES ('v0', NULL, 's3'), (NULL, NULL, NULL)")
    assert_repaired_and_undone(bare)


def unique_ground(database: Database) -> Ground:
    """A unique index on v, which may be NULL."""
    database.run(
        "CREATE TABLE t (k bigint PRIMARY KEY, v text UNIQUE, s text)",
        "CREATE TABLE t__by_v (v text UNIQUE, k bigint, s text)",
        "INSERT INTO t SELECT i, 'v' || i, 's' || i FROM generate_series(1, 9) AS i",
        "INSERT INTO t__by_v SELECT v, k, s FROM t",
    )
    return Ground(database, kv_table(unique=True))


def test_a_missing_entry_whose_place_in_a_unique_index_a_dangling_one_holds_is_put(
    database: Database,
) -> None:
    """Deletes come first, whatever the order of keys, and both places are in order after it."""
    ground = unique_ground(database)
    database.run(
        "UPDATE t__by_v SET k = 99 WHERE v = 'v1'", "UPDATE t__by_v SET k = 0 WHERE v = 'v5'"
    )
    before = ground.contents()
    done = ground.repair(ground.defects(), run="first")
    assert outcomes(done) == {ActionOutcome.DONE: 4}
    assert all(one.in_order for one in done)
    ground.assert_right()
    ground.undo("first")
    assert ground.contents() == before


def test_a_place_that_another_row_took_in_a_unique_index_is_a_conflict(database: Database) -> None:
    ground = unique_ground(database)
    database.run("DELETE FROM t__by_v WHERE k = 3", "INSERT INTO t__by_v VALUES ('v3', 4, 's4')")
    defect = defect_of(
        ground.table, "by_v", DefectKind.MISSING, expected={"v": "v3", "k": 3, "s": "s3"}
    )
    before = ground.contents()
    (done,) = ground.repair([defect])
    assert (done.outcome, done.in_order) == (ActionOutcome.CONFLICT, False)
    assert ground.contents() == before


def test_nulls_never_clash_in_a_unique_index(database: Database) -> None:
    ground = unique_ground(database)
    database.run("UPDATE t SET v = NULL WHERE k < 5", "DELETE FROM t__by_v WHERE k < 5")
    assert outcomes(ground.repair(ground.defects(), run="first")) == {ActionOutcome.DONE: 4}
    ground.assert_right()
    ground.undo("first")
    assert len(ground.entries()) == 5


def test_composite_keys_and_names_that_need_quotes(database: Database) -> None:
    schema, relation, name = 'My "shop"', "Order's; table", 'the "k"'
    index = index_of(
        key={"trim": STRING, name: BIGINT}, suffix={"b": STRING}, stored={"100%s": STRING},
        relation="t.by v",
    )  # fmt: skip
    types = {"b": STRING, name: BIGINT, "trim": STRING, "100%s": STRING}
    table = table_of(types, index, primary_key=(name, "b"), relation=relation)
    quoted = '"the ""k"""'
    database.run(
        'CREATE SCHEMA "My ""shop"""',
        f'CREATE TABLE "My ""shop"""."Order\'s; table" '
        f'(b text, {quoted} bigint, trim text, "100%s" text, PRIMARY KEY (b, {quoted}))',
        f'CREATE TABLE "My ""shop"""."t.by v" ("100%s" text, b text, {quoted} bigint, trim text)',
        'INSERT INTO "My ""shop"""."Order\'s; table" '
        "SELECT 'b' || i % 2, i, 'x' || i % 3, '%s' FROM generate_series(1, 6) AS i",
        f'INSERT INTO "My ""shop"""."t.by v" (b, {quoted}, trim, "100%s") '
        f'SELECT b, {quoted}, trim, "100%s" FROM "My ""shop"""."Order\'s; table" '
        f"WHERE {quoted} > 1",
        f'UPDATE "My ""shop"""."t.by v" SET "100%s" = NULL WHERE {quoted} = 2',
        f'UPDATE "My ""shop"""."t.by v" SET b = \'other\' WHERE {quoted} = 3',
    )
    ground = Ground(database, table, schema=schema)
    before = ground.contents()
    assert outcomes(ground.repair(ground.defects(), run="first")) == {ActionOutcome.DONE: 4}
    ground.assert_right()
    ground.undo("first")
    assert ground.contents() == before


TYPES: Mapping[str, tuple[str, ColumnType, Sequence[str]]] = {
    "numeric": ("numeric(12,3)", ColumnType(TypeName.DECIMAL, 12, 3), ["1.5", "-7", "0.001"]),
    "any numeric": ("numeric", STRING, ["1.5", "-7", "1e30"]),
    "timestamptz": (
        "timestamptz",
        ColumnType(TypeName.TIMESTAMP),
        ["2024-02-29 12:00:00.000001+05:30", "1969-12-31 23:59:59Z", "9999-12-31 00:00:00Z"],
    ),
    "timestamp": (
        "timestamp",
        ColumnType(TypeName.TIMESTAMP_NTZ),
        ["2024-02-29 12:00:00.5", "0001-01-01 00:00:00", "1970-01-01 00:00:00"],
    ),
    "date": ("date", ColumnType(TypeName.DATE), ["2024-02-29", "0001-01-01", "1970-01-01"]),
    "uuid": (
        "uuid",
        STRING,
        [f"00000000-0000-0000-0000-00000000000{n}" for n in range(3)],
    ),
    "bytea": ("bytea", ColumnType(TypeName.BINARY), ["\\x", "\\x00ff", "\\x5c27"]),
    "double": ("float8", ColumnType(TypeName.DOUBLE), ["NaN", "0.1", "-1e300"]),
    "real": ("float4", ColumnType(TypeName.FLOAT), ["NaN", "0.1", "1.17549435e-38"]),
    "boolean": ("boolean", ColumnType(TypeName.BOOLEAN), ["true", "false", "true"]),
    "varchar": ("varchar(20)", STRING, ["", "it's %s", "ü\\n"]),
    "smallint": ("int2", ColumnType(TypeName.SMALLINT), ["1", "-32768", "32767"]),
}


@pytest.mark.parametrize("name", TYPES)
def test_values_of_every_type_are_found_put_and_restored_exactly(
    database: Database, name: str
) -> None:
    """As keys and as stored values: one entry missing, one wrong, one dangling."""
    server, type_, values = TYPES[name]
    index = index_of(key={"v": type_}, suffix={"k": BIGINT}, stored={"s": type_})
    table = table_of({"k": BIGINT, "v": type_, "s": type_}, index)
    listed = ", ".join(f"({n}, E'{v.replace(chr(92), chr(92) * 2).replace(chr(39), chr(39) * 2)}')"
                       for n, v in enumerate(values))  # fmt: skip
    database.run(
        f"CREATE TABLE t (k bigint PRIMARY KEY, v {server}, s {server})",
        f"CREATE TABLE t__by_v (v {server}, k bigint, s {server})",
        f"INSERT INTO t SELECT k, v::{server}, v::{server} FROM (VALUES {listed}) AS x(k, v)",
        "INSERT INTO t__by_v SELECT v, k, s FROM t WHERE k > 0",
        "UPDATE t__by_v SET s = NULL WHERE k = 1",
        "INSERT INTO t__by_v SELECT v, 99, s FROM t WHERE k = 0",
    )
    ground = Ground(database, table)
    before = ground.contents()
    done = ground.repair(ground.defects(), run="first")
    assert outcomes(done) == {ActionOutcome.DONE: 3}, done
    assert all(one.in_order for one in done)
    ground.assert_right()
    ground.undo("first")
    assert ground.contents() == before


@pytest.mark.parametrize("value", ["infinity", "-infinity", "0044-03-15 BC"])
def test_times_that_reports_cannot_tell_are_left_alone_without_a_crash(
    database: Database, value: str
) -> None:
    """Python's times end with the year 9999; other rows of the same batch are repaired."""
    time = ColumnType(TypeName.TIMESTAMP)
    index = index_of(key={"v": time}, suffix={"k": BIGINT})
    table = table_of({"k": BIGINT, "v": time}, index)
    database.run(
        "CREATE TABLE t (k bigint PRIMARY KEY, v timestamptz)",
        "CREATE TABLE t__by_v (v timestamptz, k bigint)",
        f"INSERT INTO t VALUES (1, '{value}'), (2, '2024-01-01 00:00Z')",
    )
    ground = Ground(database, table)
    told = [
        defect_of(table, "by_v", DefectKind.MISSING, expected={"v": "-999999999 us", "k": 1}),
        defect_of(
            table, "by_v", DefectKind.MISSING, expected={"v": "2024-01-01T00:00:00Z", "k": 2}
        ),
    ]
    plan = plan_repair(told, {"t": table})
    assert [refusal.primary_key for refusal in plan.refusals] == [{"k": 1}]
    assert one(ground.repair(told)) is ActionOutcome.DONE


def test_a_partitioned_table_with_a_partitioned_index(database: Database) -> None:
    database.run(
        "CREATE TABLE t (k bigint PRIMARY KEY, v text, s text) PARTITION BY HASH (k)",
        *(
            f"CREATE TABLE t{n} PARTITION OF t FOR VALUES WITH (MODULUS 3, REMAINDER {n})"
            for n in range(3)
        ),
        "CREATE TABLE t__by_v (v text, k bigint, s text) PARTITION BY HASH (k)",
        *(
            f"CREATE TABLE i{n} PARTITION OF t__by_v FOR VALUES WITH (MODULUS 2, REMAINDER {n})"
            for n in range(2)
        ),
        "INSERT INTO t SELECT i, 'v' || i % 3, 's' || i FROM generate_series(1, 40) AS i",
        "INSERT INTO t__by_v SELECT v, k, s FROM t WHERE k % 5 > 0",
        "UPDATE t__by_v SET s = 'bad' WHERE k % 5 = 1",
        "INSERT INTO t__by_v SELECT v, k + 100, s FROM t WHERE k % 5 = 2",
        "INSERT INTO t__by_v SELECT v, k, s FROM t WHERE k % 5 = 3",
    )
    ground = Ground(database, kv_table())
    before = ground.contents()
    assert outcomes(ground.repair(ground.defects(), run="first")) == {ActionOutcome.DONE: 32}
    ground.assert_right()
    ground.undo("first")
    assert ground.contents() == before


# ---- repairs of other systems that made things worse ----


def partial(database: Database, **given: Any) -> Ground:
    """Only rows that are open have an entry; those with NULL for an answer have none."""
    database.run(*CREATE, "UPDATE t SET s = NULL WHERE k = 9", "UPDATE t SET s='open' WHERE k < 5",
                 "DELETE FROM t__by_v WHERE k >= 5",
                 "UPDATE t__by_v SET s = 'open'")  # fmt: skip
    ground = Ground(database, kv_table(where="s = 'open'", **given))
    plain = ground._plain("by_v")
    ground.due = {"by_v": lambda row: plain(row) if row["s"] == "open" else None}
    return ground


@pytest.mark.parametrize("dialect", ["spark", "postgres"])
def test_no_entry_is_written_for_a_row_outside_the_predicate_of_a_partial_index(
    database: Database, dialect: str
) -> None:
    """tidb#65823: ADMIN RECOVER INDEX wrote entries for rows outside a partial index.

    Even when told that such an entry is missing, as an older result may tell it.
    """
    ground = partial(database, dialect=dialect)
    before = ground.contents()
    told = [
        defect_of(ground.table, "by_v", DefectKind.MISSING, expected=entry(5)),
        defect_of(ground.table, "by_v", DefectKind.MISSING, expected=entry(9)),
        defect_of(ground.table, "by_v", DefectKind.MISSING, expected=entry(6, s="open")),
    ]
    done = ground.repair(told, run="first")
    assert outcomes(done) == {ActionOutcome.ROW_CHANGED: 3}
    assert all(one.in_order for one in done)
    assert ground.contents() == before
    ground.assert_right()


@pytest.mark.parametrize("dialect", ["spark", "postgres"])
def test_entries_of_rows_that_left_the_predicate_are_deleted_and_others_are_put(
    database: Database, dialect: str
) -> None:
    ground = partial(database, dialect=dialect)
    database.run(
        "UPDATE t SET s = 'done' WHERE k = 1",  # its entry dangles now
        "UPDATE t SET s = NULL WHERE k = 2",  # the same, with neither yes nor no for an answer
        "UPDATE t SET s = 'open' WHERE k = 7",  # lacks its entry
    )
    before = ground.contents()
    assert outcomes(ground.repair(ground.defects(), run="first")) == {ActionOutcome.DONE: 3}
    ground.assert_right()
    ground.undo("first")
    assert ground.contents() == before


def test_rows_that_nulls_skip_leaves_out_get_no_entry(database: Database) -> None:
    database.run(*CREATE, "UPDATE t SET v = NULL WHERE k < 4", "DELETE FROM t__by_v WHERE k = 5")
    ground = Ground(database, kv_table(nulls=Nulls.SKIP))
    plain = ground._plain("by_v")
    ground.due = {"by_v": lambda row: plain(row) if row["v"] is not None else None}
    told = defect_of(
        ground.table, "by_v", DefectKind.MISSING, expected={"v": None, "k": 1, "s": "s1"}
    )
    assert one(ground.repair([told])) is ActionOutcome.ROW_CHANGED
    assert outcomes(ground.repair(ground.defects())) == {ActionOutcome.DONE: 4}
    ground.assert_right()


LOWER = "lower(v) || '%' || coalesce(s, 'none')"


def expression_ground(database: Database) -> Ground:
    column = EntryColumn(name="low", source=LOWER, is_expression=True, type=STRING)
    index = index_of(
        key={}, columns=(column,), suffix={"k": BIGINT}, stored={"s": STRING}, dialect="postgres"
    )
    database.run(
        "CREATE TABLE t (k bigint PRIMARY KEY, v text, s text)",
        "CREATE TABLE t__by_v (low text, k bigint, s text)",
        "INSERT INTO t SELECT i, 'V' || i % 3, 'S' || i FROM generate_series(1, 9) AS i",
        "UPDATE t SET s = NULL WHERE k = 4",
        f"INSERT INTO t__by_v SELECT {LOWER}, k, s FROM t",
    )
    ground = Ground(database, table_of({"k": BIGINT, "v": STRING, "s": STRING}, index))
    ground.due = {
        "by_v": lambda row: {
            "low": f"{str(row['v']).lower()}%{'none' if row['s'] is None else row['s']}",
            "k": row["k"],
            "s": row["s"],
        }
    }
    return ground


def test_an_expression_index_is_repaired_by_the_value_of_the_row_and_never_made_worse(
    database: Database,
) -> None:
    """tidb#40430: recovering an expression index created the inconsistency.

    An entry that a row's expression does not give now is not written, whatever a result says.
    """
    ground = expression_ground(database)
    ground.assert_right()
    before = ground.contents()
    told = [
        defect_of(
            ground.table, "by_v", DefectKind.MISSING, expected={"low": "V1%S1", "k": 1, "s": "S1"}
        ),
        defect_of(
            ground.table, "by_v", DefectKind.DANGLING, actual={"low": "v2%S2", "k": 2, "s": "S2"}
        ),
    ]
    done = ground.repair(told)
    assert outcomes(done) == {ActionOutcome.ROW_CHANGED: 2}
    assert ground.contents() == before
    database.run(
        "DELETE FROM t__by_v WHERE k = 1",
        "UPDATE t__by_v SET low = upper(low) WHERE k = 2",
        "UPDATE t__by_v SET s = 'bad' WHERE k = 4",
    )
    before = ground.contents()
    assert outcomes(ground.repair(ground.defects(), run="first")) == {ActionOutcome.DONE: 4}
    ground.assert_right()
    ground.undo("first")
    assert ground.contents() == before


def shouting(database: Database, expression: str) -> Ground:
    """An index on what a function of another schema gives; there is one of its name in public."""
    database.run(
        "CREATE SCHEMA shop",
        "CREATE FUNCTION shop.shout(text) RETURNS text IMMUTABLE LANGUAGE sql RETURN upper($1)",
        "CREATE FUNCTION public.shout(text) RETURNS text IMMUTABLE LANGUAGE sql RETURN 'wrong'",
        "CREATE TABLE shop.t (k bigint PRIMARY KEY, v text)",
        "CREATE TABLE shop.t__by_v (loud text, k bigint)",
        "INSERT INTO shop.t VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO shop.t__by_v VALUES ('A', 1)",
    )
    column = EntryColumn(name="loud", source=expression, is_expression=True, type=STRING)
    index = index_of(key={}, columns=(column,), suffix={"k": BIGINT}, dialect="postgres")
    ground = Ground(database, table_of({"k": BIGINT, "v": STRING}, index), schema="shop")
    ground.due = {"by_v": lambda row: {"loud": str(row["v"]).upper(), "k": row["k"]}}
    return ground


def test_a_function_in_an_expression_is_the_one_that_the_catalog_names_with_its_schema(
    database: Database,
) -> None:
    ground = shouting(database, "shop.shout(v)")
    assert one(ground.repair(ground.defects())) is ActionOutcome.DONE
    ground.assert_right()


def test_a_function_without_its_schema_is_refused_and_no_search_path_chooses_one(
    database: Database,
) -> None:
    ground = shouting(database, "shout(v)")
    before = ground.contents()
    with pytest.raises(ScrubError, match="shout") as error:
        ground.repair(ground.defects())
    assert "with their schema" in error.value.with_hint
    assert ground.contents() == before


# ---- others write meanwhile ----


def insert_in_flight(ground: Ground, *statements: str) -> psycopg.Connection[Any]:
    writer = psycopg.connect(ground.database.url)
    for statement in statements:
        writer.execute(statement)
    return writer


ROW_OF_99 = "INSERT INTO t VALUES (99, 'v0', 's99')"
ENTRY_OF_99 = "INSERT INTO t__by_v VALUES ('v0', 99, 's99') ON CONFLICT DO NOTHING"


@pytest.mark.parametrize("order", ["row first", "entry first"])
def test_the_entry_of_an_insert_in_flight_is_put_back(database: Database, order: str) -> None:
    """Its writer found the dangling entry and put none; repair deletes it, waits, looks again."""
    database.run(*CREATE, GUARD, "INSERT INTO t__by_v VALUES ('v0', 99, 's99')")
    ground = Ground(database, kv_table())
    first, second = (ROW_OF_99, ENTRY_OF_99) if order == "row first" else (ENTRY_OF_99, ROW_OF_99)
    writer = insert_in_flight(ground, first)
    if order == "row first":
        writer.execute(second)
    repair = Background(lambda: ground.repair([dangling(99)], run="first"))
    until(lambda: ground.entries() == [e for e in ground.entries() if e["k"] != 99])
    if order == "entry first":
        writer.execute(second)
    assert not repair.is_done
    writer.commit()
    (done,) = repair.result()
    assert (done.outcome, done.in_order) == (ActionOutcome.PUT_BACK, True)
    ground.assert_right()
    assert [r.kind for r in ground.journal("first")] == [ActionKind.DELETE, ActionKind.PUT]
    before = ground.contents()
    ground.undo("first")
    assert ground.contents() == before
    writer.close()


def deleting_before(
    database: Database, stored: str
) -> tuple[Ground, psycopg.Connection[Any], Background]:
    """A repair that deleted a dangling entry, whose row comes with a writer in flight."""
    database.run(*CREATE, GUARD, f"INSERT INTO t__by_v VALUES ('v0', 99, '{stored}')")
    ground = Ground(database, kv_table())
    writer = insert_in_flight(ground, ROW_OF_99, ENTRY_OF_99)
    repair = Background(lambda: ground.repair([dangling(99, s=stored)]))
    until(lambda: len(ground.entries()) == 9)
    return ground, writer, repair


def test_an_insert_in_flight_that_is_rolled_back_leaves_nothing(database: Database) -> None:
    ground, writer, repair = deleting_before(database, "s99")
    writer.rollback()
    assert one(repair.result()) is ActionOutcome.DONE
    ground.assert_right()
    writer.close()


def test_an_insert_in_flight_with_other_stored_values_is_told_as_not_in_order(
    database: Database,
) -> None:
    """Its writer found the dangling entry, whose values are not its row's: a check finds that."""
    _, writer, repair = deleting_before(database, "old")
    writer.commit()
    (done,) = repair.result()
    assert done.in_order is False
    writer.close()


def test_a_writer_that_never_ends_is_named_and_the_next_run_looks_at_its_row_first(
    database: Database,
) -> None:
    database.run(*CREATE, GUARD, "INSERT INTO t__by_v VALUES ('v0', 99, 's99')")
    ground = Ground(database, kv_table())
    writer = insert_in_flight(ground, ROW_OF_99, ENTRY_OF_99)
    plan = plan_repair([dangling(99)], {"t": ground.table})
    with ground.repairs() as store, pytest.raises(StoreUnavailable) as caught:
        Executor(store, ground.table, "first", wait_limit=0.1).repair(plan.actions)
    assert f"session {writer.info.backend_pid} " in str(caught.value)
    writer.commit()
    writer.close()
    assert ground.repair([], run="second") == []
    ground.assert_right()
    with ground.repairs() as store:
        assert all(record.finished for record in store.runs())
        assert [r.kind for r in store.journal("second")] == [ActionKind.PUT]


def test_a_row_that_is_being_written_is_waited_for_and_judged_as_it_is_then(
    ground: Ground,
) -> None:
    ground.database.run("DELETE FROM t__by_v WHERE k = 3")
    writer = insert_in_flight(ground, "UPDATE t SET s = 'new' WHERE k = 3")
    repair = Background(lambda: ground.repair([missing(3)]))
    until(lambda: is_waiting(ground))
    writer.execute("INSERT INTO t__by_v VALUES ('v0', 3, 'new')")
    writer.commit()
    (done,) = repair.result()
    assert (done.outcome, done.in_order) == (ActionOutcome.ROW_CHANGED, True)
    ground.assert_right()
    writer.close()


def is_waiting(ground: Ground) -> bool:
    query = (
        "SELECT 1 FROM pg_stat_activity "
        "WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    return bool(ground.database.rows(query))


def test_a_server_that_shows_transactions_one_moment_only_changes_nothing(
    bare: Ground,
) -> None:
    """Each statement of a batch must see what was committed before it, whatever is the default."""
    name = bare.database.name
    bare.database.run(
        f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'",
        "DELETE FROM t__by_v WHERE k = 3",
    )
    writer = insert_in_flight(bare, "LOCK TABLE t__by_v IN ROW EXCLUSIVE MODE")
    repair = Background(lambda: bare.repair([missing(3)]))
    until(lambda: is_waiting(bare))
    writer.execute("INSERT INTO t__by_v VALUES ('v0', 3, 's3')")
    writer.commit()
    assert one(repair.result()) is ActionOutcome.ALREADY_RIGHT
    bare.assert_right()
    writer.close()


# ---- one at a time ----


def record_of(run: str) -> RunRecord:
    return RunRecord(run=run, command="repair", table="t", started=datetime.now(UTC))


def test_the_second_of_two_repairs_is_told_who_holds_the_table(ground: Ground) -> None:
    with ground.repairs() as first, ground.repairs() as second:
        first.begin(record_of("first"))
        with pytest.raises(StoreUnavailable) as caught:
            Executor(second, ground.table, "second").repair([])
        assert f"session {first.connection.info.backend_pid} of " in str(caught.value)
        assert "second" not in {record.run for record in first.runs()}
        first.end("first")
        assert Executor(second, ground.table, "second").repair([]) == []


def test_the_lock_of_a_dead_holder_is_free(ground: Ground) -> None:
    with ground.repairs() as first:
        first.begin(record_of("first"))
        pid = first.connection.info.backend_pid
        ground.database.run(f"SELECT pg_terminate_backend({pid}, 5000)")
        assert one(ground.repair([missing(3)])) is ActionOutcome.ALREADY_RIGHT


def test_settling_a_run_that_was_cut_off_does_not_let_go_of_the_lock(ground: Ground) -> None:
    with ground.repairs() as dead:
        dead.begin(record_of("cut off"))
    ground.database.run("DELETE FROM t__by_v WHERE k = 3")
    plan = plan_repair([missing(3)], {"t": ground.table})
    refused: list[str] = []

    class Watched(PostgresRepairs):
        def apply(
            self, run: str, table: Table, index: Index, actions: Sequence[Action]
        ) -> list[Applied]:
            with ground.repairs() as other:
                try:
                    other.begin(record_of("another"))
                except StoreUnavailable as error:
                    refused.append(str(error))
            return super().apply(run, table, index, actions)

    store = Watched(ground.store)
    assert one(Executor(store, ground.table, "second").repair(plan.actions)) is ActionOutcome.DONE
    store.close()
    assert len(refused) == 1


# ---- cut off ----


class CutOff(Exception):
    """The process ended here."""


class Dying(PostgresRepairs):
    """A session that ends at a given call."""

    def __init__(self, ground: Ground, dies_at: Callable[[str], bool]) -> None:
        super().__init__(ground.store)
        self._dies_at = dies_at

    def _come_to(self, place: str) -> None:
        if self._dies_at(place):
            self.close()
            raise CutOff(place)

    def apply(
        self, run: str, table: Table, index: Index, actions: Sequence[Action]
    ) -> list[Applied]:
        self._come_to("before a batch")
        applied = super().apply(run, table, index, actions)
        self._come_to("after a batch")
        return applied

    def wait_for_writers(self, *given: Any) -> None:
        self._come_to("before the wait")
        super().wait_for_writers(*given)
        self._come_to("after the wait")

    def take_back(self, *given: Any) -> list[Applied]:
        self._come_to("before taking back")
        applied = super().take_back(*given)
        self._come_to("after taking back")
        return applied

    def end(self, run: str) -> None:
        self._come_to("before the end")
        super().end(run)


def plant_some(ground: Ground) -> list[Defect]:
    ground.database.run(
        "DELETE FROM t__by_v WHERE k IN (1, 2)",
        "UPDATE t__by_v SET s = 'bad' WHERE k IN (3, 4)",
        "INSERT INTO t__by_v VALUES ('v0', 99, 's99'), ('v1', 100, 's100')",
    )
    return ground.defects()


def comes_to(place: str, time: int) -> Callable[[str], bool]:
    """Whether a run has come to a place for the n-th time."""
    seen: list[str] = []

    def is_there(here: str) -> bool:
        seen.append(here)
        return seen.count(place) == time and here == place

    return is_there


REPAIR_PLACES = [
    "before a batch",
    "after a batch",
    "before the wait",
    "after the wait",
    "before the end",
]


@pytest.mark.parametrize("place", REPAIR_PLACES)
@pytest.mark.parametrize("time", [1, 2, 3])
def test_a_repair_that_is_cut_off_anywhere_is_completed_by_running_it_again(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, place: str, time: int
) -> None:
    """Journal and data agree at every moment: undoing both runs restores what was there."""
    monkeypatch.setattr(PostgresRepairs, "batch_actions_max", 2)
    found = plant_some(ground)
    before = ground.contents()
    plan = plan_repair(found, {"t": ground.table})
    store = Dying(ground, comes_to(place, time))
    with suppress(CutOff):
        Executor(store, ground.table, "first").repair(plan.actions)
    store.close()
    assert len(ground.journal("first")) == len(found) - len(ground.defects())
    done = ground.repair(found, run="second")
    assert all(one.outcome in LIVE and one.in_order for one in done)
    ground.assert_right()
    assert len(ground.journal("first")) + len(ground.journal("second")) == len(found)
    with ground.repairs() as opened:
        assert all(record.finished for record in opened.runs())
    ground.undo("second")
    ground.undo("first")
    assert ground.contents() == before


@pytest.mark.parametrize("place", ["before taking back", "after taking back", "before the end"])
@pytest.mark.parametrize("time", [1, 2])
def test_an_undo_that_is_cut_off_anywhere_is_completed_by_running_it_again(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, place: str, time: int
) -> None:
    monkeypatch.setattr(PostgresRepairs, "batch_actions_max", 2)
    found = plant_some(ground)
    before = ground.contents()
    ground.repair(found, run="first")
    store = Dying(ground, comes_to(place, time))
    with suppress(CutOff):
        Executor(store, ground.table, "undo 1").undo("first")
    store.close()
    done = ground.undo("first", run="undo 2")
    assert all(applied.outcome is ActionOutcome.DONE for _, applied in done)
    assert ground.contents() == before
    assert {record.undone_by for record in ground.journal("first")} <= {"undo 1", "undo 2"}


def test_the_next_run_looks_first_at_rows_whose_entries_a_cut_off_run_deleted(
    database: Database,
) -> None:
    """Their writer committed after the run was cut off: nobody else would put the entry back."""
    database.run(*CREATE, GUARD, "INSERT INTO t__by_v VALUES ('v0', 99, 's99')")
    ground = Ground(database, kv_table())
    writer = insert_in_flight(ground, ROW_OF_99, ENTRY_OF_99)
    store = Dying(ground, lambda here: here == "before the wait")
    plan = plan_repair([dangling(99)], {"t": ground.table})
    with pytest.raises(CutOff):
        Executor(store, ground.table, "first").repair(plan.actions)
    writer.commit()
    writer.close()
    assert [d.kind for d in ground.defects()] == [DefectKind.MISSING]
    assert one(ground.repair([dangling(99)], run="second")) is ActionOutcome.ROW_CHANGED
    ground.assert_right()


def test_a_process_that_is_killed_leaves_no_lock_and_no_half_batch(ground: Ground) -> None:
    """SIGKILL in the middle of a transaction that has deleted and journalled, not committed."""
    plant_some(ground)
    before = ground.contents()
    program = f"""
import sys, time
from datetime import UTC, datetime
from tests.scrub.stores.postgres.repairs.postgres_ground import Ground, kv_table
from tests.postgres_server import Database
from repair.executing import Executor
from repair.planning import plan_repair
from scrub.stores.postgres.repairs.journal import PostgresJournal

ground = Ground(Database({ground.database.url!r}), kv_table())
plan = plan_repair(ground.defects(), {{"t": ground.table}})
real = PostgresJournal.add
def add(*given):
    real(*given)
    print("now", flush=True)
    time.sleep(60)
PostgresJournal.add = add
with ground.repairs() as store:
    Executor(store, ground.table, "killed").repair(plan.actions)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert ground.contents() == before
    assert ground.journal("killed") == []
    until(lambda: not is_held(ground))
    assert all(one.in_order for one in ground.repair(ground.defects()))
    ground.assert_right()


def is_held(ground: Ground) -> bool:
    held = (
        "pg_locks JOIN pg_database d ON d.oid = database"
        " WHERE locktype = 'advisory' AND datname = current_database()"
    )
    return ground.database.rows(f"SELECT count(*) > 0 FROM {held}") == [(True,)]


# ---- undo ----


def test_undo_refuses_what_was_changed_since_and_says_so(ground: Ground) -> None:
    found = plant_some(ground)
    ground.repair(found, run="first")
    ground.database.run(
        "UPDATE t__by_v SET s = 'newer' WHERE k IN (1, 3)",  # one that was put, one replaced
        "INSERT INTO t__by_v VALUES ('v0', 99, 'newer')",  # in the place of one deleted
    )
    done = ground.undo("first")
    refused = {
        (record.primary_key or {}).get("k")
        for record, applied in done
        if applied.outcome is ActionOutcome.CONFLICT
    }
    assert refused == {1, 3, 99}
    kept = {(e["k"], e["s"]) for e in ground.entries()}
    assert {(1, "newer"), (3, "newer"), (99, "newer")} <= kept
    assert {(4, "bad"), (100, "s100")} <= kept
    assert 2 not in {k for k, _ in kept}
    left = [record for record in ground.journal("first") if record.undone_by is None]
    assert {(record.primary_key or {}).get("k") for record in left} == {1, 3, 99}


def test_undoing_twice_does_nothing_the_second_time(ground: Ground) -> None:
    found = plant_some(ground)
    before = ground.contents()
    ground.repair(found, run="first")
    assert len(ground.undo("first", run="undo")) == len(found)
    assert ground.undo("first") == []
    assert ground.contents() == before
    assert {record.undone_by for record in ground.journal("first")} == {"undo"}
    assert outcomes(ground.repair(ground.defects())) == {ActionOutcome.DONE: len(found)}


def test_an_index_that_is_no_longer_in_the_catalog_is_named_when_its_repair_is_undone(
    ground: Ground,
) -> None:
    ground.repair(plant_some(ground), run="first")
    before = ground.contents()
    without = Ground(ground.database, replace(ground.table, indexes=()))
    with pytest.raises(ScrubError, match="by_v"):
        without.undo("first")
    assert ground.contents() == before


@pytest.mark.parametrize("type_", [None, ColumnType(TypeName.DATE)])
def test_an_index_that_the_catalog_describes_otherwise_by_now_is_named_when_it_is_undone(
    ground: Ground, type_: ColumnType | None
) -> None:
    """Formerly a traceback: the journal had no value for a column that was added to the index."""
    ground.repair(plant_some(ground), run="first")
    before = ground.contents()
    stored = {"s": type_} if type_ else {"s": STRING, "w": STRING}
    index = index_of(key={"v": STRING}, suffix={"k": BIGINT}, stored=stored)
    columns = {"k": BIGINT, "v": STRING, "s": STRING, "w": STRING}
    other = Ground(ground.database, table_of(columns, index))
    with pytest.raises(ScrubError, match="index by_v of t, for which the catalog now has other"):
        other.undo("first")
    assert ground.contents() == before
    assert {applied.outcome for _, applied in ground.undo("first")} == {ActionOutcome.DONE}


# ---- journal, rights ----


def test_runs_are_forgotten_once_they_ended_long_enough_ago(ground: Ground) -> None:
    ground.repair(plant_some(ground), run="first")
    with ground.repairs() as store:
        store.begin(record_of("cut off"))
        store.close()
    with ground.repairs() as store:
        assert store.forget(datetime.now(UTC) - timedelta(days=1)) == 0
        assert store.forget(datetime.now(UTC) + timedelta(days=1)) == 1
        assert [record.run for record in store.runs()] == ["cut off"]
        assert store.journal("first") == []


def test_before_the_first_repair_there_is_no_journal_and_looking_makes_none(
    ground: Ground,
) -> None:
    with ground.repairs() as store:
        assert store.runs() == []
        assert store.journal("first") == []
        assert store.forget(datetime.now(UTC)) == 0
    assert ground.database.rows("SELECT to_regclass('scrub_runs')") == [(None,)]


@pytest.mark.parametrize(
    "rights",
    [
        "GRANT SELECT ON t, t__by_v TO {role}",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON t__by_v TO {role}; GRANT SELECT ON t TO {role}; "
        "GRANT CREATE ON SCHEMA public TO {role}",
    ],
    ids=["reads only", "may not lock rows"],
)
def test_a_role_without_the_rights_is_told_which_one_it_lacks(ground: Ground, rights: str) -> None:
    ground.database.run("DELETE FROM t__by_v WHERE k = 3")
    before = ground.contents()
    role = f"reader_{new_run()}"
    ground.database.run(f"CREATE ROLE {role} LOGIN")
    try:
        ground.database.run(*rights.format(role=role).split("; "))
        url = psycopg.conninfo.make_conninfo(ground.database.url, user=role)
        poor = Ground(Database(url), ground.table)
        with pytest.raises(ScrubError, match="permission denied") as caught:
            poor.repair([missing(3)])
        assert caught.value.hint
        assert ground.contents() == before
    finally:
        ground.database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_database_that_only_reads_is_told(ground: Ground) -> None:
    ground.database.run(
        f"ALTER DATABASE {ground.database.name} SET default_transaction_read_only = on"
    )
    with pytest.raises(ScrubError, match="read-only"):
        ground.repair([missing(3)])


def test_a_server_that_goes_away_is_told_without_a_traceback(ground: Ground) -> None:
    with ground.repairs() as store:
        store.begin(record_of("first"))
        pid = store.connection.info.backend_pid
        ground.database.run(f"SELECT pg_terminate_backend({pid}, 5000)")
        plan = plan_repair([missing(3)], {"t": ground.table})
        with pytest.raises(StoreUnavailable):
            store.apply("first", ground.table, ground.table.index("by_v"), plan.actions)


def test_an_index_table_that_lacks_a_column_is_named(ground: Ground) -> None:
    ground.database.run("ALTER TABLE t__by_v RENAME s TO other")
    with pytest.raises(ScrubError, match=re.escape("t__by_v")):
        ground.repair([missing(3)])
