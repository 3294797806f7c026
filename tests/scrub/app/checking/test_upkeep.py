# SPDX-License-Identifier: Apache-2.0
"""A check also says when what keeps an index no longer fits its table: it agrees only for now."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scrub.app.checking.tables import explain_check
from scrub.model.build import Method
from scrub.model.request import CheckRequest
from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.ground import building, kv_table

CATALOG = """
version: 1
stores:
  shop: {{kind: postgres, url: "{url}"}}
tables:
  t:
    store: shop
    columns:
      k: {{type: bigint, nullable: false}}
      v: {{type: string, nullable: false}}
    primary_key: [k]
    indexes:
      by_v: {{columns: [v]}}
"""
ROWS = "INSERT INTO t SELECT n, 'v' || n FROM generate_series(1, 9) AS n"


@pytest.fixture
def catalog(database: Database, tmp_path: Path) -> Iterator[Path]:
    table = "CREATE TABLE t (k bigint PRIMARY KEY, v text NOT NULL, s text)"
    with building(database, kv_table(unique=False), Method.INIT_PUT, table, ROWS) as ground:
        ground.publish()
        path = tmp_path / "scrub.yaml"
        path.write_text(CATALOG.format(url=database.url), encoding="utf-8")
        yield path


def _notes(catalog: Path) -> tuple[str, ...]:
    plan = explain_check(CheckRequest(catalog=catalog, tables=("t",)))
    return plan.tables[0].indexes[0].notes


def test_an_index_that_is_kept_well_has_no_such_note(catalog: Path) -> None:
    assert _notes(catalog) == ("compared inside the database",)


def test_a_check_notices_functions_that_everybody_may_use(
    catalog: Path, database: Database
) -> None:
    database.run("GRANT EXECUTE ON FUNCTION t__by_v__keep() TO PUBLIC")
    (told,) = [note for note in _notes(catalog) if "everybody" in note]
    command = f"scrub backfill renew t by_v --execute --catalog {catalog}"
    assert told.endswith(f"renew its functions with: {command}")


def test_a_check_notices_a_column_that_took_the_place_of_another(
    catalog: Path, database: Database
) -> None:
    database.run("ALTER TABLE t RENAME v TO w", "ALTER TABLE t ADD v text NOT NULL DEFAULT 'x'")
    assert any("column v is now called w" in note for note in _notes(catalog))


def test_a_check_notices_a_trigger_that_is_disabled(catalog: Path, database: Database) -> None:
    database.run("ALTER TABLE t DISABLE TRIGGER t__by_v__keep")
    assert any("the trigger that keeps it is disabled" in note for note in _notes(catalog))


def test_an_index_that_others_keep_is_not_judged(catalog: Path, database: Database) -> None:
    database.run(
        "DROP FUNCTION t__by_v__keep() CASCADE", "DROP FUNCTION t__by_v__truncate() CASCADE"
    )
    assert _notes(catalog) == ("compared inside the database",)
