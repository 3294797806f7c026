# SPDX-License-Identifier: Apache-2.0
"""Index tables in PostgreSQL that have more than entries: columns, references, triggers beside.

What a repair would destroy for good is refused before anything is written, by name; what it does,
its undo takes back in every column and every table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
from psycopg import conninfo

from repair.hindered import without_hindered
from repair.planning import plan_repair
from scrub.model.defect import Defect
from scrub.model.repair import ActionOutcome, DoneAction, RepairPlan
from scrub.model.types import ColumnType, TypeName
from tests.postgres_server import Database
from tests.scrub.stores.postgres.repairs.postgres_ground import (
    BIGINT,
    Ground,
    index_of,
    kv_table,
    table_of,
)

ROWS = (
    "CREATE TABLE t (k bigint PRIMARY KEY, v text, s text)",
    "INSERT INTO t SELECT i, 'v' || i % 3, 's' || i FROM generate_series(1, 9) AS i",
)
MISSING = "DELETE FROM t__by_v WHERE k = 3"
DANGLING = "INSERT INTO t__by_v (v, k, s) VALUES ('v0', 99, 's99')"
WRONG = "UPDATE t__by_v SET s = 'bad' WHERE k = 4"


@dataclass(frozen=True)
class Beside:
    """What stands beside the entries."""

    columns: str = ""
    more: Sequence[str] = ()


def ground_of(database: Database, beside: Beside, *damage: str) -> Ground:
    database.run(
        *ROWS,
        f"CREATE TABLE t__by_v (v text, k bigint, s text{beside.columns}, PRIMARY KEY (v, k))",
        "INSERT INTO t__by_v (v, k, s) SELECT v, k, s FROM t",
        *damage,
        *beside.more,
    )
    return Ground(database, kv_table())


def preview(ground: Ground, defects: Sequence[Defect] | None = None) -> RepairPlan:
    """What `scrub repair table` shows."""
    found = ground.defects() if defects is None else defects
    plan = plan_repair(found, {"t": ground.table})
    with ground.repairs() as store:
        return without_hindered(plan, ground.table, store)


def repaired(database: Database, beside: Beside, *damage: str) -> Ground:
    """After the first run."""
    ground = ground_of(database, beside, *damage)
    ground.execute(preview(ground), run="first")
    return ground


def everything(database: Database) -> dict[str, list[str]]:
    """All rows of all tables but the journal's, and where sequences stand."""
    names = database.rows(
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname NOT IN "
        "('pg_catalog', 'information_schema') AND tablename NOT LIKE 'scrub\\_%'"
    )
    found = {
        name: sorted(row[0] for row in database.rows(f"SELECT x::text FROM {name} x"))
        for (name,) in names
    }
    # Where PostgreSQL 10 and later keep them; scrub's own journal counts by itself.
    found["sequences"] = sorted(
        row[0]
        for row in database.rows(
            "SELECT s::text FROM pg_sequences s WHERE sequencename NOT LIKE 'scrub\\_%'"
        )
    )
    return found


def assert_undone_exactly(ground: Ground) -> list[DoneAction]:
    before = everything(ground.database)
    done = ground.execute(preview(ground), run="first")
    assert {one.outcome for one in done} == {ActionOutcome.DONE}, done
    assert all(one.in_order for one in done)
    undone = ground.undo("first")
    assert {applied.outcome for _, applied in undone} == {ActionOutcome.DONE}, undone
    assert everything(ground.database) == before
    return done


def as_role(database: Database, role: str) -> Database:
    return Database(conninfo.make_conninfo(database.url, user=role))


# ---- further columns ----

EXACT = (
    ", n numeric DEFAULT 1.500, f float8 DEFAULT '-0', g float4 DEFAULT 0.1, b bytea DEFAULT "
    "'\\x00ff', at timestamptz DEFAULT 'infinity', old timestamp DEFAULT '0044-03-15 BC', "
    "fixed char(5) DEFAULT 'ab', a int[] DEFAULT '[0:1]={1,NULL}', j json DEFAULT '{\"b\": 1,  "
    '"a":2}\', c t DEFAULT ROW(1, NULL, \'x, "y"\'), e t DEFAULT ROW(NULL, NULL, NULL), i interval '
    "DEFAULT '-1 mon +2 days -00:00:01.5', m money DEFAULT '-12.34', empty text DEFAULT '', "
    "nothing text, bits bit varying DEFAULT B'0101', big numeric DEFAULT "
    "123456789012345678901234567890123456789012345678901234567890.10"
)


