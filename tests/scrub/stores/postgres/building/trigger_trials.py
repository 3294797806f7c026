# SPDX-License-Identifier: Apache-2.0
"""Random trials of a build beside an application that has triggers, alters its table and has roles.

Each statement is tried first on a twin of the table, with the same triggers and, for a unique
index, one of the server's own. What the twin accepts, the table must accept, in every state of the
build and after it; and whenever the index is public, it holds what the table says.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from scrub.errors import RelationMismatch
from scrub.model.build import DUTIES, Method, State
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.foreign_types import CI, case_insensitive_type
from tests.scrub.stores.postgres.building.ground import Ground, kv_table

STATEMENTS_A_STATE = 14


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of the indexed column: what its values are, how a trigger changes one."""

    type: str
    value: str  # of a number
    changed: str  # of the column in %2$I
    wider: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    is_refused: bool = False


KINDS = (
    Kind("varchar(12)", "'v' || {}", "left(%2$I || '+', 12)", ("varchar(40)", "text")),
    Kind("integer", "{}", "%2$I + 1000", ("bigint",)),
    Kind("numeric(8, 2)", "{} + 0.5", "%2$I + 1000.25", ("numeric(12, 4)",)),
    Kind(CI, f"ROW('v' || {{}})::{CI}", f"ROW(left((%2$I).t || 'A', 12))::{CI}"),
    Kind(
        '"types of others".price',
        "({})::integer",
        "%2$I + 1000",
        setup=('CREATE DOMAIN "types of others".price AS integer CHECK (value > -1)',),
    ),
    Kind("uuid", "md5(({})::text)::uuid", "md5(%2$I::text)::uuid"),
    Kind("json", "to_json({})", "%2$I", is_refused=True),
)
# What a trigger does; %1$I is the table it fires for, %2$I the indexed column as it is called now.
DEEDS = {
    "update": "UPDATE %1$I SET %2$I = {changed}, s = NULL WHERE k = $1",
    "delete": "DELETE FROM %1$I WHERE k = $1",
    "move": "UPDATE %1$I SET k = k + 5000, s = NULL WHERE k = $1",
    "insert": "INSERT INTO %1$I (k, %2$I) SELECT k + 7000, {changed} FROM %1$I WHERE k = $1 "
    "ON CONFLICT DO NOTHING",
    "again": "UPDATE %1$I SET s = NULL WHERE k = $1",
    "neighbour": "UPDATE %1$I SET %2$I = {changed} WHERE k = $1 + 1",
}


