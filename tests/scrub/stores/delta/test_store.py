# SPDX-License-Identifier: Apache-2.0
"""Delta tables without a JVM: partitions, evolution, time travel, and what is refused by name."""

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from scrub.errors import RelationMismatch
from scrub.model.relation import RelationFacts
from scrub.model.request import AsOf
from scrub.model.table import Column, Store
from scrub.model.types import parse_type
from scrub.stores.delta.store import DeltaStore
from tests.scrub.stores.delta import delta_tables as delta
from tests.scrub.stores.sample import no_session, read_natively

ID = Column(name="id", type=parse_type("bigint"))


def pin(lake: Path, as_of: AsOf | None = None, relation: str = "t") -> RelationFacts:
    return store(lake).pin(relation, as_of, no_session, ())


def store(lake: Path) -> DeltaStore:
    return DeltaStore(Store(name="lake", kind="delta", path=str(lake)))


def ids(facts: RelationFacts) -> list[int]:
    return sorted(read_natively(facts, [ID])["id"].to_pylist())


def columns_of(facts: RelationFacts) -> tuple[Column, ...]:
    return tuple(Column(name=n, type=t) for n, t in facts.columns.items() if t is not None)


PARTITION_VALUES = {
    "string": ["a b", "x/y=%#?[*]{z}", "01", "é", "%20", None, "'q'", "`"],
    "int": [0, -1, 2**31 - 1, None],
    "date": [date(2024, 2, 29), date(1, 1, 1), None],
    "boolean": [True, False, None],
    "decimal(10,2)": [Decimal("1.10"), Decimal("20.00"), None],
    "double": [1.5, float("-inf"), 1e30, None],
    "timestamp": [datetime(2024, 1, 1, 1, 2, 3, 456, UTC), datetime(1969, 7, 20, tzinfo=UTC)],
    "timestamp_ntz": [datetime(2024, 3, 31, 2, 30), None],
}


def partitioned(lake: Path, type_: str, values: Sequence[Any]) -> pa.Table:
    from scrub.codec.arrow_types import to_arrow

    part = pa.array(values, to_arrow(parse_type(type_)))
    table = pa.table({"id": pa.array(range(len(values)), pa.int64()), "p q": part})
    write_deltalake(str(lake / "t"), table, partition_by=["p q"])
    return table


@pytest.mark.parametrize("type_", PARTITION_VALUES)
def test_partition_values_of_any_type(tmp_path: Path, type_: str) -> None:
    table = partitioned(tmp_path, type_, PARTITION_VALUES[type_])
    facts = pin(tmp_path)
    assert str(facts.columns["p q"]) == type_
    assert read_natively(facts, columns_of(facts)).sort_by("id").equals(table)


def test_an_empty_partition_string_is_null_as_delta_says(tmp_path: Path) -> None:
    partitioned(tmp_path, "string", [""])
    facts = pin(tmp_path)
    assert read_natively(facts, columns_of(facts))["p q"].to_pylist() == [None]


def test_binary_partitions_are_refused(tmp_path: Path) -> None:
    partitioned(tmp_path, "binary", [b"\x00"])
    with pytest.raises(RelationMismatch, match="binary column p q"):
        pin(tmp_path)


@pytest.mark.parametrize(
    "name", ["a b", "pct%20", "100%", "h#x", "q?x", "br[a]", "br{a,b}*", "é", "b\\s", "'q'", "s:b"]
)
def test_special_characters_in_paths(tmp_path: Path, name: str) -> None:
    delta.write(tmp_path / "plain", id=[1])
    delta.write(tmp_path / "plain", id=[2])
    (tmp_path / name).mkdir()
    (tmp_path / "plain").rename(tmp_path / name / name)
    assert ids(pin(tmp_path / name, relation=name)) == [1, 2]
    now = AsOf(time=datetime.now(UTC))
    assert pin(tmp_path / name, now, relation=name).snapshot.version == 1


