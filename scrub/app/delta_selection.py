# SPDX-License-Identifier: Apache-2.0
"""Which table and indexes a command on Delta indexes means, and the Spark session it may need."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrub.app.selection import near
from scrub.catalog import Catalog, load_catalog
from scrub.errors import UsageError
from scrub.model.progress import Progress, ProgressListener
from scrub.model.request import SparkOptions
from scrub.model.table import Index, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from repair.delta_build import DeltaBuild

Session = Callable[[], "SparkSession"]


def select_table(path: Path, table: str) -> tuple[Catalog, Table]:
    """A table of the catalog that has versions to follow."""
    catalog = load_catalog(path)
    if table not in catalog.tables:
        raise UsageError(f"the catalog has no table {table}", hint=near(table, catalog.tables))
    chosen = catalog.tables[table]
    store = catalog.stores[chosen.store]
    if store.kind != "delta":
        raise UsageError(
            f"table {table} is in store {store.name} of kind {store.kind}, which has no versions "
            "that an index could follow"
        )
    if chosen.kv is not None:
        raise UsageError(f"table {table} is in key-value layout: its indexes cannot follow it")
    return catalog, chosen


def select(path: Path, table: str, indexes: Sequence[str]) -> tuple[Catalog, Table, list[Index]]:
    """The table and its indexes: those named, or else all that are in Delta themselves."""
    catalog, chosen = select_table(path, table)
    in_delta = {i.name: i for i in chosen.indexes if catalog.stores[i.store].kind == "delta"}
    known = [index.name for index in chosen.indexes]
    for name in indexes:
        if name not in known:
            raise UsageError(f"table {table} has no index {name}", hint=near(name, known))
        if name not in in_delta:
            raise UsageError(f"index {name} of {table} is in a store that is not of kind delta")
    if not in_delta:
        raise UsageError(f"table {table} has no indexes in Delta")
    found = [in_delta[name] for name in dict.fromkeys(indexes)] or list(in_delta.values())
    return catalog, chosen, found


def build_of(catalog: Catalog, table: Table, index: Index, session: Session) -> "DeltaBuild":
    from repair.delta_build import DeltaBuild

    return DeltaBuild(
        table=table,
        index=index,
        tables=catalog.stores[table.store],
        indexes=catalog.stores[index.store],
        session=session,
    )


@contextmanager
def lazy_session(
    spark: "SparkSession | None", options: SparkOptions | None, on_progress: ProgressListener
) -> Iterator[Session]:
    """Starts Spark when it is first needed; many indexes need none."""
    with ExitStack() as stack:
        sessions: list[SparkSession] = []

        def session() -> "SparkSession":
            if not sessions:
                from scrub.spark.session import spark_session

                on_progress(Progress(phase="starting Spark"))
                sessions.append(
                    stack.enter_context(spark_session(spark, options or SparkOptions()))
                )
            return sessions[0]

        yield session