@dataclass(slots=True)
class Trial:
    """One table, its twin, one build, and what happens to them."""

    database: Database
    chance: random.Random
    log: list[str] = field(default_factory=list)
    table: str = "t"
    column: str = "v"
    added: list[str] = field(default_factory=list)
    triggers: int = 0

    def run(self) -> str:
        """What became of it: refused, or public and right after every step."""
        choose = self.chance.choice
        kind, method, unique = choose(KINDS), choose(list(Method)), choose([True, False])
        self.log.append(f"{kind.type}, {method}, unique {unique}")
        self._create(kind, unique)
        ground = Ground(self.database, kv_table(unique=unique, nullable=False), method)
        if kind.is_refused:
            try:
                ground.begin()
            except RelationMismatch as error:
                return f"refused: {error}"
            raise AssertionError(f"{kind.type} has no order, and was not refused")
        with self._sessions() as sessions:
            for _ in range(20):
                self._both(choose(sessions), self._statement(kind))
            ground.begin()
            try:
                self._through(ground, kind, sessions)
            finally:
                ground.build.close()
        return "public"

    def _through(self, ground: Ground, kind: Kind, sessions: list[psycopg.Connection[Any]]) -> None:
        wider = list(kind.wider)
        for state in DUTIES[ground.method]:
            ground.arrive_at(state)
            for _ in range(STATEMENTS_A_STATE):
                session = self.chance.choice(sessions)
                if self.chance.random() < 0.2:
                    self._alter(ground, kind, wider, session)
                self._both(session, self._statement(kind))
                if state is State.PUBLIC:
                    self._compare()
        self._compare()

    def _create(self, kind: Kind, unique: bool) -> None:
        types = case_insensitive_type()
        twins = [
            f"CREATE TABLE {name} (k bigint PRIMARY KEY, v {kind.type} NOT NULL, s text)"
            for name in ("t", "twin")
        ]
        unique_index = ["CREATE UNIQUE INDEX ON twin (v)"] if unique and not kind.is_refused else []
        self.database.run(
            *types,
            *kind.setup,
            *twins,
            *unique_index,
            "CREATE TABLE called (name text)",
            "INSERT INTO called VALUES ('v')",
            *(self._function(deed, text, kind) for deed, text in DEEDS.items()),
        )
        for _ in range(self.chance.randrange(4)):
            self._add_trigger()

    @staticmethod
    def _function(deed: str, text: str, kind: Kind) -> str:
        """Does its deed for rows that ask for it in s, whatever their table is called."""
        command = text.format(changed=kind.changed).replace("'", "''")
        return f"""
            CREATE FUNCTION do_{deed}() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF TG_WHEN = 'BEFORE' THEN
                    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
                    IF NEW.s = 'none' THEN RETURN NULL; END IF;
                    RETURN NEW;
                END IF;
                IF NEW.s = '{deed}' AND pg_trigger_depth() < 4 THEN
                    EXECUTE format('{command}', TG_TABLE_NAME, (SELECT name FROM public.called))
                        USING NEW.k;
                END IF;
                RETURN NULL;
            END $$"""

    def _add_trigger(self) -> None:
        """Before or after the one that keeps the index, by name; at once, or at the end."""
        choose = self.chance.choice
        self.triggers += 1
        name = f"{choose(['a', 'tt', 'zz'])}_{self.triggers}"
        deed = choose(list(DEEDS))
        for table in (self.table, "twin"):
            if self.triggers % 3 == 0:
                made = f"CREATE CONSTRAINT TRIGGER {name} AFTER INSERT OR UPDATE ON {table}"
                how = "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
            else:
                when = "BEFORE" if self.triggers % 4 == 1 else "AFTER"
                made, how = (
                    f"CREATE TRIGGER {name} {when} INSERT OR UPDATE ON {table}",
                    "FOR EACH ROW",
                )
            self._run(f"{made} {how} EXECUTE FUNCTION do_{deed}()")

    @contextmanager
    def _sessions(self) -> Iterator[list[psycopg.Connection[Any]]]:
        """The application's, which last: of the owner, and of a role that may only write."""
        role = f"{self.database.name}_clerk"
        url = self.database.url
        self.database.run(
            f"CREATE ROLE {role}",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON t, twin TO {role}",
            f"GRANT SELECT ON called TO {role}",
            f'GRANT USAGE ON SCHEMA "types of others" TO {role}',
        )
        with psycopg.connect(url) as owner, psycopg.connect(url) as clerk:
            clerk.execute(f"SET ROLE {role}")
            clerk.commit()
            try:
                yield [owner, clerk]
            finally:
                owner.rollback()
                clerk.rollback()
                self.database.run(f"DROP OWNED BY {role}", f"DROP ROLE {role}")

    def _statement(self, kind: Kind) -> str:
        """One of the application's; {0} is the table, {1} the column."""
        choose, n = self.chance.choice, self.chance.randrange(1, 40)
        deed = choose(["NULL", "'none'", *(f"'{deed}'" for deed in DEEDS)])
        value = kind.value.format(choose([n, n, self.chance.randrange(40, 90)]))
        return choose(
            [
                f"INSERT INTO {{0}} (k, {{1}}, s) VALUES ({n}, {value}, {deed})",
                f"INSERT INTO {{0}} (k, {{1}}, s) SELECT g, {kind.value.format('g')}, {deed} "
                f"FROM generate_series({n}, {n + 3}) AS g ON CONFLICT (k) DO NOTHING",
                f"INSERT INTO {{0}} (k, {{1}}) VALUES ({n}, {value}) ON CONFLICT (k) "
                f"DO UPDATE SET {{1}} = excluded.{{1}}, s = {deed}",
                f"UPDATE {{0}} SET {{1}} = {value}, s = {deed} WHERE k = {n}",
                f"UPDATE {{0}} SET s = {deed} WHERE k BETWEEN {n} AND {n + 5}",
                f"UPDATE {{0}} SET k = k + 100, s = {deed} WHERE k BETWEEN {n} AND {n + 2}",
                f"UPDATE {{0}} AS a SET {{1}} = b.{{1}} FROM {{0}} AS b "
                f"WHERE a.k IN ({n}, {n + 1}) AND b.k = {2 * n + 1} - a.k",
                f"DELETE FROM {{0}} WHERE k BETWEEN {n} AND {n + 2}",
                f"DELETE FROM {{0}} WHERE k > {n + 4000}",
            ]
        )

    def _both(self, session: psycopg.Connection[Any], statement: str) -> None:
        """On the twin, and if it takes it, on the table, which must take it too."""
        if not self._accepts(session, statement, "twin"):
            return
        mine = statement.format(self.table, self.column)
        self.log.append(mine)
        session.execute(mine)
        session.execute("SET CONSTRAINTS ALL IMMEDIATE")
        session.commit()

    def _accepts(self, session: psycopg.Connection[Any], statement: str, table: str) -> bool:
        try:
            session.execute(statement.format(table, self.column))
            session.execute("SET CONSTRAINTS ALL IMMEDIATE")
        except psycopg.errors.IntegrityError:
            session.rollback()
            return False
        session.commit()
        return True

    def _alter(
        self, ground: Ground, kind: Kind, wider: list[str], session: psycopg.Connection[Any]
    ) -> None:
        """Something that applications do to their tables."""
        is_public = ground.build.state is State.PUBLIC
        match self.chance.choice(
            ["add", "drop", "widen", "rename", "table", "trigger", "truncate"]
        ):
            case "add":
                self.added.append(f"x{len(self.log)}")
                self._run(f"ALTER TABLE {self.table} ADD COLUMN {self.added[-1]} text DEFAULT 'x'")
            case "drop" if self.added:
                self._run(f"ALTER TABLE {self.table} DROP COLUMN {self.added.pop(0)}")
            case "widen" if wider:
                to = wider.pop(0)
                for table in (self.table, "twin"):
                    self._run(f"ALTER TABLE {table} ALTER {self.column} TYPE {to}")
            case "rename":
                before = self.column
                self._rename(f"v{len(self.log)}")
                for _ in range(3):
                    self._both(session, self._statement(kind))
                if not is_public:  # the builder goes by the catalog
                    self._rename(before)
            case "table" if is_public:
                name = f"t{len(self.log)}"
                self._run(f"ALTER TABLE {self.table} RENAME TO {name}")
                self.table = name
            case "trigger":
                self._add_trigger()
            case "truncate":
                self._run(f"TRUNCATE {self.table}")
                self._run("TRUNCATE twin")

    def _rename(self, to: str) -> None:
        for table in (self.table, "twin"):
            self._run(f"ALTER TABLE {table} RENAME {self.column} TO {to}")
        self._run(f"UPDATE called SET name = '{to}'")
        self.column = to

    def _run(self, statement: str) -> None:
        self.log.append(statement)
        self.database.run(statement)

    def _compare(self) -> None:
        def held(column: str, relation: str) -> list[tuple[Any, ...]]:
            # By value: a wider numeric has more zeros at the end, and is no other number.
            return self.database.rows(f"SELECT k, {column} FROM {relation} ORDER BY 1, 2")

        rows = held(self.column, self.table)
        assert held("v", "t__by_v") == rows
        assert held(self.column, "twin") == rows
