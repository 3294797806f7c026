# SPDX-License-Identifier: Apache-2.0
"""Delta tables, one per directory. The log is read here without a JVM, the files by tasks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scrub.errors import RelationMismatch, SparkUnavailable, StoreUnavailable, first_line
from scrub.model.relation import RelationFacts, Snapshot, Splits
from scrub.model.request import AsOf
from scrub.model.table import Column, Store
from scrub.model.types import ColumnType, TypeName, parse_type
from scrub.spark.types import from_spark
from scrub.stores.base import Following, SessionProvider
from scrub.stores.delta.features import unsupported
from scrub.stores.delta.log import LogFiles, list_log, openable, version_at
from scrub.stores.delta.marks import BuildState, build_state, followed_version
from scrub.stores.delta.snapshot import files_of, open_snapshot
from scrub.stores.files.parquet_files import estimate_rows, split_files
from scrub.stores.files.partitioned_frame import partitioned_frame
from scrub.stores.files.spark_files import whole_files
from scrub.stores.files.typed_formats import parquet_loader
from scrub.stores.locations import for_spark, join, normalise
from scrub.stores.neighbours import demand_directory, no_such_relation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class DeltaStore:
    """A directory, local or in an object store, with one Delta table in each directory below."""

    def __init__(self, store: Store) -> None:
        self.name = store.name
        self.root = normalise(store.path or ".")
        self.options = dict(store.options)
        self._following: dict[tuple[str, int | None, str], Following] = {}

    def pin(
        self,
        relation: str,
        as_of: AsOf | None,
        session: SessionProvider,
        columns: Sequence[Column],  # noqa: ARG002 - the log tells the columns
    ) -> RelationFacts:
        """Fix the version. Only the log is read, so a missing data file is found by the scan."""
        uri = join(self.root, relation)
        log = self._list_log(relation, uri)
        version = self._version(relation, log, as_of)
        # The name must stay good while the table is used: delta-rs reads the log when asked.
        with openable(uri) as location:
            table = self._open(relation, location, version)
            reason = table if isinstance(table, str) else unsupported(table)
            if reason is None:
                return self._facts(relation, uri, table)
        return _pin_by_source(self.name, relation, uri, version, reason, session)

    def reach(self) -> None:
        """A local directory must be there."""
        demand_directory(self.root)

    def close(self) -> None:
        """Nothing is held: files stay where they are."""

    def frame(
        self, spark: "SparkSession", facts: RelationFacts, columns: Sequence[Column], splits: Splits
    ) -> "DataFrame":
        """Read the splits' files, which must be whole ones: all splits of a file, or none."""
        from scrub.spark.names import named
        from scrub.spark.types import to_spark

        uri = join(self.root, facts.relation)
        if facts.native:
            files = whole_files(facts, splits)
            return partitioned_frame(spark, uri, files, columns, parquet_loader(spark))
        version = facts.snapshot.version
        assert version is not None, "a Delta snapshot has a version"
        frame = _load_by_source(spark, uri, version)
        return frame.select(*[named(c.name).cast(to_spark(c.type)).alias(c.name) for c in columns])

    def following(self, facts: RelationFacts, table: str) -> Following:
        """What an index's log says: the version of its table that it shows, and if it is built."""
        key = (facts.relation, facts.snapshot.version, table)
        if key not in self._following:
            self._following[key] = self._read_following(facts, table)
        return self._following[key]

    def _read_following(self, facts: RelationFacts, table: str) -> Following:
        if not facts.native:
            return Following()
        version = facts.snapshot.version
        with open_snapshot(self.root, facts.relation, self.options, version) as snapshot:
            unfinished = build_state(snapshot) is not BuildState.PUBLIC
            return Following(followed_version(snapshot, table), unfinished)

    def _list_log(self, relation: str, uri: str) -> LogFiles:
        try:
            log = list_log(uri, self.options)
            if log is None or not (log.commits or log.checkpoints):
                raise no_such_relation(
                    self.root, relation, "Delta table", "_delta_log", self.options
                )
        except OSError as error:
            raise StoreUnavailable(f"Delta log of {relation}: {first_line(error)}") from error
        if log.empty:
            raise StoreUnavailable(f"Delta log of {relation}: {log.uri}/{log.empty[0]} is empty")
        return log

    def _version(self, relation: str, log: LogFiles, as_of: AsOf | None) -> int:
        versions = log.versions
        latest = max(log.commits.keys() | log.checkpoints)
        wanted: int | None = latest
        if as_of is not None and as_of.time is not None:
            wanted = version_at(log, as_of.time, self.options)
            if wanted is None:
                raise RelationMismatch(
                    f"Delta table {relation} has no version as old as {as_of.time.isoformat()}",
                    hint=f"versions there are: {log.describe_versions()}",
                )
        elif as_of is not None and as_of.version is not None:
            wanted = as_of.version
            if wanted not in versions:
                raise RelationMismatch(
                    f"Delta table {relation} has no version {wanted} (any more)",
                    hint=f"versions there are: {log.describe_versions()}",
                )
        if wanted not in versions:
            gap = next(v for v in range(latest, -1, -1) if v not in log.commits)
            raise StoreUnavailable(
                f"Delta log of {relation}: commit {gap} is missing and no later checkpoint "
                f"replaces it, so version {wanted} cannot be determined"
            )
        return wanted

    def _open(self, relation: str, location: str, version: int) -> Any:
        """The opened table, or why delta-rs will not open it."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        try:
            return DeltaTable(location, version=version, storage_options=self.options or None)
        except (DeltaError, OSError, ValueError) as error:
            text = first_line(error)
            if "Unsupported" in text or "catalog-managed" in text:
                return f"cannot be opened by delta-rs ({text})"
            raise StoreUnavailable(f"Delta log of {relation}: {text}") from error

    def _facts(self, relation: str, uri: str, table: Any) -> RelationFacts:
        columns = {field.name: column_type(field.type) for field in table.schema().fields}
        for name in table.metadata().partition_columns:
            if columns[name] == ColumnType(TypeName.BINARY):
                raise RelationMismatch(
                    f"Delta table {relation} is partitioned by the binary column {name}: writers "
                    "disagree on how such values are spelled, so they cannot be read"
                )
        files = files_of(uri, table)
        rows = [file.rows for file in files]
        return RelationFacts(
            store=self.name,
            relation=relation,
            snapshot=Snapshot(label=f"version {table.version()}", version=table.version()),
            columns=columns,
            splits=split_files(files, rows, self.options),
            rows=estimate_rows(files, rows, self.options),
            bytes=sum(file.bytes for file in files),
            native=True,
            storage_options=self.options,
        )


def _load_by_source(spark: "SparkSession", uri: str, version: int) -> "DataFrame":
    return spark.read.format("delta").option("versionAsOf", version).load(for_spark(uri))


def _pin_by_source(
    store: str, relation: str, uri: str, version: int, reason: str, session: SessionProvider
) -> RelationFacts:
    """Facts for a table that only Spark's source can read; an error if the source is missing."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        schema = _load_by_source(session(), uri, version).schema
    except (PySparkException, Py4JJavaError, SparkUnavailable) as error:
        raise RelationMismatch(
            f"Delta table {relation} {reason}",
            hint="let Spark's own delta source read it: put Delta's jars on its class path, "
            "--conf spark.jars.packages=io.delta:delta-spark_2.13:VERSION",
        ) from error
    return RelationFacts(
        store=store,
        relation=relation,
        snapshot=Snapshot(label=f"version {version}", version=version),
        columns={field.name: from_spark(field.dataType) for field in schema.fields},
        splits=(),
        rows=None,
        native=False,
        native_reason=f"the table {reason}; Spark's delta source reads it",
    )


def column_type(delta_type: Any) -> ColumnType | None:
    name = getattr(delta_type, "type", None)
    spelling = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}
    if not isinstance(name, str):
        return None
    try:
        return parse_type(spelling.get(name, name))
    except ValueError:
        return None
