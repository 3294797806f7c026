# SPDX-License-Identifier: Apache-2.0
"""Whether a check will run on Spark, as far as that shows before anything is read."""

from collections.abc import Sequence

from scrub.app.lazy_spark import LazySpark
from scrub.catalog import Catalog
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.table import Table


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
