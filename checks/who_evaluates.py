# SPDX-License-Identifier: Apache-2.0
"""Who can evaluate what makes a row an entry: tasks, a database that holds both sides, or Spark."""

from collections.abc import Sequence

from scrub.catalog.native_terms import native_condition, native_index, portable_index
from scrub.model.relation import RelationFacts, SplitKind
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.table import Index, Table


def only_spark_evaluates(table: Table, indexes: Sequence[Index], where: str | None) -> str | None:
    """Why the table's rows must go through Spark's own expressions."""
    if where and native_condition(where, table) is None:
        return "--where needs Spark"
    needing = [index.name for index in indexes if native_index(table, index) is None]
    return f"expressions of {', '.join(needing)} need Spark" if needing else None


def in_one_server(
    request: CheckRequest, table: Table, index: Index, sides: Sequence[RelationFacts]
) -> bool:
    """Whether the server that holds both sides is asked to compare them."""
    in_server = all(of.native for of in sides) and all(
        split.kind is SplitKind.POSTGRES for of in sides for split in of.splits
    )
    as_asked = request.engine is not Engine.SQL and request.strategy is not Strategy.FINGERPRINT
    same_place = sides[0].store == sides[1].store and all(of.splits for of in sides)
    if not (in_server and as_asked and same_place):
        return False
    return portable_index(table, index) is not None