def test_replacing_and_deleting_leave_and_restore_every_further_column(database: Database) -> None:
    """Formerly a replaced entry got the defaults of the columns, and a restored one too."""
    ground = ground_of(database, Beside(EXACT), DANGLING, WRONG, MISSING)
    database.run(
        "UPDATE t__by_v SET n = 2.50, f = 'NaN', fixed = 'x', nothing = 'y', a = '{}' "
        "WHERE k IN (4, 99)"
    )
    kept = database.rows("SELECT n::text, f::text, nothing, a::text FROM t__by_v WHERE k = 4")
    assert_undone_exactly(ground)
    ground.execute(preview(ground), run="again")
    assert kept == database.rows("SELECT n::text, f::text, nothing, a::text FROM t__by_v "
                                 "WHERE k = 4")  # fmt: skip
    ground.assert_right()


def test_only_the_stored_columns_that_differ_are_written(database: Database) -> None:
    """A trigger for another column's updates is not set off, so it hinders nothing."""
    ground = ground_of(
        database,
        Beside(
            ", seen int DEFAULT 0",
            (
                "CREATE FUNCTION cry() RETURNS trigger LANGUAGE plpgsql AS "
                "$$BEGIN RAISE 'seen was written'; END$$",
                "CREATE TRIGGER cry BEFORE UPDATE OF seen, v, k ON t__by_v FOR EACH ROW "
                "EXECUTE FUNCTION cry()",
            ),
        ),
        WRONG,
    )
    assert len(assert_undone_exactly(ground)) == 1


def test_copies_with_different_columns_beside_come_back_each_as_it_was(database: Database) -> None:
    database.run(
        *ROWS,
        "CREATE TABLE t__by_v (v text, k bigint, s text, note text)",
        "INSERT INTO t__by_v SELECT v, k, s, 'n' || k FROM t",
        "INSERT INTO t__by_v VALUES ('v0', 3, 's3', 'second'), ('v0', 3, 's3', NULL), "
        "('v0', 99, 's', 'p'), ('v0', 99, 's', 'q')",
        "UPDATE t__by_v SET s = 'bad' WHERE k = 4",
        "INSERT INTO t__by_v VALUES ('v1', 4, 'bad', 'copy of the wrong one')",
    )
    ground = Ground(database, kv_table())
    before = everything(database)
    runs = []
    while defects := ground.defects():
        runs.append(f"run {len(runs)}")
        ground.execute(preview(ground, defects), run=runs[-1])
        assert len(runs) < 4
    for run in reversed(runs):
        ground.undo(run)
    assert everything(database) == before


def test_undo_leaves_an_entry_alone_whose_further_columns_were_written_since(
    database: Database,
) -> None:
    ground = repaired(database, Beside(", note text"), MISSING)
    database.run("UPDATE t__by_v SET note = 'mine' WHERE k = 3")
    ((_, applied),) = ground.undo("first")
    assert applied.outcome is ActionOutcome.CONFLICT
    assert "other columns of the entry have changed" in applied.reason
    assert database.rows("SELECT note FROM t__by_v WHERE k = 3") == [("mine",)]


def test_undo_of_a_replacement_keeps_what_others_wrote_beside_it(database: Database) -> None:
    ground = repaired(database, Beside(", note text"), WRONG)
    database.run("UPDATE t__by_v SET note = 'mine' WHERE k = 4")
    ground.undo("first")
    assert database.rows("SELECT s, note FROM t__by_v WHERE k = 4") == [("bad", "mine")]


