# SPDX-License-Identifier: Apache-2.0
"""Triggers of the application that write the very rows they fire for, in every order and state.

The server fires triggers of a row by name, and those that a trigger causes at once: so the function
that keeps an index hears of the last version of a row first, if another trigger came before it.
"""

from collections.abc import Iterator

import pytest
from psycopg import errors

from scrub.model.build import DUTIES, Method, State
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import Ground, building, kv_table

pytestmark = pytest.mark.slow

TABLE = """
    CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text,
                    parent bigint REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE)
"""
PARTITIONED = (
    "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text, parent bigint) "
    "PARTITION BY RANGE (k)",
    "CREATE TABLE t_low PARTITION OF t FOR VALUES FROM (MINVALUE) TO (10000)",
    "CREATE TABLE t_high PARTITION OF t FOR VALUES FROM (10000) TO (MAXVALUE)",
)
# A row says in s which trigger is to do what with it.
MEDDLE = """
    CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        of record := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
        what text := split_part(of.s, ':', 2);
    BEGIN
        IF of.s IS NULL OR split_part(of.s, ':', 1) <> TG_ARGV[0] OR pg_trigger_depth() > 4 THEN
            RETURN NULL;
        END IF;
        IF TG_OP = 'DELETE' THEN
            IF what = 'revive' THEN
                INSERT INTO t VALUES (of.k, of.v || 'x');
            END IF;
            RETURN NULL;
        END IF;
        CASE what
            WHEN 'update' THEN UPDATE t SET v = v || '+', s = NULL WHERE k = of.k;
            WHEN 'again' THEN UPDATE t SET v = v || '+' WHERE k = of.k AND v NOT LIKE '%+++';
            WHEN 'delete' THEN DELETE FROM t WHERE k = of.k;
            WHEN 'replace' THEN
                DELETE FROM t WHERE k = of.k;
                INSERT INTO t VALUES (of.k, of.v || 'r');
            WHEN 'move' THEN UPDATE t SET k = k + 10000, s = NULL WHERE k = of.k;
            WHEN 'there and back' THEN
                UPDATE t SET v = v || '!', s = NULL WHERE k = of.k;
                UPDATE t SET v = of.v WHERE k = of.k;
            WHEN 'away and back' THEN
                UPDATE t SET k = k + 10000, s = NULL WHERE k = of.k;
                UPDATE t SET k = of.k WHERE k = of.k + 10000;
            WHEN 'other' THEN UPDATE t SET v = v || 'o' WHERE k = of.k - 1;
            WHEN 'caught' THEN
                BEGIN
                    UPDATE t SET v = v || 'c', s = NULL WHERE k = of.k;
                    RAISE division_by_zero;
                EXCEPTION WHEN division_by_zero THEN NULL;
                END;
            ELSE NULL;
        END CASE;
        RETURN NULL;
    END $$
"""
DEEDS = (
    "update", "again", "delete", "replace", "move", "there and back", "away and back", "other",
    "caught", "revive",
)  # fmt: skip
FIRST, LAST, AT_COMMIT = "a_first", "zz_last", "at_commit"
TRIGGERS = (
    MEDDLE,
    *(
        f"CREATE TRIGGER {name} AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW "
        f"EXECUTE FUNCTION meddle('{name}')"
        for name in (FIRST, LAST)
    ),
    f"CREATE CONSTRAINT TRIGGER {AT_COMMIT} AFTER INSERT OR UPDATE OR DELETE ON t "
    f"DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION meddle('{AT_COMMIT}')",
)


def writes(state_number: int) -> Iterator[str]:
    """Every deed of every trigger: on a new row, on an old one, on many at once."""
    base = state_number * 1000
    for n, (name, deed) in enumerate(
        (name, deed) for name in (FIRST, LAST, AT_COMMIT) for deed in DEEDS
    ):
        k = base + 10 * n
        deeds = f"'{name}:{deed}'"
        yield f"INSERT INTO t VALUES ({k}, 'plain {k}', NULL), ({k + 1}, 'first {k}', {deeds})"
        yield f"INSERT INTO t VALUES ({k + 2}, 'second {k}')"
        yield f"UPDATE t SET v = v || '-', s = '{name}:{deed}' WHERE k = {k + 2}"
        yield f"DELETE FROM t WHERE k = {k + 2}"
        yield (
            f"INSERT INTO t SELECT n, 'many ' || n, '{name}:{deed}' "
            f"FROM generate_series({k + 3}, {k + 5}) AS n"
        )
        yield f"UPDATE t SET k = k + 3, v = v || '*' WHERE k = {k + 5}"
        yield (
            f"INSERT INTO t VALUES ({k}, 'there already') ON CONFLICT (k) DO UPDATE "
            f"SET v = t.v || '=', s = '{name}:{deed}'"
        )


