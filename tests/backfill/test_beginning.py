# SPDX-License-Identifier: Apache-2.0
"""The first moments of builds: several at once, in a schema that has never seen one."""

from scrub.stores.postgres.building.builds import Builds
from tests.backfill.ground import Background, until
from tests.postgres_server import Database


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
