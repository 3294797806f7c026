# SPDX-License-Identifier: Apache-2.0
"""Lost rows put back into a real PostgreSQL: what is written, what is refused, races, undo."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from scrub.errors import UsageError
from scrub.model.journal import RunRecord
from scrub.model.repair import Action, ActionKind, ActionOutcome, RepairPlan
from scrub.model.table import EntryColumn, Index, Table
from scrub.model.types import ColumnType, TypeName
from scrub.stores.recovering import RecoveringStore
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import Background, until
from tests.scrub.stores.postgres.repairs.postgres_ground import (
    BIGINT,
    STRING,
    Ground,
    index_of,
    table_of,
)

BY_V = index_of(key={"v": STRING}, suffix={"k": BIGINT})
BY_S = index_of(key={"s": STRING}, suffix={"k": BIGINT}, name="by_s", relation="t__by_s")
BY_X = index_of(key={"x": STRING}, suffix={"k": BIGINT}, name="by_x", relation="t__by_x")
COLUMNS = {"k": BIGINT, "v": STRING, "s": STRING, "x": STRING}
CREATE = (
    "CREATE TABLE t (k bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v text, s text, "
    "x text DEFAULT 'made up')",
    "CREATE TABLE t__by_v (v text, k bigint)",
    "CREATE TABLE t__by_s (s text, k bigint)",
    "CREATE TABLE t__by_x (x text, k bigint, UNIQUE NULLS NOT DISTINCT (x, k))",
    "INSERT INTO t OVERRIDING SYSTEM VALUE "
    "SELECT i, 'v' || i, 's' || i, 'x' || i FROM generate_series(1, 5) AS i",
    "INSERT INTO t__by_v SELECT v, k FROM t",
    "INSERT INTO t__by_s SELECT s, k FROM t",
    "INSERT INTO t__by_x SELECT x, k FROM t",
)
LOST = "DELETE FROM t WHERE k = 3"
UNKNOWN = "DELETE FROM t__by_x WHERE k = 3"  # and with it what x was


def ground_of(database: Database, *indexes: Index) -> Ground:
    return Ground(database, table_of(COLUMNS, *indexes))


@pytest.fixture
def ground(database: Database) -> Ground:
    database.run(*CREATE)
    return ground_of(database, BY_V, BY_S, BY_X)


def only(plan: RepairPlan) -> Action:
    assert plan.refusals == ()
    (action,) = plan.actions
    assert action.kind is ActionKind.RECOVER
    return action


def everything(ground: Ground) -> list[list[str]]:
    rows = ground.database.rows("SELECT t::text FROM t ORDER BY 1")
    return [[row[0] for row in rows], *(ground.contents(i.name) for i in ground.table.indexes)]


def reasons(plan: RepairPlan) -> str:
    assert plan.actions == ()
    return "; ".join(refusal.reason for refusal in plan.refusals)


def test_it_is_a_recovering_store(ground: Ground) -> None:
    with ground.repairs() as store:
        assert isinstance(store, RecoveringStore)


def test_a_row_that_all_indexes_tell_is_put_back_and_undo_takes_it_out(ground: Ground) -> None:
    whole = everything(ground)
    ground.database.run(LOST)
    before = everything(ground)
    plan = ground.recovery()
    assert only(plan).after == {"k": 3, "v": "v3", "s": "s3", "x": "x3"}
    assert everything(ground) == before, "a preview writes nothing"
    (done,) = ground.execute(plan, run="first")
    assert (done.outcome, done.in_order) == (ActionOutcome.DONE, True)
    assert everything(ground) == whole
    (record,) = ground.journal("first")
    assert (record.kind, record.index, record.before) == (ActionKind.RECOVER, "", None)
    ((_, applied),) = ground.undo("first")
    assert applied.outcome is ActionOutcome.DONE
    assert everything(ground) == before
    assert [r.undone_by is None for r in ground.journal("first")] == [False]


def test_what_nobody_knows_is_null_and_no_default_and_its_entry_goes_with_the_row(
    ground: Ground,
) -> None:
    ground.database.run(LOST, UNKNOWN)
    before = everything(ground)
    plan = ground.recovery()
    action = only(plan)
    assert action.lost is not None
    assert action.lost.absent_columns == ("x",)
    assert action.puts == (("by_x", {"x": None, "k": 3}),)
    assert plan.changes == 2
    (done,) = ground.execute(plan, run="first")
    assert (done.outcome, done.in_order) == (ActionOutcome.DONE, True)
    assert ground.database.rows("SELECT v, s, x FROM t WHERE k = 3") == [("v3", "s3", None)]
    ground.assert_right()
    assert [r.kind for r in ground.journal("first")] == [ActionKind.RECOVER, ActionKind.PUT]
    assert {applied.outcome for _, applied in ground.undo("first")} == {ActionOutcome.DONE}
    assert everything(ground) == before


def test_a_row_that_came_meanwhile_is_left_alone(ground: Ground) -> None:
    ground.database.run(LOST)
    plan = ground.recovery()
    ground.database.run("INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (3, 'new', 's3', 'x3')")
    before = everything(ground)
    (done,) = ground.execute(plan, run="first")
    assert done.outcome is ActionOutcome.ROW_CHANGED
    assert done.in_order is False
    assert everything(ground) == before
    assert ground.journal("first") == []
    ground.database.run("UPDATE t SET v = 'v3' WHERE k = 3")
    (done,) = ground.execute(plan)
    assert (done.outcome, done.in_order) == (ActionOutcome.ALREADY_RIGHT, True)


MEANWHILE = {
    "an index no longer tells of it": (
        "DELETE FROM t__by_s WHERE k = 3", ActionOutcome.CONFLICT, "by_s",
    ),
    "the table does not take it": (
        "ALTER TABLE t ADD CHECK (v <> 'v3')", ActionOutcome.REFUSED, "check constraint",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("statement", "outcome", "told"), MEANWHILE.values(), ids=MEANWHILE.keys())
def test_a_row_that_cannot_be_put_back_any_more_is_told_and_leaves_nothing(
    ground: Ground, statement: str, outcome: ActionOutcome, told: str
) -> None:
    ground.database.run(LOST)
    plan = ground.recovery()
    ground.database.run(statement)
    before = everything(ground)
    (done,) = ground.execute(plan)
    assert (done.outcome, told in done.reason) == (outcome, True)
    assert everything(ground) == before


IN_FLIGHT = {
    "an insert of the row": (
        "INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (3, 'new', 's3', 'x3')",
        ActionOutcome.ROW_CHANGED,
    ),
    "a deletion of what tells of it": (
        "DELETE FROM t__by_s WHERE k = 3",
        ActionOutcome.CONFLICT,
    ),
}


@pytest.mark.parametrize(("statement", "outcome"), IN_FLIGHT.values(), ids=IN_FLIGHT.keys())
def test_a_transaction_in_flight_is_waited_for_and_what_it_leaves_decides(
    ground: Ground, statement: str, outcome: ActionOutcome
) -> None:
    ground.database.run(LOST)
    plan = ground.recovery()
    with ground.database.connect() as writer:
        writer.autocommit = False
        writer.execute(statement)
        recovery = Background(lambda: ground.execute(plan, run="first"))
        waiting = (
            "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
            "AND datname = current_database()"
        )
        until(lambda: bool(ground.database.rows(waiting)))
        writer.commit()
    (done,) = recovery.result()
    assert done.outcome is outcome
    assert ground.journal("first") == []


def test_a_role_that_may_not_insert_is_told_what_it_needs(ground: Ground) -> None:
    ground.database.run(LOST)
    plan = ground.recovery()
    with ground.repairs() as store:
        store.begin(RunRecord(run="r", command="repair", table="t", started=datetime.now(UTC)))
        store.connection.execute("CREATE ROLE recovery_clerk")
        try:
            store.connection.execute("GRANT SELECT, UPDATE ON public.t TO recovery_clerk")
            indexes = "public.t__by_v, public.t__by_s, public.t__by_x"
            store.connection.execute(f"GRANT ALL ON {indexes} TO recovery_clerk")
            store.connection.execute("SET ROLE recovery_clerk")
            with pytest.raises(UsageError, match="permission denied for table t") as told:
                store.recover("r", ground.table, plan.actions)
        finally:
            store.connection.execute("RESET ROLE")
            store.connection.execute("DROP OWNED BY recovery_clerk")
            store.connection.execute("DROP ROLE recovery_clerk")
    assert "to put lost rows back INSERT on the table" in (told.value.hint or "")


def test_a_row_that_was_written_to_since_is_not_taken_out_nor_are_its_entries(
    ground: Ground,
) -> None:
    ground.database.run("ALTER TABLE t ADD note text", LOST, UNKNOWN)
    plan = ground.recovery()
    assert only(plan).lost is not None
    ground.execute(plan, run="first")
    ground.database.run("UPDATE t SET note = 'mine' WHERE k = 3")
    before = everything(ground)
    assert [a.outcome for _, a in ground.undo("first")] == [ActionOutcome.CONFLICT] * 2
    assert everything(ground) == before
    ground.database.run("UPDATE t SET note = NULL WHERE k = 3")
    assert [a.outcome for _, a in ground.undo("first")] == [ActionOutcome.DONE] * 2


def test_a_row_that_others_refer_to_by_now_is_not_taken_out(ground: Ground) -> None:
    """Its deletion would delete what refers to it."""
    ground.database.run("CREATE TABLE c (n int, of bigint REFERENCES t ON DELETE CASCADE)", LOST)
    ground.execute(ground.recovery(), run="first")
    ground.database.run("INSERT INTO c VALUES (1, 3)")
    ((_, applied),) = ground.undo("first")
    assert (applied.outcome, applied.reason) == (
        ActionOutcome.CONFLICT,
        "rows of public.c now refer to it",
    )
    assert ground.database.rows("SELECT n FROM c") == [(1,)]


def test_a_column_that_is_never_null_must_be_known(ground: Ground) -> None:
    """To the database, even one that the catalog does not have; or to the catalog."""
    ground.database.run(LOST, "ALTER TABLE t ADD note text NOT NULL DEFAULT 'none'")
    assert "holds the row's note, which public.t never lets be NULL" in reasons(ground.recovery())
    ground.database.run("ALTER TABLE t DROP note", UNKNOWN)
    columns = tuple(replace(c, nullable=c.name != "x") for c in ground.table.columns)
    ground.table = replace(ground.table, columns=columns)
    assert "holds the row's x, which the catalog says is never NULL" in reasons(ground.recovery())


def test_a_unique_place_that_another_row_has_is_left_to_it(ground: Ground) -> None:
    ground.table = table_of(COLUMNS, BY_V, replace(BY_S, unique=True), BY_X)
    ground.database.run(
        LOST,
        "INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (9, 'v9', 's3', 'x9')",
        "INSERT INTO t__by_v VALUES ('v9', 9)",
        "INSERT INTO t__by_x VALUES ('x9', 9)",
    )
    plan = ground.recovery()
    assert {action.kind for action in plan.actions} == {ActionKind.PUT}
    assert "another row" in plan.refusals[0].reason
    ground.database.run("DELETE FROM t WHERE k = 9")
    ground.database.run("DELETE FROM t__by_v WHERE k = 9", "DELETE FROM t__by_x WHERE k = 9")
    plan = ground.recovery()
    ground.database.run(
        "ALTER TABLE t ADD UNIQUE (s)",
        "INSERT INTO t OVERRIDING SYSTEM VALUE VALUES (9, 'v9', 's3', 'x9')",
    )
    before = everything(ground)
    (done,) = ground.execute(plan)
    assert (done.outcome, "unique" in done.reason) == (ActionOutcome.REFUSED, True)
    assert everything(ground) == before


def test_an_index_that_was_not_looked_at_may_know_more(ground: Ground) -> None:
    """As with `--index`: what it holds of the row must not become a second, dangling entry."""
    ground.database.run(LOST)
    whole = ground.table
    ground.table = replace(whole, indexes=(BY_V, BY_S))
    plan = ground.recovery()
    ground.table = whole
    with ground.repairs() as store:
        assert isinstance(store, RecoveringStore)
        (why,) = store.settle(whole, plan.actions)
    assert not isinstance(why, Action)
    assert "by_x holds other entries of this row" in why[0]


def test_a_computed_value_does_not_give_its_column(database: Database) -> None:
    lower = EntryColumn(name="low", source="lower(x)", is_expression=True, type=STRING)
    index = index_of(
        key={}, columns=(lower,), suffix={"k": BIGINT}, name="low", relation="t__low",
        dialect="postgres",
    )  # fmt: skip
    database.run(
        *CREATE, "CREATE TABLE t__low (low text, k bigint)",
        "INSERT INTO t__low SELECT lower(x), k FROM t", LOST,
    )  # fmt: skip
    ground = ground_of(database, BY_V, BY_S, index)
    ground.due = {"low": lambda row: {"low": str(row["x"]).lower(), "k": row["k"]}}
    assert "does not give the entry that index low holds" in reasons(ground.recovery())


def keeper(index: str) -> tuple[str, ...]:
    """What keeps an index of t by triggers."""
    return (
        f"""CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF TG_OP = 'INSERT' THEN
                INSERT INTO {index} VALUES (NEW.x, NEW.k) ON CONFLICT DO NOTHING;
            ELSE DELETE FROM {index} WHERE k = OLD.k; END IF; RETURN NULL; END $$""",
        LOST,
        "CREATE TRIGGER keep AFTER INSERT OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION keep()",
    )


def test_a_trigger_of_the_table_that_relies_on_a_search_path_is_told_with_what_to_do(
    ground: Ground,
) -> None:
    """Names are looked up where nobody can plant others, whatever path the role has."""
    ground.database.run(*keeper("t__by_x"))
    before = everything(ground)
    (done,) = ground.execute(ground.recovery())
    assert done.outcome is ActionOutcome.REFUSED
    assert 'relation "t__by_x" does not exist' in done.reason
    assert "SET search_path" in done.reason
    assert everything(ground) == before


def test_triggers_that_keep_an_index_neither_clash_nor_take_it_away(ground: Ground) -> None:
    """The keeper of a built index puts and deletes entries with the row; undo restores them."""
    ground.database.run(*keeper("public.t__by_x"))
    before = everything(ground)
    ground.execute(ground.recovery(), run="first")
    ground.assert_right()
    ((_, applied),) = ground.undo("first")
    assert applied.outcome is ActionOutcome.DONE
    assert everything(ground) == before


SHAPES = {
    "partitioned": (
        "CREATE TABLE t (k bigint PRIMARY KEY, v text, s text, x text) PARTITION BY RANGE (k)",
        "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (4)",
        "CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (4) TO (100)",
    ),
    "without a primary key": ("CREATE TABLE t (k bigint, v text, s text, x text)",),
    "with a computed column": (
        "CREATE TABLE t (k bigint PRIMARY KEY, v text, s text, "
        "x text GENERATED ALWAYS AS (v || '!') STORED, g int GENERATED ALWAYS AS (1) STORED)",
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_tables_of_every_shape_get_their_rows_back(database: Database, name: str) -> None:
    names = "k, v, s" if "computed" in name else "k, v, s, x"
    values = "i, 'v' || i, 's' || i, 'x' || i" if names.endswith("x") else "i, 'v' || i, 's' || i"
    insert = f"INSERT INTO t ({names}) SELECT {values} FROM generate_series(1, 5) AS i"
    database.run(*SHAPES[name], *CREATE[1:4], insert, *CREATE[5:])
    ground = ground_of(database, BY_V, BY_S, BY_X)
    whole = everything(ground)
    database.run("DELETE FROM t WHERE k IN (3, 4)")
    before = everything(ground)
    done = ground.execute(ground.recovery(), run="first")
    assert [(one.outcome, one.in_order) for one in done] == [(ActionOutcome.DONE, True)] * 2
    assert everything(ground) == whole
    assert {applied.outcome for _, applied in ground.undo("first")} == {ActionOutcome.DONE}
    assert everything(ground) == before


def typed_table() -> Table:
    types = {
        "k": ColumnType(TypeName.STRING),
        "n": ColumnType(TypeName.DECIMAL, 12, 3),
        "at": ColumnType(TypeName.TIMESTAMP),
        "b": ColumnType(TypeName.BINARY),
        "d": ColumnType(TypeName.DATE),
        "f": ColumnType(TypeName.DOUBLE),
        "free": ColumnType(TypeName.STRING),
    }
    first = {name: types[name] for name in ("n", "at", "b")}
    second = {name: types[name] for name in ("d", "f", "free")}
    suffix = {"k": types["k"]}
    return table_of(
        types,
        index_of(key=first, suffix=suffix),
        index_of(key=second, suffix=suffix, name="by_s", relation="t__by_s"),
    )


def test_values_of_every_type_come_back_as_they_were(database: Database) -> None:
    database.run(
        "CREATE TABLE t (k text PRIMARY KEY, n numeric(12,3), at timestamptz, b bytea, d date, "
        "f float8, free numeric)",
        """INSERT INTO t VALUES
            ('it''s "100%" \\ x', 1234.500, '2024-02-29 12:34:56.789012+05', '\\x00ff27',
             '0044-03-15', 'NaN', 0.1), ('other', NULL, NULL, NULL, NULL, '-Infinity', NULL)""",
        "CREATE TABLE t__by_v AS SELECT n, at, b, k FROM t",
        "CREATE TABLE t__by_s AS SELECT d, f, free, k FROM t",
    )
    ground = Ground(database, typed_table())
    whole = everything(ground)
    database.run("DELETE FROM t")
    before = everything(ground)
    done = ground.execute(ground.recovery(), run="first")
    assert [one.outcome for one in done] == [ActionOutcome.DONE] * 2
    assert all(one.in_order for one in done)
    assert everything(ground) == whole
    assert {applied.outcome for _, applied in ground.undo("first")} == {ActionOutcome.DONE}
    assert everything(ground) == before
