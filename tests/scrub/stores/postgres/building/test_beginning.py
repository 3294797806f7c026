# SPDX-License-Identifier: Apache-2.0
"""The first moments of builds: several at once, in a schema that has never seen one."""

from scrub.model.build import Method, State
from scrub.stores.postgres.building.builds import Builds
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import Background, building, kv_table, until


def test_two_tables_whose_first_builds_begin_at_the_same_moment(database: Database) -> None:
    builds = Builds("public")

    def create() -> None:
        with database.connect() as connection, connection.transaction():
            builds.create(connection)

    def is_waiting() -> bool:
        query = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        return bool(database.rows(f"{query} AND datname = current_database()"))

    with database.connect() as connection:
        with connection.transaction():
            builds.create(connection)
            other = Background(create)
            until(is_waiting)
        other.result()
        assert builds.are_there(connection)


def test_server_that_is_slow_to_create_tables_is_given_the_time(database: Database) -> None:
    """Nobody waits for relations that only this transaction knows; no haste before the lock."""
    database.run(
        """CREATE FUNCTION dawdle() RETURNS event_trigger LANGUAGE plpgsql AS
           $$ BEGIN PERFORM pg_sleep(0.8); END $$""",
        """CREATE EVENT TRIGGER slow_disk ON ddl_command_end WHEN TAG IN ('CREATE TABLE')
           EXECUTE FUNCTION dawdle()""",
    )
    create = "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text)"
    with building(database, kv_table(unique=False), Method.MERGE, create) as ground:
        assert ground.build.state is State.DELETE_ONLY
