# SPDX-License-Identifier: Apache-2.0
"""Anything Spark reads: files of a format under a directory, JDBC tables, catalog tables."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from scrub.errors import StoreUnavailable, UsageError
from scrub.model.relation import RelationFacts, Snapshot, Split, Splits
from scrub.model.request import AsOf
from scrub.model.table import Column, Store
from scrub.model.types import ColumnType
from scrub.stores.base import SessionProvider
from scrub.stores.files import live_sources, text_formats
from scrub.stores.files import typed_formats as file_formats
from scrub.stores.files.data_files import DataFile, list_files
from scrub.stores.files.parquet_files import read_parquet
from scrub.stores.files.partitioned_frame import Load, partitioned_frame
from scrub.stores.files.spark_files import whole_files
from scrub.stores.locations import join, normalise
from scrub.stores.neighbours import demand_directory, no_such_relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILE_FORMATS = ("parquet", "orc", "csv", "json")
LIVE_FORMATS = ("jdbc", "table")


class SparkSource:
    """A read-only store of one format. Files are pinned by listing them; the rest cannot be."""

    def __init__(self, store: Store) -> None:
        self.name = store.name
        self.format = (store.format or "parquet").lower()
        if self.format not in FILE_FORMATS + LIVE_FORMATS:
            known = ", ".join(FILE_FORMATS + LIVE_FORMATS)
            raise UsageError(f"store {store.name}: no format '{store.format}'; use {known}")
        self.root = normalise(store.path or ".")
        self.options = dict(store.options)

    def pin(
        self, relation: str, as_of: AsOf | None, session: SessionProvider, columns: Sequence[Column]
    ) -> RelationFacts:
        """Fix the list of files; a table or JDBC source cannot be fixed, and says so."""
        if as_of is not None:
            what = "files have" if self.format in FILE_FORMATS else f"{self.format} has"
            raise UsageError(f"store {self.name}: {what} no versions, so there is no --as-of")
        if self.format in LIVE_FORMATS:
            return live_sources.pin(self.name, self.format, relation, self.options, session)
        files = self._list(relation)
        rows: int | None = None
        splits = tuple(
            Split(uri=file.uri, bytes=file.bytes, partition=file.partition) for file in files
        )
        if not files:
            # Nothing contradicts the catalog; what should be there will be found missing.
            stored: dict[str, ColumnType | None] = {c.name: c.type for c in columns}
            rows = 0
        elif self.format == "parquet":
            stored, splits, rows = read_parquet(relation, files, self.options)
        else:
            stored = self._columns(session, splits, columns)
        return RelationFacts(
            store=self.name,
            relation=relation,
            snapshot=Snapshot(label=_label(files)),
            columns=_with_partitions(stored, files, columns),
            splits=splits,
            rows=rows,
            bytes=sum(file.bytes for file in files),
            native=self.format == "parquet",
            native_reason="" if self.format == "parquet" else f"only Spark reads {self.format}",
            storage_options=self.options,
            times_as_text=self.format in ("csv", "json"),
            times_by_clock=self.format == "orc",
        )

    def reach(self) -> None:
        """A local directory must be there; other sources are only known by their relations."""
        if self.format in FILE_FORMATS:
            demand_directory(self.root)

    def close(self) -> None:
        """Nothing is held: files stay where they are."""

    def frame(
        self, spark: "SparkSession", facts: RelationFacts, columns: Sequence[Column], splits: Splits
    ) -> "DataFrame":
        """Read the splits' files, which must be whole ones: all splits of a file, or none."""
        if self.format in LIVE_FORMATS:
            return live_sources.frame(spark, self.format, facts, self.options, columns)
        root = join(self.root, facts.relation)
        files = whole_files(facts, splits)
        return partitioned_frame(spark, root, files, columns, self._loader(spark, facts))

    def _columns(
        self, session: SessionProvider, splits: Sequence[Split], expected: Sequence[Column]
    ) -> dict[str, ColumnType | None]:
        match self.format:
            case "orc":
                return file_formats.orc_columns(session(), splits)
            case "csv":
                return text_formats.csv_columns(session(), splits, self.options, expected)
            case _:
                return text_formats.json_columns(session(), splits, self.options, expected)

    def _loader(self, spark: "SparkSession", facts: RelationFacts) -> Load:
        match self.format:
            case "parquet":
                return file_formats.parquet_loader(spark)
            case "orc":
                return file_formats.orc_loader(spark, facts)
            case "csv":
                return text_formats.csv_loader(spark, facts, self.options)
            case _:
                return text_formats.json_loader(spark, self.options)

    def _list(self, relation: str) -> tuple[DataFile, ...]:
        """The relation's files: a directory, one file, or one with the format as its extension."""
        try:
            for name in (relation, f"{relation}.{self.format}"):
                with suppress(FileNotFoundError):
                    return list_files(join(self.root, name), self.options)
            kind = f"{self.format} relation"
            raise no_such_relation(self.root, relation, kind, None, self.options)
        except OSError as error:
            raise StoreUnavailable(f"{join(self.root, relation)}: {error}") from error


def _label(files: Sequence[DataFile]) -> str:
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return f"{len(files)} file{'' if len(files) == 1 else 's'} listed {now}"


def _with_partitions(
    stored: Mapping[str, ColumnType | None],
    files: Sequence[DataFile],
    columns: Sequence[Column],
) -> Mapping[str, ColumnType | None]:
    """Columns with those that only paths hold; a path has no types, so the catalog's are taken."""
    types = {column.name: column.type for column in columns}
    in_path = {name: types.get(name) for file in files for name in file.partition}
    return {**stored, **in_path}
