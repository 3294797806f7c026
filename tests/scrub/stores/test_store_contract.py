# SPDX-License-Identifier: Apache-2.0
"""What every store promises its readers; a store that joins is one more line in formats.py."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scrub.errors import RelationMismatch, UsageError
from scrub.model.relation import RelationFacts
from scrub.model.request import AsOf
from scrub.model.table import Column
from scrub.stores.base import ReadableStore
from scrub.stores.open import open_store
from tests.scrub.stores.formats import FORMATS, Format
from tests.scrub.stores.sample import (
    COLUMNS,
    ROWS,
    arrow_table,
    no_session,
    plain,
    read_natively,
    read_through_spark,
)

pytestmark = pytest.mark.spark


@pytest.fixture(params=FORMATS, ids=lambda format_: format_.name)
def format_(request: pytest.FixtureRequest) -> Format:
    chosen: Format = request.param
    return chosen


@pytest.fixture
def columns(format_: Format) -> tuple[Column, ...]:
    return tuple(column for column in COLUMNS if column.name not in format_.lacks)


class Relation:
    """The relation `t` of a store under test."""

    def __init__(self, format_: Format, root: Path, spark: Any, columns: Sequence[Column]) -> None:
        self.format, self.root, self.spark, self.columns = format_, root, spark, columns
        self.store: ReadableStore = open_store(format_.store(root))
        self.name = format_.relation(root)

    def append(self, table: pa.Table) -> None:
        self.format.write(self.root, table, self.columns, self.spark)

    def pin(self, as_of: AsOf | None = None) -> RelationFacts:
        if self.format.one_snapshot:
            self.store.close()
            self.store = open_store(self.format.store(self.root))
        session = (lambda: self.spark) if self.format.needs_session else no_session
        return self.store.pin(self.name, as_of, session, self.columns)

    def read(self, facts: RelationFacts, columns: Sequence[Column] | None = None) -> pa.Table:
        return read_through_spark(self.store, self.spark, facts, columns or self.columns)


@pytest.fixture
def relation(format_: Format, columns: Sequence[Column], tmp_path: Path, spark: Any) -> Relation:
    return Relation(format_, tmp_path, spark, columns)


def test_columns_and_types_are_those_stored(relation: Relation) -> None:
    relation.append(arrow_table(relation.columns))
    facts = relation.pin()
    assert facts.columns == {column.name: column.type for column in relation.columns}


def test_every_value_comes_back_exactly(relation: Relation, ansi_mode: str) -> None:
    table = arrow_table(relation.columns)
    relation.append(table.slice(0, 2))
    relation.append(table.slice(2))
    assert plain(relation.read(relation.pin())) == plain(table)


def test_columns_come_in_the_order_asked_for(relation: Relation) -> None:
    relation.append(arrow_table(relation.columns))
    some = [relation.columns[i] for i in (0, 5, 2)]
    assert plain(relation.read(relation.pin(), some)) == plain(arrow_table(some))


def test_an_empty_relation_has_columns_and_no_rows(relation: Relation) -> None:
    relation.append(arrow_table(relation.columns, ()))
    facts = relation.pin()
    assert relation.read(facts).num_rows == 0
    assert facts.rows in (0, None)


def test_later_writes_are_not_seen(relation: Relation) -> None:
    table = arrow_table(relation.columns)
    relation.append(table.slice(0, 2))
    facts = relation.pin()
    relation.append(table.slice(2))
    assert facts.snapshot.pinned is relation.format.pinned
    seen = 2 if relation.format.pinned else len(ROWS)
    assert relation.read(facts).num_rows == seen
    assert relation.read(relation.pin()).num_rows == len(ROWS)


def test_a_missing_relation_is_a_mismatch(relation: Relation) -> None:
    relation.append(arrow_table(relation.columns))
    with pytest.raises(RelationMismatch):
        relation.store.pin("missing", None, lambda: relation.spark, relation.columns)


def test_versions_only_where_there_are_some(relation: Relation) -> None:
    relation.append(arrow_table(relation.columns))
    if relation.format.name == "delta":
        assert relation.pin(AsOf(version=0)).snapshot.version == 0
        return
    with pytest.raises(UsageError, match="no versions"):
        relation.pin(AsOf(version=0))


def test_what_a_format_cannot_hold_is_refused_by_name(
    format_: Format, tmp_path: Path, spark: Any
) -> None:
    for name, reason in format_.lacks.items():
        whole = Relation(format_, tmp_path / name, spark, COLUMNS)
        if format_.refuses_to_pin:
            whole.root.mkdir()
            (whole.root / f"t.{format_.name}").write_text(f"{name}\n")
            with pytest.raises(RelationMismatch, match=reason):
                whole.pin()
        assert reason


def test_native_reading_agrees_with_spark(relation: Relation) -> None:
    table = arrow_table(relation.columns)
    relation.append(table.slice(0, 3))
    relation.append(table.slice(3))
    facts = relation.pin()
    assert facts.native is relation.format.native
    assert facts.native or facts.native_reason
    if facts.native:
        assert facts.rows == len(ROWS)
        assert sum(split.bytes for split in facts.splits) == facts.bytes
        assert plain(read_natively(facts, relation.columns)) == plain(relation.read(facts))
