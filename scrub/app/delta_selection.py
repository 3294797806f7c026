# SPDX-License-Identifier: Apache-2.0
"""Which table and indexes a command on Delta indexes means, and the Spark session it may need."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrub.catalog import Catalog, load_catalog
from scrub.errors import UsageError
from scrub.model.progress import Progress, ProgressListener
from scrub.model.request import SparkOptions
from scrub.model.table import Index, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from repair.delta_build import DeltaBuild

Session = Callable[[], "SparkSession"]


def select(path: Path, table: str, indexes: Sequence[str]) -> tuple[Catalog, Table, list[Index]]:
    """The table and its indexes (all, if none is named); mistakes are answered with what there is.

    Only Delta tables with indexes in Delta will do: they have versions to follow.
    """
    catalog = load_catalog(path)
    if table not in catalog.tables:
        raise UsageError(f"the catalog has no table {table}", hint=_near(table, catalog.tables))
    chosen = catalog.tables[table]
    known = {index.name: index for index in chosen.indexes}
    for name in indexes:
        if name not in known:
            raise UsageError(f"table {table} has no index {name}", hint=_near(name, known))
    of_table = catalog.stores[chosen.store]
    if of_table.kind != "delta":
        raise UsageError(
            f"table {table} is in store {of_table.name} of kind {of_table.kind}, which has no "
            "versions that an index could follow"
        )
    if chosen.kv is not None:
        raise UsageError(f"table {table} is in key-value layout: its indexes cannot follow it")
    found = [known[name] for name in dict.fromkeys(indexes)] or list(chosen.indexes)
    for index in found:
        if catalog.stores[index.store].kind != "delta":
            raise UsageError(
                f"index {index.name} is in store {index.store}, which is not of kind delta"
            )
    if not found:
        raise UsageError(f"table {table} has no indexes")
    return catalog, chosen, found


def _near(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]}?" if close else f"there are: {', '.join(names) or 'none'}"


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