def test_undo_is_refused_when_a_column_that_would_be_restored_is_gone(database: Database) -> None:
    ground = repaired(database, Beside(", note text DEFAULT 'n'"), DANGLING)
    database.run("ALTER TABLE t__by_v RENAME note TO remark")
    ((_, applied),) = ground.undo("first")
    assert applied.outcome is ActionOutcome.REFUSED
    assert "no longer has the column note" in applied.reason
    database.run("ALTER TABLE t__by_v RENAME remark TO note")
    ground.undo("first")
    assert database.rows("SELECT note FROM t__by_v WHERE k = 99") == [("n",)]


def test_a_journal_of_an_earlier_version_gets_its_new_column_and_is_still_undone(
    database: Database,
) -> None:
    ground = ground_of(database, Beside(), DANGLING, WRONG)
    before = ground.contents()
    ground.execute(preview(ground), run="first")
    database.run("ALTER TABLE scrub_journal DROP COLUMN images")
    assert {record.images for record in ground.journal("first")} == {None}
    ground.undo("first")
    assert ground.contents() == before


def test_generated_and_identity_columns_beside_are_restored(database: Database) -> None:
    ground = ground_of(
        database,
        Beside(", loud text GENERATED ALWAYS AS (upper(s)) STORED, "
               "n bigint GENERATED ALWAYS AS IDENTITY"),
        DANGLING,
        WRONG,
    )  # fmt: skip
    assert_undone_exactly(ground)


def test_an_entry_is_put_whose_own_column_the_database_computes(database: Database) -> None:
    database.run(
        *ROWS,
        "CREATE TABLE t__by_v (v text, k bigint, n bigint DEFAULT 7, "
        "s text GENERATED ALWAYS AS ('s' || k) STORED, PRIMARY KEY (v, k))",
        "INSERT INTO t__by_v (v, k) SELECT v, k FROM t WHERE k <> 3",
    )
    assert_undone_exactly(Ground(database, kv_table()))


def test_a_value_that_the_index_table_rounds_is_rolled_back_and_reported(
    database: Database,
) -> None:
    """Done means seen: the other action of the batch is done."""
    ground = ground_of(database, Beside(), MISSING, "DELETE FROM t__by_v WHERE k = 6")
    database.run("ALTER TABLE t__by_v ALTER s TYPE varchar(2)", "UPDATE t SET s = 'long' "
                 "WHERE k = 3")  # fmt: skip
    done = ground.execute(preview(ground))
    assert {one.action.primary_key["k"]: one.outcome for one in done if one.action.primary_key} == {
        3: ActionOutcome.REFUSED,
        6: ActionOutcome.DONE,
    }
    (refused,) = [one for one in done if one.outcome is ActionOutcome.REFUSED]
    assert "holds something else than was written" in refused.reason
    assert database.rows("SELECT count(*) FROM t__by_v WHERE k = 3") == [(0,)]


# ---- what is refused in the preview ----

TRIGGERS: Mapping[str, str] = {
    "suppresses": "RETURN NULL;",
    "alters": "NEW.s := 'altered'; RETURN NEW;",
    "writes elsewhere": "INSERT INTO log VALUES (1); RETURN coalesce(NEW, OLD);",
}


def triggered(body: str, when: str, event: str) -> tuple[str, ...]:
    return (
        "CREATE TABLE log (n int)",
        f"CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {body} END$$",
        f"CREATE TRIGGER act {when} {event} ON t__by_v FOR EACH ROW EXECUTE FUNCTION act()",
    )


@pytest.mark.parametrize("body", TRIGGERS)
@pytest.mark.parametrize("event", ["INSERT", "UPDATE", "DELETE"])
def test_what_would_set_off_a_trigger_is_refused_by_its_name_before_anything_is_written(
    database: Database, body: str, event: str
) -> None:
    """Formerly: other writers were in the way, 60 times; or done, and still wrong."""
    if (body, event) == ("alters", "DELETE"):
        body = "suppresses"
    when = "AFTER" if body == "writes elsewhere" else "BEFORE"
    more = triggered(TRIGGERS[body], when, event)
    ground = ground_of(database, Beside("", more), MISSING, DANGLING, WRONG)
    before = everything(database)
    plan = preview(ground)
    refused = {(r.primary_key or {})["k"] for r in plan.refusals}
    assert refused == ({4} if event == "UPDATE" else {3, 99})
    for refusal in plan.refusals:
        assert f"trigger act on public.t__by_v acts on {event}" in refusal.reason
        assert 'DISABLE TRIGGER "act"' in refusal.remedy
    done = ground.execute(plan, run="first")
    assert {one.outcome for one in done} == {ActionOutcome.DONE}
    ground.undo("first")
    assert everything(database) == before
    database.run("ALTER TABLE t__by_v DISABLE TRIGGER act")
    assert preview(ground).refusals == ()


