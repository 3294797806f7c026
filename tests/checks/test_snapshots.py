# SPDX-License-Identifier: Apache-2.0
"""Which versions are compared: --as-of, `reflects`, and settling differences that are only lag."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from scrub.app import run_check
from scrub.app.checking import tables as check_tables
from scrub.errors import RelationMismatch, UsageError
from scrub.model.request import AsOf, CheckRequest
from scrub.model.result import RunResult, Status
from tests.builders import BY_CUSTOMER, delta_lake, entries_of, found, orders, write_catalog

pytestmark = pytest.mark.spark


def check(catalog: Path, spark: Any, **request: Any) -> RunResult:
    return run_check(CheckRequest(catalog=catalog, tables=("orders",), **request), spark=spark)


@pytest.fixture
def lagging(tmp_path: Path) -> Path:
    """An index that shows version 0 of its table, which has gone on to version 1."""
    catalog = delta_lake(tmp_path, orders(40), entries_of(orders(40)))
    write_deltalake(str(tmp_path / "orders"), orders(50).slice(40), mode="append")
    return catalog


def test_latest_is_compared_with_latest(lagging: Path, spark: Any) -> None:
    result = check(lagging, spark)
    assert found(result) == [("missing_secondary_index", number) for number in range(40, 50)]
    assert result.tables[0].snapshot == "version 1"


def test_as_of_a_version_pins_the_table(lagging: Path, spark: Any) -> None:
    result = check(lagging, spark, as_of=(AsOf(version=0),))
    assert result.status is Status.CLEAN
    assert result.tables[0].snapshot == "version 0"


def test_as_of_a_version_of_an_index_pins_the_index(lagging: Path, spark: Any) -> None:
    late = entries_of(orders(50)).filter(pa.compute.greater_equal(pa.array(range(50)), 0))
    write_deltalake(str(lagging.parent / "orders__by_customer"), late, mode="overwrite")
    assert check(lagging, spark).status is Status.CLEAN
    pinned = check(lagging, spark, as_of=(AsOf(version=0, relation="by_customer"),))
    assert pinned.outcomes[0].snapshot == "version 0"
    assert pinned.defects_total == 10


def test_as_of_a_time_pins_both(lagging: Path, spark: Any) -> None:
    now = datetime.now(UTC)
    write_deltalake(str(lagging.parent / "orders"), orders(60).slice(50), mode="append")
    assert check(lagging, spark).defects_total == 20
    assert check(lagging, spark, as_of=(AsOf(time=now),)).defects_total == 10


def test_a_version_that_is_not_there_is_named_with_those_that_are(
    lagging: Path, spark: Any
) -> None:
    with pytest.raises(RelationMismatch, match="no version 7") as raised:
        check(lagging, spark, as_of=(AsOf(version=7),))
    assert "0" in (raised.value.hint or "")


@pytest.mark.parametrize("reflects", [{"version": 0}, 0, {"column": "made_from"}])
def test_an_index_is_compared_with_the_version_it_reflects(
    lagging: Path, spark: Any, reflects: Any
) -> None:
    lake = lagging.parent
    stamped = entries_of(orders(40)).append_column("made_from", pa.array([0] * 40, pa.int64()))
    write_deltalake(
        str(lake / "orders__by_customer"), stamped, mode="overwrite", schema_mode="overwrite"
    )
    catalog = write_catalog(lake, {"by_customer": BY_CUSTOMER | {"reflects": reflects}})
    result = check(catalog, spark)
    assert result.status is Status.CLEAN
    assert result.tables[0].snapshot == "version 0"


def test_indexes_that_reflect_different_versions_are_checked_in_one_run(
    lagging: Path, spark: Any
) -> None:
    lake = lagging.parent
    write_deltalake(str(lake / "orders__fresh"), entries_of(orders(50)))
    indexes = {"by_customer": BY_CUSTOMER | {"reflects": 0}, "fresh": BY_CUSTOMER}
    result = check(write_catalog(lake, indexes), spark)
    assert result.status is Status.CLEAN
    assert [outcome.rows for outcome in result.outcomes] == [40, 50]


def test_settling_separates_lag_from_damage(
    lagging: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While we wait, the index catches up; the entry that was lost for good stays."""
    lake = lagging.parent
    waited = []

    def catch_up(seconds: float) -> None:
        waited.append(seconds)
        caught_up = entries_of(orders(50)).filter(
            pa.compute.not_equal(entries_of(orders(50)).column("id"), 45)
        )
        write_deltalake(str(lake / "orders__by_customer"), caught_up, mode="overwrite")

    monkeypatch.setattr(check_tables, "SLEEP", catch_up)
    result = check(lagging, spark, settle_seconds=5.0)
    assert waited == [5.0]
    assert found(result) == [("missing_secondary_index", 45)]
    assert result.outcomes[0].transient == 9
    assert result.defects_total == 1


def test_what_settles_entirely_is_clean(
    lagging: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = lagging.parent

    def catch_up(_: float) -> None:
        write_deltalake(str(lake / "orders__by_customer"), entries_of(orders(50)), mode="overwrite")

    monkeypatch.setattr(check_tables, "SLEEP", catch_up)
    result = check(lagging, spark, settle_seconds=1.0)
    assert result.status is Status.CLEAN
    assert result.outcomes[0].transient == 10


def test_settling_a_fixed_snapshot_is_refused(lagging: Path, spark: Any) -> None:
    with pytest.raises(UsageError, match="--settle"):
        check(lagging, spark, settle_seconds=1.0, as_of=(AsOf(version=0),))
