# SPDX-License-Identifier: Apache-2.0
"""Values, names and relations of PostgreSQL that nobody expects: none of them stops the others."""

from dataclasses import replace

import pytest
from psycopg import conninfo

from repair.hindered import without_hindered
from repair.planning import plan_repair
from scrub.errors import UsageError
from scrub.model.defect import DefectKind
from scrub.model.repair import ActionOutcome, Entry, RepairPlan
from scrub.model.types import ColumnType, TypeName
from tests.postgres_server import Database
from tests.scrub.stores.postgres.repairs import postgres_ground as grounds

DONE, REFUSED = ActionOutcome.DONE, ActionOutcome.REFUSED
CREATE = ("CREATE TABLE t (k bigint PRIMARY KEY, v text, s text)",)
ROWS = "INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y')"


def preview(ground: grounds.Ground) -> RepairPlan:
    plan = plan_repair(ground.defects(), {"t": ground.table})
    with ground.repairs() as store:
        return without_hindered(plan, ground.table, store)


# ---- values ----

CLOCK = "2024-01-01T00:00:00"
STRANGE = {
    "an endless time": (TypeName.TIMESTAMP, "timestamptz", "infinity", f"{CLOCK}Z"),
    "a time before Christ": (TypeName.TIMESTAMP_NTZ, "timestamp", "0044-03-15 BC", CLOCK),
    "an endless day": (TypeName.DATE, "date", "-infinity", "2024-01-01"),
    "a day after 9999": (TypeName.DATE, "date", "12024-01-01", "2024-01-01"),
    "no number": (TypeName.DECIMAL, "numeric(38,10)", "NaN", "1.5000000000"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_row_with_a_value_that_the_catalog_has_not_is_refused_and_others_are_repaired(
    database: Database, name: str
) -> None:
    """Formerly the whole run ended at the sight of it, each time, or in a traceback."""
    kind, server, value, plain = STRANGE[name]
    type_ = ColumnType(kind, 38, 10) if kind is TypeName.DECIMAL else ColumnType(kind)
    index = grounds.index_of(
        key={"s": grounds.STRING}, suffix={"k": grounds.BIGINT}, stored={"v": type_}
    )
    table = grounds.table_of({"k": grounds.BIGINT, "v": type_, "s": grounds.STRING}, index)
    database.run(
        f"CREATE TABLE t (k bigint PRIMARY KEY, v {server}, s text)",
        f"CREATE TABLE t__by_v (s text, k bigint, v {server})",
        f"INSERT INTO t VALUES (1, '{value}', 'a'), (2, '{plain}', 'b'), (3, '{plain}', 'c')",
        f"INSERT INTO t__by_v VALUES ('a', 1, '{plain}'), ('c', 3, '{value}')",
    )
    before = grounds.Ground(database, table).contents()

    def entry(key: int, text: str) -> Entry:
        return {"s": text, "k": key, "v": plain}

    told = [
        grounds.defect_of(table, "by_v", DefectKind.DANGLING, actual=entry(1, "a")),
        grounds.defect_of(table, "by_v", DefectKind.MISSING, expected=entry(2, "b")),
        grounds.defect_of(table, "by_v", DefectKind.MISSING, expected=entry(3, "c")),
    ]
    ground = grounds.Ground(database, table)
    done = {one.action.primary_key["k"]: one for one in ground.repair(told, run="first")}  # type: ignore[index]
    assert {key: one.outcome for key, one in done.items()} == {
        1: REFUSED,  # the row is damaged
        2: DONE,
        3: ActionOutcome.CONFLICT,  # the entry is, and it is not what the defect tells
    }
    assert "cannot hold" in done[1].reason
    assert len(ground.contents()) == 3
    assert [applied.outcome for _, applied in ground.undo("first")] == [DONE]
    assert ground.contents() == before


def test_an_entry_that_is_too_long_for_an_index_is_refused_and_others_are_put(
    database: Database,
) -> None:
    """Formerly the run ended there, and so did each one after it."""
    long = "".join(chr(0x4E00 + (n * 7919) % 16000) for n in range(6000))
    database.run(
        *CREATE,
        "CREATE TABLE t__by_v (v text, k bigint, s text, PRIMARY KEY (v, k))",
        f"INSERT INTO t VALUES (1, '{long}', 'x'), (2, 'b', 'y')",
    )
    ground = grounds.Ground(database, grounds.kv_table())
    done = ground.repair(ground.defects())
    assert grounds.outcomes(done) == {REFUSED: 1, DONE: 1}
    assert "maximum" in next(one.reason for one in done if one.outcome is REFUSED)
    assert ground.contents() == ["(b,2,y)"]


def test_a_function_of_a_constraint_that_fails_is_told_as_what_it_is(database: Database) -> None:
    """Formerly the catalog was blamed, which has no function at all."""
    database.run(
        *CREATE,
        "CREATE FUNCTION helper(x text) RETURNS bool LANGUAGE sql AS 'SELECT true'",
        "CREATE FUNCTION is_fine(x text) RETURNS bool LANGUAGE plpgsql AS "
        "$$BEGIN IF x = 'x' THEN RETURN helper(x); END IF; RETURN true; END$$",
        "CREATE TABLE t__by_v (v text, k bigint, s text CHECK (public.is_fine(s)))",
        ROWS,
    )
    ground = grounds.Ground(database, grounds.kv_table())
    done = ground.repair(ground.defects())
    assert grounds.outcomes(done) == {REFUSED: 1, DONE: 1}
    reason = next(one.reason for one in done if one.outcome is REFUSED)
    assert "function helper(text) does not exist" in reason
    assert "SET search_path" in reason


def test_a_value_that_a_changed_type_no_longer_has_is_told_so(database: Database) -> None:
    database.run(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE TABLE t (k mood PRIMARY KEY, v text, s text)",
        "CREATE TABLE t__by_v (v text, k mood, s text)",
        "INSERT INTO t VALUES ('sad', 'a', 'x')",
    )
    index = grounds.index_of(
        key={"v": grounds.STRING}, suffix={"k": grounds.STRING}, stored={"s": grounds.STRING}
    )
    ground = grounds.Ground(
        database,
        grounds.table_of({"k": grounds.STRING, "v": grounds.STRING, "s": grounds.STRING}, index),
    )
    defects = ground.defects()
    database.run("ALTER TYPE mood RENAME VALUE 'sad' TO 'glum'")
    with pytest.raises(UsageError, match="rejects a value of a defect") as told:
        ground.repair(defects)
    assert "check again" in (told.value.hint or "")
    assert ground.contents() == []


# ---- names ----


def test_names_with_signs_of_the_driver_in_them(database: Database) -> None:
    """Formerly a per cent sign in the name of the schema was taken for a parameter's place."""
    names = {"k": "k%s", "v": 'v"%(x)s :q', "s": "__scrub", "p": "scrub_place"}
    index = grounds.index_of(
        key={names["v"]: grounds.STRING},
        suffix={names["k"]: grounds.BIGINT},
        stored={names["p"]: grounds.STRING, "scrub_relation": grounds.STRING},
        relation='i%s"x:y',
    )
    columns = {
        names["k"]: grounds.BIGINT,
        names["v"]: grounds.STRING,
        names["p"]: grounds.STRING,
        "scrub_relation": grounds.STRING,
    }
    table = grounds.table_of(columns, index, primary_key=(names["k"],), relation='ta%dble"')
    database.run(
        'CREATE SCHEMA "sh%op"',
        'CREATE TABLE "sh%op"."ta%dble""" ("k%s" bigint PRIMARY KEY, "v""%(x)s :q" text, '
        "scrub_place text, scrub_relation text)",
        'CREATE TABLE "sh%op"."i%s""x:y" (scrub_place text, "k%s" bigint, scrub_relation text, '
        '"v""%(x)s :q" text, "fur%ther" text DEFAULT \'100%\')',
        """INSERT INTO "sh%op"."ta%dble\"\"" VALUES (1, 'a', 'x', 'r'), (2, 'b', 'y', 'r')""",
        """INSERT INTO "sh%op"."i%s""x:y" VALUES ('wrong', 1, 'r', 'a'), ('z', 9, 'r', 'z')""",
    )
    ground = grounds.Ground(database, table, schema="sh%op")
    before = ground.contents()
    assert grounds.outcomes(ground.repair(ground.defects(), run="first")) == {DONE: 3}
    ground.assert_right()
    assert {applied.outcome for _, applied in ground.undo("first")} == {DONE}
    assert ground.contents() == before


# ---- tables whose rows cannot be looked at ----


def test_a_table_whose_rows_are_hidden_is_refused_in_the_preview(database: Database) -> None:
    """Formerly the missing rights were named, all of which the role had."""
    role = f"reader_{database.name}"
    database.run(
        *CREATE,
        "CREATE TABLE t__by_v (v text, k bigint, s text)",
        ROWS,
        "INSERT INTO t__by_v VALUES ('z', 9, 'z')",
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
        f"CREATE ROLE {role} LOGIN",
        f"GRANT ALL ON t, t__by_v TO {role}",
        f"GRANT ALL ON SCHEMA public TO {role}",
    )
    defects = grounds.Ground(database, grounds.kv_table()).defects()
    try:
        hidden = grounds.Ground(
            Database(conninfo.make_conninfo(database.url, user=role)), grounds.kv_table()
        )
        with hidden.repairs() as store:
            plan = plan_repair(defects, {"t": hidden.table})
            refused = without_hindered(plan, hidden.table, store)
            with pytest.raises(UsageError, match=r"row-level security of public\.t hides rows"):
                store.rows_there(hidden.table, [{"k": 1}])
        assert refused.actions == ()
        assert all("BYPASSRLS" in refusal.remedy for refusal in refused.refusals)
    finally:
        database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_a_materialized_view_as_table_is_refused_in_the_preview(database: Database) -> None:
    """Formerly the run ended with `cannot lock rows`, and the advice to run it again."""
    database.run(
        "CREATE TABLE base (k bigint PRIMARY KEY, v text, s text)",
        "INSERT INTO base VALUES (1, 'a', 'x')",
        "CREATE MATERIALIZED VIEW t AS SELECT k, v, s FROM base",
        "CREATE TABLE t__by_v (v text, k bigint, s text)",
    )
    plan = preview(grounds.Ground(database, grounds.kv_table()))
    assert plan.actions == ()
    assert "materialized view" in plan.refusals[0].reason
    assert "--patch" in plan.refusals[0].remedy


# ---- columns that came since ----


def test_an_entry_that_was_put_is_taken_back_though_the_index_got_a_column(
    database: Database,
) -> None:
    """Formerly that counted as a change of the entry, and the entry stayed."""
    database.run(*CREATE, "CREATE TABLE t__by_v (v text, k bigint, s text)", ROWS)
    ground = grounds.Ground(database, grounds.kv_table())
    ground.repair(ground.defects(), run="first")
    database.run("ALTER TABLE t__by_v ADD note text", "UPDATE t__by_v SET note = 'n' WHERE k = 2")
    found = {r.primary_key["k"]: applied for r, applied in ground.undo("first")}  # type: ignore[index]
    assert found[1].outcome is DONE
    assert found[2].outcome is ActionOutcome.CONFLICT
    assert "got the column note since" in found[2].reason
    assert ground.contents() == ["(b,2,y,n)"]


def test_a_row_that_got_a_composite_value_of_nulls_is_not_taken_out_again(
    database: Database,
) -> None:
    """`IS NULL` is true of it, and yet somebody has written it."""
    other = grounds.index_of(
        key={"s": grounds.STRING}, suffix={"k": grounds.BIGINT}, name="by_s", relation="t__by_s"
    )
    table = grounds.kv_table()
    database.run(
        "CREATE TYPE pair AS (a int, b int)",
        "CREATE TABLE t (k bigint PRIMARY KEY, v text, s text, c pair)",
        "CREATE TABLE t__by_v (v text, k bigint, s text)",
        "CREATE TABLE t__by_s (s text, k bigint)",
        "INSERT INTO t__by_v VALUES ('a', 1, 'x')",
        "INSERT INTO t__by_s VALUES ('x', 1)",
    )
    ground = grounds.Ground(database, replace(table, indexes=(*table.indexes, other)))
    assert grounds.outcomes(ground.execute(ground.recovery(), run="first")) == {DONE: 1}
    database.run("UPDATE t SET c = ROW(NULL, NULL)")
    ((_, applied),) = ground.undo("first")
    assert applied.outcome is ActionOutcome.CONFLICT
    assert len(ground.rows()) == 1
