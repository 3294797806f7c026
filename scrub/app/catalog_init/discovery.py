# SPDX-License-Identifier: Apache-2.0
"""Delta and Parquet tables below a directory, and a small sample of each."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from scrub.catalog.names import problem_of
from scrub.errors import SparkUnavailable
from scrub.model.relation import RelationFacts, Split
from scrub.model.table import Column, Store
from scrub.model.types import ColumnType, TypeName
from scrub.stores.delta.log import openable
from scrub.stores.open import open_store
from scrub.stores.split_readers import read_split
from scrub.stores.unreadable import UnreadableSplit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE_ROWS_MAX = 10_000
_SAMPLE_SPLITS_MAX = 3
SAMPLE_SPLIT_ROWS_MAX = SAMPLE_ROWS_MAX // _SAMPLE_SPLITS_MAX
_DEPTH_MAX = 4
_RELATIONS_MAX = 1_000
# Relations that scrub itself keeps beside tables: no catalog describes them.
_BOOKKEEPING = frozenset(("scrub_journal", "scrub_runs", "scrub_builds", "scrub_build_ranges"))
_OF_A_BUILD = re.compile(r"(.+)__(recorded|suspects)", re.DOTALL)
_CUT_SHORT = re.compile(r".*_[0-9a-f]{10}", re.DOTALL)  # a long name, and the hash of the rest


@dataclass(frozen=True, slots=True)
class Location:
    """Where a relation was found: its kind of store, and its path below the store's."""

    kind: str  # "delta" or "spark"
    relation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRelation:
    """A relation with what can be told of it cheaply."""

    name: str
    store: str
    relation: str
    columns: tuple[Column, ...]
    partitioned_by: tuple[str, ...] = ()
    type_guesses: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    rows: int | None = None
    rows_counted: int | None = None  # None where `rows` is an estimate, or nobody counted
    sample: Any = None  # a pyarrow Table

    @property
    def types(self) -> dict[str, ColumnType]:
        return {column.name: column.type for column in self.columns}


def locate(directory: Path) -> tuple[Path, list[Location]]:
    """The directory that relations are below, and the relations; the directory may be one."""
    kind = _kind_of_directory(directory, must_look_written=True)
    if kind:
        return directory.parent, [Location(kind, directory.name)]
    return directory, list(islice(_walk(directory, "", 0), _RELATIONS_MAX))


def _walk(directory: Path, prefix: str, depth: int) -> Iterator[Location]:
    for path in sorted(directory.iterdir()):
        if path.name.startswith((".", "_")):
            continue
        relation = f"{prefix}{path.name}"
        if path.is_file():
            if path.suffix == ".parquet":
                yield Location("spark", relation)
        elif kind := _kind_of_directory(path):
            yield Location(kind, relation)
        elif path.is_dir() and depth < _DEPTH_MAX:
            yield from _walk(path, f"{relation}/", depth + 1)


def _kind_of_directory(directory: Path, *, must_look_written: bool = False) -> str | None:
    """The kind of the relation that a directory is; None if it only holds others."""
    if not directory.is_dir():
        return None
    if (directory / "_delta_log").is_dir():
        return "delta"
    files = sorted(directory.glob("*.parquet"))
    parts = [path for path in files if path.name.startswith("part-")]
    if parts or any(directory.glob("*=*/")) or (files and (directory / "_SUCCESS").exists()):
        return "spark"
    if files and not must_look_written and _have_same_columns(files[0], files[-1]):
        return "spark"
    return None


def _have_same_columns(one: Path, other: Path) -> bool:
    try:
        return bool(pq.read_schema(one).names == pq.read_schema(other).names)
    except (OSError, pa.ArrowException):
        return False


def is_own(name: str, names: Collection[str]) -> bool:
    """Whether a relation among others is a journal, a list of builds or a part of a build."""
    if name in _BOOKKEEPING:
        return True
    part = _OF_A_BUILD.fullmatch(name)
    return part is not None and (part[1] in names or bool(_CUT_SHORT.fullmatch(part[1])))


def look_at(location: Location, name: str, store: Store) -> FoundRelation:
    """Describes a relation from its log or footers and a few of its rows. Raises ScrubError."""
    facts = open_store(store).pin(location.relation, None, _refuse_session, ())
    partitioned_by = tuple(facts.splits[0].partition) if facts.splits else ()
    not_null = _not_null_columns(location, store, facts)
    columns: dict[str, Column] = {}
    left_out: dict[str, str] = {}
    type_guesses: dict[str, str] = {}
    for column, stored in facts.columns.items():
        known = stored
        if stored is None and column in partitioned_by:
            known = _type_in_paths(column, facts)
            type_guesses[column] = "its type, from the names of directories"
        if known is None:
            left_out[column] = "its type is not compared"
        elif problem := problem_of(column):
            left_out[column] = f"its name {problem}"
        elif column.lower() in columns:
            left_out[column] = "its name differs only in case from another"
        else:
            nullable = column not in not_null
            columns[column.lower()] = Column(name=column, type=known, nullable=nullable)
    return FoundRelation(
        name=name,
        store=store.name,
        relation=location.relation,
        columns=tuple(columns.values()),
        partitioned_by=partitioned_by,
        type_guesses=type_guesses,
        left_out=left_out,
        rows=facts.rows,
        rows_counted=facts.rows,
        sample=sample_rows(facts, list(columns.values())),
    )


def _not_null_columns(location: Location, store: Store, facts: RelationFacts) -> frozenset[str]:
    """The columns that cannot be NULL; Parquet files promise nothing that Spark believes."""
    if location.kind != "delta":
        return frozenset()
    from deltalake import DeltaTable

    with openable(f"{store.path}/{location.relation}") as uri:
        fields = DeltaTable(uri, version=facts.snapshot.version).schema().fields
    return frozenset(column.name for column in fields if not column.nullable)


def _type_in_paths(column: str, facts: RelationFacts) -> ColumnType:
    """A type for the values of `column=value` directories, which have none of their own."""
    values = [split.partition.get(column) for split in facts.splits]
    integers = all(value is None or value.lstrip("-").isdecimal() for value in values)
    short = all(value is None or len(value) <= 18 for value in values)  # noqa: PLR2004 - fits 64 bits
    return ColumnType(TypeName.BIGINT if integers and short else TypeName.STRING)


def sample_rows(facts: RelationFacts, columns: Sequence[Column]) -> Any:
    """A few rows from the first, a middle and the last split: duplicates are often far apart."""
    count = len(facts.splits)
    positions = sorted({0, count // 2, count - 1}) if count else []
    batches = [
        batch
        for position in positions
        if (batch := _first_rows(facts.splits[position], columns, facts)) is not None
    ]
    return pa.concat_tables(batches) if batches else pa.table({})


def _first_rows(split: Split, columns: Sequence[Column], facts: RelationFacts) -> Any:
    rows_max = SAMPLE_SPLIT_ROWS_MAX
    try:
        batch = next(read_split(split, columns, facts.storage_options, rows_max), None)
    except UnreadableSplit:
        return None
    if batch is None:
        return None
    arrays = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        for column in batch.columns
    ]
    return pa.table(arrays, names=batch.schema.names).slice(0, rows_max)


def _refuse_session() -> "SparkSession":
    raise SparkUnavailable("`scrub init` reads without Spark")
