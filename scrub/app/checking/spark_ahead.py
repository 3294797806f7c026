# SPDX-License-Identifier: Apache-2.0
"""Whether a check will run on Spark, as far as that shows before anything is read."""

import os
from collections.abc import Iterator, Sequence

from scrub.app.lazy_spark import LazySpark
from scrub.catalog import Catalog
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.table import Store, Table

_SMALL_BYTES = 4 << 20
_SMALL_FILES = 200


def surely_on_spark(
    request: CheckRequest, catalog: Catalog, tables: Sequence[Table], spark: LazySpark
) -> bool:
    """Whether Spark is asked for, or reads something; then its JVM may as well start at once.

    A check that may turn out to run in the process is none of these.
    """
    if not tables:
        return False
    bytes_max = spark.bytes_asked_for
    bytes_max = catalog.in_process_bytes if bytes_max is None else bytes_max
    if spark.named is not None or bytes_max == 0 or request.strategy is Strategy.MERGE:
        return True
    stores = [catalog.stores[table.store] for table in tables]
    if any(store.kind == "spark" and store.format != "parquet" for store in stores):
        return True
    # Of a database, the server itself may compare what Spark was asked to.
    return request.engine is Engine.SQL and all(store.kind != "postgres" for store in stores)


def looks_small(catalog: Catalog, tables: Sequence[Table]) -> bool:
    """Whether files on this machine are so few that a JVM should start fast rather than run fast.

    Of how many rows they are is said by their footers only, which nobody has read yet.
    """
    places = {(table.store, table.relation) for table in tables}
    files = size = 0
    for store, relation in places:
        if (folder := _folder(catalog.stores[store], relation)) is None:
            return False
        for file_size in _sizes(folder):
            files, size = files + 1, size + file_size
            if files > _SMALL_FILES or size > _SMALL_BYTES:
                return False
    return files > 0


def _folder(store: Store, relation: str) -> str | None:
    """Where a relation of files is, if it is on this machine."""
    if store.kind == "postgres" or store.path is None or "://" in store.path:
        return None
    return os.path.join(os.path.expanduser(store.path), relation)


def _sizes(folder: str) -> Iterator[int]:
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                yield os.stat(os.path.join(directory, name)).st_size
            except OSError:
                continue  # it is gone
