# SPDX-License-Identifier: Apache-2.0
"""Proof that a query reads what it is meant to read: the planner may choose, so it is asked.

No setting forces PostgreSQL to use an index; switching other ways off only makes them dear. So
every reading is explained first, and refused when its plan is another one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg


class Way(StrEnum):
    """A way to read a table, by the planner's name for it."""

    ENTRIES = "Index Only Scan"  # the index's own entries
    POINTERS = "Index Scan"  # the rows that entries point to
    ROWS = "Seq Scan"  # the rows as they lie


_ABOVE = frozenset(
    ("Aggregate", "WindowAgg", "Subquery Scan", "Result", "Limit", "Hash", "Hash Join")
)
_HIDING = ("Index Cond", "Order By", "Recheck Cond", "Parallel Aware")


class ReadingRefused(Exception):
    """The planner would not read what was asked for; the text says what it would read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a plan must read, and nothing else."""

    table: str
    index: str
    ways: tuple[Way, ...]
    may_sort: bool = False
    may_filter: bool = False  # rows of some buckets only


def prove(connection: "psycopg.Connection[Any]", query: str, demand: Demand) -> None:
    """Raise `ReadingRefused` unless the query's plan is what was demanded."""
    row = connection.execute(f"EXPLAIN (FORMAT JSON, COSTS OFF) {query}").fetchone()
    assert row is not None, "EXPLAIN returns a plan"
    if objection := objection_to(row[0][0]["Plan"], demand):
        raise ReadingRefused(objection)


def objection_to(plan: Mapping[str, Any], demand: Demand) -> str | None:
    """What is wrong with a plan; pure."""
    nodes = list(_nodes(plan))
    scans = [node for node in nodes if "Relation Name" in node]
    if others := _others(scans, demand):
        return (
            f"the planner reads the index {', '.join(others)} in place of {demand.index}; if they "
            "are the same, drop one of them, or leave it out of the catalog"
        )
    found = sorted(str(node["Node Type"]) for node in scans)
    if found != sorted(demand.ways):
        return f"the planner offers {_listed(found)}, not {_listed(sorted(demand.ways))}"
    allowed = _ABOVE | ({"Sort"} if demand.may_sort else set())
    for node in nodes:
        if "Relation Name" not in node and node["Node Type"] not in allowed:
            return f"the planner puts a {node['Node Type']} above the scan of {demand.index}"
    return next((text for node in scans if (text := _scan_objection(node, demand))), None)


def _others(scans: Sequence[Mapping[str, Any]], demand: Demand) -> list[str]:
    names = {str(node["Index Name"]) for node in scans if "Index Name" in node}
    return sorted(names - {demand.index})


def _scan_objection(node: Mapping[str, Any], demand: Demand) -> str | None:
    if node["Relation Name"] != demand.table:
        return f"the planner reads {node['Relation Name']}, not {demand.table}"
    if node.get("Scan Direction", "Forward") != "Forward":
        return f"the planner reads {demand.index} backward"
    hiding = [name for name in _HIDING if node.get(name)]
    # A sequential scan may filter: that is how it finds the rows of a partial index.
    if node.get("Filter") and node["Node Type"] != Way.ROWS and not demand.may_filter:
        hiding.append("Filter")
    return f"the planner adds a condition to the scan ({hiding[0]})" if hiding else None


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"a {name}" for name in names) or "no scan"


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)