def through_every_state(ground: Ground, *further: str) -> None:
    with ground.database.connect() as writer:
        for number, state in enumerate(DUTIES[ground.method], start=1):
            ground.arrive_at(state)
            for n, statement in enumerate((*writes(number), *further)):
                writer.execute(statement)
                if state is State.PUBLIC and n % 7 == 0:
                    assert ground.entries() == ground.expected(), statement
    ground.assert_right()
    assert len(ground.entries()) > 200


@pytest.mark.parametrize("unique", [True, False], ids=["unique", "not unique"])
@pytest.mark.parametrize("method", list(Method))
def test_index_holds_the_last_version_of_rows_that_triggers_write(
    database: Database, method: Method, unique: bool
) -> None:
    with building(database, kv_table(unique=unique), method, TABLE, *TRIGGERS) as ground:
        database.run("INSERT INTO t VALUES (1, 'old 1', 'a_first:update'), (2, 'old 2', NULL)")
        through_every_state(ground)


@pytest.mark.parametrize("method", list(Method))
def test_rows_that_triggers_move_between_partitions_keep_one_entry(
    database: Database, method: Method
) -> None:
    table = kv_table(unique=True)
    with building(database, table, method, *PARTITIONED, *TRIGGERS) as ground:
        through_every_state(ground, "UPDATE t SET k = k + 10000 WHERE k = 1", "TRUNCATE t_high")


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_snapshot_of_a_transaction_does_not_hide_what_its_own_triggers_did(
    database: Database, isolation: str
) -> None:
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, *TRIGGERS) as ground:
        ground.publish()
        with ground.writer() as writer:
            writer.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
            for statement in writes(1):
                writer.execute(statement)
        ground.assert_right()


@pytest.mark.parametrize("method", list(Method))
def test_cascades_copies_and_merges_are_writes_like_others(
    database: Database, method: Method
) -> None:
    with building(database, kv_table(unique=True), method, TABLE, *TRIGGERS) as ground:
        for number, state in enumerate(DUTIES[method], start=1):
            ground.arrive_at(state)
            k = 1000 * number
            database.run(
                f"INSERT INTO t VALUES ({k}, 'parent {k}')",
                f"INSERT INTO t SELECT {k} + n, 'child ' || {k} + n, NULL, {k} "
                "FROM generate_series(1, 3) AS n",
                f"INSERT INTO t VALUES ({k + 9}, 'grandchild {k}', 'a_first:update', {k + 1})",
                f"UPDATE t SET k = {k + 500} WHERE k = {k}",
                f"DELETE FROM t WHERE k = {k + 1}",
            )
            if database.version >= 150000:
                database.run(
                    f"MERGE INTO t USING (VALUES ({k + 2}), ({k + 700})) AS m(k) ON t.k = m.k "
                    "WHEN MATCHED THEN UPDATE SET v = t.v || 'm', s = 'a_first:update' "
                    "WHEN NOT MATCHED THEN INSERT (k, v, s) VALUES (m.k, 'merged ' || m.k, "
                    "'a_first:replace')"
                )
            with (
                ground.writer() as writer,
                writer.cursor().copy("COPY t (k, v, s) FROM STDIN") as copy,
            ):
                copy.write_row((k + 800, f"copied {k}", "a_first:again"))
            if state is State.PUBLIC:
                database.run(f"DELETE FROM t WHERE k = {k + 500}")
        ground.assert_right()


def test_row_trigger_that_ends_a_clash_in_time_is_allowed_to(database: Database) -> None:
    """Two rows have one key for a moment, as when a statement swaps two; not for longer."""
    with building(database, kv_table(unique=True), Method.INIT_PUT, TABLE, *TRIGGERS) as ground:
        ground.publish()
        database.run(
            "INSERT INTO t VALUES (1, 'one')", "INSERT INTO t VALUES (2, 'one', 'a_first:update')"
        )
        with pytest.raises(errors.UniqueViolation):
            database.run("INSERT INTO t VALUES (3, 'one')")
        with pytest.raises(errors.UniqueViolation):
            database.run("INSERT INTO t VALUES (3, 'one', 'zz_last:update')")
        ground.assert_right()