def test_paths_in_the_log_may_be_absolute(tmp_path: Path) -> None:
    delta.write(tmp_path / "t", id=[1])
    elsewhere = tmp_path / "else where%"
    elsewhere.mkdir()

    def move(action: delta.Action) -> delta.Action:
        if "add" in action:
            (tmp_path / "t" / action["add"]["path"]).rename(elsewhere / "f.parquet")
            action["add"]["path"] = (elsewhere / "f.parquet").as_uri()
        return action

    delta.edit(tmp_path / "t", 0, move)
    facts = pin(tmp_path)
    assert facts.splits[0].uri == str(elsewhere / "f.parquet")
    assert ids(facts) == [1]


def test_a_column_absent_in_old_files_is_null(tmp_path: Path) -> None:
    delta.write(tmp_path / "t", id=[1])
    new = pa.table({"id": [2], "note": ["x"]})
    write_deltalake(str(tmp_path / "t"), new, mode="append", schema_mode="merge")
    facts = pin(tmp_path)
    rows = read_natively(facts, columns_of(facts)).sort_by("id").to_pylist()
    assert rows == [{"id": 1, "note": None}, {"id": 2, "note": "x"}]
    assert set(pin(tmp_path, AsOf(version=0)).columns) == {"id"}


def test_nested_columns_are_there_but_cannot_be_compared(tmp_path: Path) -> None:
    delta.write(tmp_path / "t", id=[1], nested=[{"a": 1}], many=[[1]])
    assert pin(tmp_path).columns == {"id": ID.type, "nested": None, "many": None}


def five_versions(lake: Path) -> None:
    for i in range(5):
        delta.write(lake / "t", id=[i])
        delta.committed_at(lake / "t", i, 1_700_000_000 + 10 * i)


def test_time_travel(tmp_path: Path) -> None:
    five_versions(tmp_path)
    assert ids(pin(tmp_path)) == [0, 1, 2, 3, 4]
    assert ids(pin(tmp_path, AsOf(version=2))) == [0, 1, 2]
    assert pin(tmp_path, AsOf(version=2)).snapshot.label == "version 2"
    for second, version in ((0, 0), (9, 0), (10, 1), (25, 2), (1000, 4)):
        moment = datetime.fromtimestamp(1_700_000_000 + second, UTC)
        assert pin(tmp_path, AsOf(time=moment)).snapshot.version == version


def test_a_time_or_version_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    five_versions(tmp_path)
    early = datetime.fromtimestamp(1_699_999_999, UTC)
    for as_of in (AsOf(version=5), AsOf(time=early)):
        with pytest.raises(RelationMismatch) as caught:
            pin(tmp_path, as_of)
        assert caught.value.hint is not None
        assert "0 to 4" in caught.value.hint


def test_a_time_that_commits_carry_wins_over_their_files(tmp_path: Path) -> None:
    five_versions(tmp_path)
    for version in range(5):
        stamp = 1_500_000_000_000 + version * 1000

        def carry(action: delta.Action, stamp: int = stamp) -> delta.Action:
            if "commitInfo" in action:
                action["commitInfo"]["inCommitTimestamp"] = stamp
            return action

        delta.edit(tmp_path / "t", version, carry)
        lines = delta.commit(tmp_path / "t", version).read_text().splitlines()
        lines.sort(key=lambda line: "commitInfo" not in json.loads(line))
        delta.commit(tmp_path / "t", version).write_text("\n".join(lines) + "\n")
    moment = datetime.fromtimestamp(1_500_000_002, UTC)
    assert pin(tmp_path, AsOf(time=moment)).snapshot.version == 2


def test_checkpoints_replace_older_commits(tmp_path: Path) -> None:
    five_versions(tmp_path)
    DeltaTable(str(tmp_path / "t"), version=3).create_checkpoint()
    for version in range(3):
        delta.commit(tmp_path / "t", version).unlink()
    assert ids(pin(tmp_path)) == [0, 1, 2, 3, 4]
    assert ids(pin(tmp_path, AsOf(version=3))) == [0, 1, 2, 3]
    with pytest.raises(RelationMismatch, match="no version 2") as caught:
        pin(tmp_path, AsOf(version=2))
    assert caught.value.hint == "versions there are: 3 to 4"
