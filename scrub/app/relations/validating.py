# SPDX-License-Identifier: Apache-2.0
"""Every relation of a catalog, opened without reading a row."""

from pathlib import Path
from typing import TYPE_CHECKING

from scrub.app.lazy_spark import lazy_session
from scrub.app.relations.findings import RelationsReport
from scrub.app.relations.looking import Look
from scrub.app.relations.opening import opened_stores
from scrub.catalog import load_catalog
from scrub.catalog.lines import lines_of
from scrub.errors import StoreUnavailable
from scrub.model.progress import ProgressListener, ignore_progress
from scrub.model.request import SparkOptions
from scrub.stores.base import SessionProvider

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def validate_relations(
    path: Path,
    *,
    spark_options: SparkOptions | None = None,
    on_progress: ProgressListener = ignore_progress,
) -> RelationsReport:
    """Open all relations; Spark starts only for those that nothing else can describe."""
    with lazy_session(None, spark_options, on_progress) as session:
        return _report(path, session)


def validate_without_spark(path: Path) -> RelationsReport:
    """The same, where what only Spark can describe is left for later."""
    return _report(path, _left_for_later)


def _left_for_later() -> "SparkSession":
    raise StoreUnavailable(
        "only Spark can describe it", hint="scrub catalog validate --relations starts Spark for it"
    )


def _report(path: Path, session: SessionProvider) -> RelationsReport:
    catalog, report = load_catalog(path), RelationsReport(path)
    lines = lines_of(path)
    with opened_stores(catalog, lines, session, report) as opener:
        look = Look(catalog, lines, opener)
        for table in catalog.tables.values():
            look.at(table)
    return report
