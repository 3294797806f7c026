# SPDX-License-Identifier: Apache-2.0
"""Row-level security: of a table that shows a role some of its rows, nothing is said."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from psycopg import conninfo

from scrub.app import check
from scrub.errors import StoreUnavailable
from scrub.model.result import CheckOutcome, Status
from scrub.model.table import Column
from scrub.model.types import parse_type
from scrub.stores.postgres.connections import connect, conninfo_of
from scrub.stores.postgres.reader import PostgresSplitReader
from scrub.stores.postgres.sessions import ask, fetch
from scrub.stores.unreadable import UnreadableSplit
from tests.postgres_server import Database
from tests.scrub.stores.postgres.login_roles import login_role
from tests.scrub.stores.postgres.own_indexes.own_index_ground import store_of
from tests.scrub.stores.sample import no_session


@pytest.fixture
def plain_role(database: Database) -> Iterator[Database]:
    """Whoever a policy shows half of a table, and of its index table the same half."""
    with login_role(database) as (role, seen):
        database.run(
            "CREATE TABLE t (id int PRIMARY KEY, word text)",
            "INSERT INTO t SELECT i, 'w' || i FROM generate_series(1, 100) i",
            "CREATE TABLE t__by_word AS SELECT word, id FROM t",
            "CREATE INDEX t_word ON t (word)",
            "CREATE VIEW seen WITH (security_barrier) AS SELECT * FROM t",
            *(
                statement
                for table in ("t", "t__by_word")
                for statement in (
                    f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
                    f"CREATE POLICY half ON {table} USING (id <= 50)",
                )
            ),
            f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}",
            f"ALTER VIEW seen OWNER TO {role}",
        )
        yield seen


def outcomes(database: Database, directory: Path, **options: str) -> dict[str, CheckOutcome]:
    table = {
        "store": "shop",
        "columns": {"id": {"type": "int", "nullable": False}, "word": {"type": "string"}},
        "primary_key": ["id"],
        "indexes": {"by_word": {"columns": ["word"]}, "t_word": {"own": True}},
    }
    store = {"kind": "postgres", "url": database.url, "options": options}
    path = directory / "scrub.yaml"
    content: dict[str, Any] = {"version": 1, "stores": {"shop": store}, "tables": {"t": table}}
    path.write_text(yaml.safe_dump(content))
    result = check("t", catalog=path)
    return {str(outcome.index): outcome for outcome in result.outcomes}


@pytest.mark.parametrize("options", [{}, {"row_security": "on"}, {"options": "-c row_security=on"}])
def test_a_table_with_policies_is_incomplete_and_never_clean(
    plain_role: Database, tmp_path: Path, options: dict[str, str]
) -> None:
    found = outcomes(plain_role, tmp_path, **options)
    assert found.keys() == {"by_word", "t_word"}
    for outcome in found.values():
        assert outcome.status is Status.INCOMPLETE
        assert "row-level security hides rows of public.t" in str(outcome.reason)
        assert "BYPASSRLS" in str(outcome.reason)


def test_every_session_that_reads_refuses_what_policies_would_hide(
    plain_role: Database,
) -> None:
    url = conninfo_of(plain_role.url, {})
    store = store_of(plain_role)
    columns = [Column(name="id", type=parse_type("int"))]
    facts = store.pin("seen", None, no_session, columns)
    with connect(url) as connection:
        assert connection.execute("SHOW row_security").fetchone() == ("off",)
    for relation in ("t", "seen"):  # a view's policies are known only when it is read
        query = f"SELECT count(*) FROM public.{relation}"
        with pytest.raises(StoreUnavailable, match=r"row-level security.*BYPASSRLS"):
            ask(url, store.snapshot, query)
        with pytest.raises(StoreUnavailable, match=r"row-level security.*BYPASSRLS"):
            fetch(url, store.snapshot, query, ())
    with pytest.raises(UnreadableSplit, match=r"row-level security.*BYPASSRLS"):
        list(PostgresSplitReader(facts.splits[0], columns, facts.storage_options).batches())
    store.close()


def test_a_role_that_policies_do_not_apply_to_sees_everything(
    plain_role: Database, database: Database
) -> None:
    store = store_of(database)
    assert store.pin("t", None, no_session, ()).relation == "t"
    store.close()


@pytest.mark.parametrize("filtered", ["p", "p1"])
def test_policies_of_a_partitioned_table_and_of_a_partition_count_alike(
    plain_role: Database, database: Database, filtered: str
) -> None:
    database.run(
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100)",
        f"ALTER TABLE {filtered} ENABLE ROW LEVEL SECURITY",
        f"GRANT SELECT ON p, p1 TO {conninfo.conninfo_to_dict(plain_role.url)['user']}",
    )
    store = store_of(plain_role)
    with pytest.raises(
        StoreUnavailable, match=f"row-level security hides rows of public.{filtered} "
    ):
        store.pin("p", None, no_session, ())
    store.close()