def test_a_trigger_that_came_after_the_preview_is_refused_when_it_would_be_set_off(
    database: Database,
) -> None:
    ground = ground_of(database, Beside(), MISSING, WRONG)
    plan = preview(ground)
    assert len(plan.actions) == 2
    database.run(*triggered(TRIGGERS["suppresses"], "BEFORE", "INSERT"))
    done = ground.execute(plan)
    assert {one.action.kind: one.outcome for one in done} == {
        "put": ActionOutcome.REFUSED,
        "replace": ActionOutcome.DONE,
    }
    (refused,) = [one for one in done if one.outcome is ActionOutcome.REFUSED]
    assert "trigger act on public.t__by_v" in refused.reason
    assert refused.in_order is False


def test_a_trigger_that_came_after_the_repair_is_told_by_its_undo(database: Database) -> None:
    ground = repaired(database, Beside(), DANGLING)
    database.run(*triggered(TRIGGERS["writes elsewhere"], "AFTER", "INSERT"))
    ((_, applied),) = ground.undo("first")
    assert (applied.outcome, "trigger act" in applied.reason) == (ActionOutcome.REFUSED, True)
    assert database.rows("SELECT count(*) FROM log") == [(0,)]


REFUSED_PUTS: Mapping[str, tuple[Beside, str]] = {
    "not null": (Beside("", ("ALTER TABLE t__by_v ADD n int", "UPDATE t__by_v SET n = 1",
                             "ALTER TABLE t__by_v ALTER n SET NOT NULL")), "NOT NULL"),
    "not null by a domain": (
        Beside("", ("CREATE DOMAIN sure AS int", "ALTER TABLE t__by_v ADD n sure",
                    "UPDATE t__by_v SET n = 1", "ALTER DOMAIN sure SET NOT NULL")),
        "NOT NULL",
    ),
    "serial": (Beside(", n bigserial"), "sequence"),
    "identity": (Beside(", n bigint GENERATED BY DEFAULT AS IDENTITY"), "sequence"),
    "function": (
        Beside("", ("CREATE FUNCTION made() RETURNS int LANGUAGE plpgsql AS "
                    "$$BEGIN INSERT INTO t VALUES (1000, 'x', 'y'); RETURN 1; END$$",
                    "ALTER TABLE t__by_v ADD n int", "ALTER TABLE t__by_v ALTER n "
                    "SET DEFAULT made()")),
        "public.made",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED_PUTS)
def test_an_entry_is_not_put_where_a_column_beside_it_cannot_have_an_honest_value(
    database: Database, name: str
) -> None:
    """Deleting and replacing are not concerned, and are taken back exactly."""
    beside, told = REFUSED_PUTS[name]
    ground = ground_of(database, beside, MISSING, WRONG)
    before = everything(database)
    plan = preview(ground)
    (refusal,) = plan.refusals
    assert refusal.primary_key == {"k": 3}
    assert told in refusal.reason
    assert "t__by_v" in refusal.reason
    assert "by hand" in refusal.remedy
    ground.execute(plan, run="first")
    ground.undo("first")
    assert everything(database) == before


ON_DELETE = ["CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT", "NO ACTION",
             "NO ACTION DEFERRABLE INITIALLY DEFERRED"]  # fmt: skip


def referred(on_delete: str, *keys: int) -> tuple[str, ...]:
    listed = ", ".join(f"('v{k % 3}', {k})" for k in keys)
    return (
        "CREATE TABLE child (v text, k bigint, "
        f"FOREIGN KEY (v, k) REFERENCES t__by_v ON DELETE {on_delete})",
        f"INSERT INTO child VALUES {listed}",
    )


@pytest.mark.parametrize("on_delete", ON_DELETE)
def test_an_entry_that_rows_refer_to_is_not_deleted_and_others_are(
    database: Database, on_delete: str
) -> None:
    other = "INSERT INTO t__by_v (v, k, s) VALUES ('v1', 100, 's')"
    ground = ground_of(database, Beside("", referred(on_delete, 99, 4)), DANGLING, other, WRONG)
    before = everything(database)
    plan = preview(ground)
    (refusal,) = plan.refusals
    assert refusal.primary_key == {"k": 99}
    assert "rows of public.child refer to this entry" in refusal.reason
    done = ground.execute(plan, run="first")
    assert {one.outcome for one in done} == {ActionOutcome.DONE}, done
    assert len(database.rows("SELECT FROM child WHERE k IS NOT NULL")) == 2
    ground.undo("first")
    assert everything(database) == before


def test_rows_that_refer_by_the_time_of_the_write_are_seen(database: Database) -> None:
    ground = ground_of(database, Beside(), DANGLING, MISSING)
    plan = preview(ground)
    database.run(*referred("CASCADE", 99))
    done = ground.execute(plan, run="first")
    (refused,) = [one for one in done if one.outcome is not ActionOutcome.DONE]
    assert "rows of public.child refer to this entry" in refused.reason
    database.run("INSERT INTO child VALUES ('v0', 3)")
    ((_, applied),) = ground.undo("first")
    assert "rows of public.child refer to this entry" in applied.reason
    assert len(database.rows("SELECT FROM child")) == 2


def test_stored_columns_that_rows_refer_to_are_not_replaced(database: Database) -> None:
    more = ("CREATE TABLE child (s text REFERENCES t__by_v (s) ON UPDATE CASCADE)",
            "INSERT INTO child VALUES ('bad')")  # fmt: skip
    ground = ground_of(database, Beside("", more), WRONG,
                       "ALTER TABLE t__by_v ADD UNIQUE (s)")  # fmt: skip
    (refusal,) = preview(ground).refusals
    assert "changing it would change them, too" in refusal.reason


def test_references_that_the_role_may_not_see_are_no_reason_to_delete(database: Database) -> None:
    ground = ground_of(database, Beside("", referred("CASCADE", 4)), DANGLING)
    database.run(
        "CREATE ROLE keeper LOGIN", "GRANT ALL ON SCHEMA public TO keeper",
        "GRANT ALL ON t, t__by_v TO keeper",
    )  # fmt: skip
    try:
        ground = Ground(as_role(database, "keeper"), kv_table())
        (refusal,) = preview(ground).refusals
        assert "may not see all rows of public.child" in refusal.reason
    finally:
        database.run("DROP OWNED BY keeper", "DROP ROLE keeper")


UNFIT: Mapping[str, tuple[Sequence[str], str]] = {
    "rules": (("CREATE RULE no AS ON DELETE TO t__by_v DO INSTEAD NOTHING",), "rule no on"),
    "inheritance": (("CREATE TABLE heir () INHERITS (t__by_v)",), "inherit from"),
    "a view": (("ALTER TABLE t__by_v RENAME TO real", "CREATE VIEW t__by_v AS TABLE real"),
               "is a view"),
}  # fmt: skip


@pytest.mark.parametrize(("statements", "told"), UNFIT.values(), ids=UNFIT.keys())
def test_an_index_that_is_no_ordinary_table_is_refused_by_name(
    database: Database, statements: Sequence[str], told: str
) -> None:
    ground = ground_of(database, Beside("", statements), DANGLING)
    (refusal,) = preview(ground).refusals
    assert told in refusal.reason


def test_row_level_security_that_hides_entries_is_refused_by_name(database: Database) -> None:
    ground = ground_of(database, Beside(), DANGLING)
    database.run(
        "CREATE ROLE keeper LOGIN", "GRANT ALL ON SCHEMA public TO keeper",
        "GRANT ALL ON t, t__by_v TO keeper", "ALTER TABLE t__by_v ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY p ON t__by_v USING (k < 50)",
    )  # fmt: skip
    try:
        defects = ground.defects()
        ground = Ground(as_role(database, "keeper"), kv_table())
        (refusal,) = preview(ground, defects).refusals
        assert "row-level security of public.t__by_v" in refusal.reason
        assert "BYPASSRLS" in refusal.remedy
    finally:
        database.run("DROP OWNED BY keeper", "DROP ROLE keeper")


def test_a_unique_index_on_a_column_beside_is_named_and_not_taken_for_other_writers(
    database: Database,
) -> None:
    """Formerly: other writers were in the way, 60 times in a row."""
    beside = Beside(", n int UNIQUE NULLS NOT DISTINCT DEFAULT 5", ())
    database.run(
        *ROWS,
        f"CREATE TABLE t__by_v (v text, k bigint, s text{beside.columns}, PRIMARY KEY (v, k))",
        "INSERT INTO t__by_v SELECT v, k, s, k FROM t WHERE k <> 3",
    )
    ground = Ground(database, kv_table())
    (done,) = ground.execute(preview(ground))
    assert done.outcome is ActionOutcome.REFUSED
    assert "the database refused it: duplicate key value" in done.reason


def test_triggers_of_partitions_count_too(database: Database) -> None:
    database.run(
        *ROWS,
        "CREATE TABLE t__by_v (v text, k bigint, s text) PARTITION BY RANGE (k)",
        "CREATE TABLE low PARTITION OF t__by_v FOR VALUES FROM (0) TO (50)",
        "CREATE TABLE high PARTITION OF t__by_v FOR VALUES FROM (50) TO (500)",
        "INSERT INTO t__by_v SELECT v, k, s FROM t",
        DANGLING,
        "CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$",
        "CREATE TRIGGER act BEFORE DELETE ON high FOR EACH ROW EXECUTE FUNCTION act()",
    )
    (refusal,) = preview(Ground(database, kv_table())).refusals
    assert "trigger act on public.high" in refusal.reason


DIGITS = ("1234567890123456789012345678.0123456789", "-9999999999999999999999999999.9999999999")


def test_decimals_of_more_than_28_digits_are_put_replaced_deleted_and_restored(
    database: Database,
) -> None:
    """As keys, as stored values and in the journal: every digit."""
    type_ = ColumnType(TypeName.DECIMAL, 38, 10)
    index = index_of(key={"v": type_}, suffix={"k": BIGINT}, stored={"s": type_})
    table = table_of({"k": BIGINT, "v": type_, "s": type_}, index)
    first, second = DIGITS
    database.run(
        "CREATE TABLE t (k bigint PRIMARY KEY, v numeric(38,10), s numeric(38,10))",
        "CREATE TABLE t__by_v (v numeric(38,10), k bigint, s numeric(38,10))",
        f"INSERT INTO t VALUES (1, {first}, {second}), (2, {second}, {first})",
        f"INSERT INTO t__by_v VALUES ({second}, 2, {second}), ({first}, 9, {first})",
    )
    ground = Ground(database, table)
    assert len(assert_undone_exactly(ground)) == 3
    ground.execute(preview(ground))
    ground.assert_right()


def test_a_zero_with_a_sign_is_put_and_restored_with_it(database: Database) -> None:
    type_ = ColumnType(TypeName.DOUBLE)
    index = index_of(key={"v": type_}, suffix={"k": BIGINT}, stored={"s": type_})
    table = table_of({"k": BIGINT, "v": type_, "s": type_}, index)
    database.run(
        "CREATE TABLE t (k bigint PRIMARY KEY, v float8, s float8)",
        "CREATE TABLE t__by_v (v float8, k bigint, s float8)",
        "INSERT INTO t VALUES (1, '-0', '-0'), (2, 1, '-0')",
        "INSERT INTO t__by_v VALUES (1, 2, 5), ('-0', 9, '-0')",
    )
    ground = Ground(database, table)
    assert len(assert_undone_exactly(ground)) == 3
    done = ground.execute(preview(ground))
    assert all(one.in_order for one in done)
    assert database.rows("SELECT v::text, s::text FROM t__by_v ORDER BY k") == [
        ("-0", "-0"),
        ("1", "-0"),
    ]
