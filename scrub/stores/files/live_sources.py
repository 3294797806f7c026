# SPDX-License-Identifier: Apache-2.0
"""JDBC tables and tables of Spark's own catalog, which offer no snapshot."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scrub.errors import RelationMismatch, ScrubError, StoreUnavailable
from scrub.model.relation import RelationFacts, Snapshot
from scrub.model.table import Column
from scrub.spark.types import from_spark
from scrub.stores.base import SessionProvider
from scrub.stores.typed_frame import typed_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NO_SUCH_TABLE = re.compile(r"NOT_FOUND|SYNTAX_ERROR|PARSE|does not exist|doesn't exist", re.I)
_SECRET = re.compile(r"pass|secret|token|key|credential", re.I)


def pin(
    store: str, format_: str, relation: str, options: Mapping[str, str], session: SessionProvider
) -> RelationFacts:
    """The source as it is now; two readings may differ, and the snapshot says so."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    spark = session()
    try:
        schema = _load(spark, format_, relation, options).schema
    except (PySparkException, Py4JJavaError) as error:
        raise _unreadable(f"{format_} relation {relation}", str(error), options) from error
    return RelationFacts(
        store=store,
        relation=relation,
        snapshot=Snapshot(label="as of reading (no snapshot)", pinned=False),
        columns={field.name: from_spark(field.dataType) for field in schema.fields},
        splits=(),
        rows=None,
        native=False,
        native_reason=f"only Spark reads {format_}",
        times_by_clock=format_ == "jdbc",
    )


def frame(
    spark: "SparkSession",
    format_: str,
    facts: RelationFacts,
    options: Mapping[str, str],
    columns: Sequence[Column],
) -> "DataFrame":
    """The columns, as they are now, in the catalog's types."""
    return typed_frame(_load(spark, format_, facts.relation, options), facts, columns)


def _load(
    spark: "SparkSession", format_: str, relation: str, options: Mapping[str, str]
) -> "DataFrame":
    if format_ == "table":
        return spark.table(relation)
    return spark.read.format("jdbc").options(**{**options, "dbtable": relation}).load()


def _unreadable(what: str, text: str, options: Mapping[str, str]) -> ScrubError:
    """The error for a missing relation or an unreachable source, without secrets."""
    lines = [line.removeprefix(": ").strip() for line in text.splitlines()]
    telling = (line for line in lines if line and not line.startswith("An error occurred while"))
    reason = next(telling, "no reason given")
    for name, value in options.items():
        if value and (_SECRET.search(name) or name.lower() == "url"):
            reason = reason.replace(value, f"<{name}>")
    if _NO_SUCH_TABLE.search(reason):
        return RelationMismatch(f"{what}: {reason}")
    return StoreUnavailable(f"{what}: {reason}")
