# SPDX-License-Identifier: Apache-2.0
"""Verifies with EXPLAIN that a query reads what it is meant to read.

No setting forces PostgreSQL to use an index; disabling other scans only makes them expensive. So
every reading is explained first, and refused if its plan is another one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scrub.stores.postgres.connections import Connection, only_row


class Way(StrEnum):
    """A way to read a table, by the planner's name for it."""

    ENTRIES = "Index Only Scan"  # the index's own entries
    POINTERS = "Index Scan"  # the rows that entries point to
    ROWS = "Seq Scan"  # the rows as they lie


_ABOVE = frozenset(
    ("Aggregate", "WindowAgg", "Subquery Scan", "Result", "Limit", "Hash", "Hash Join")
)
_SEARCHING = frozenset(("Nested Loop", "Unique", "Sort"))
_HIDING = ("Index Cond", "Order By", "Recheck Cond", "Parallel Aware")
_UNUSED = "NULL::"


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
    is_search: bool = False  # rows are searched for by conditions that the index alone decides
    # Expressions whose values must come from the index: where they are selected, and how the
    # server writes one that is computed. One that is read has another pair of parentheses.
    held: tuple[tuple[int, str], ...] = ()


def prove(connection: Connection, query: str, demand: Demand) -> None:
    """Raise `ReadingRefused` unless the query's plan is what was demanded."""
    if objection := objection_to(plan_of(connection, query), demand):
        raise ReadingRefused(objection)


def plan_of(connection: Connection, query: str) -> Mapping[str, Any]:
    """What the planner would do."""
    (explained,) = only_row(connection, f"EXPLAIN (VERBOSE, FORMAT JSON, COSTS OFF) {query}")
    plan: Mapping[str, Any] = explained[0]["Plan"]
    return plan


def output_of(scan: Mapping[str, Any]) -> list[str]:
    """What a scan gives, column by column, without the name it has for its relation."""
    alias = re.escape(str(scan.get("Alias", "")))
    return [re.sub(rf'(?<![\w"$])("{alias}"|{alias})\.', "", text) for text in scan["Output"]]


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
    allowed |= _SEARCHING if demand.is_search else set()
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
    if demand.is_search and node["Node Type"] == Way.POINTERS:
        # A filter would look at the rows, which are not in question.
        is_decided = node.get("Index Cond") and not node.get("Filter")
        return (
            None if is_decided else f"the planner does not search {demand.index} by its whole key"
        )
    if node["Node Type"] == Way.ENTRIES and (objection := _computed(node, demand)):
        return objection
    hiding = [name for name in _HIDING if node.get(name)]
    # A sequential scan may filter: that is how it finds the rows of a partial index.
    if node.get("Filter") and node["Node Type"] != Way.ROWS and not demand.may_filter:
        hiding.append("Filter")
    return f"the planner adds a condition to the scan ({hiding[0]})" if hiding else None


def _computed(node: Mapping[str, Any], demand: Demand) -> str | None:
    """Whether something is computed that should come from the index."""
    output = output_of(node) if demand.held else []
    for number, text in demand.held:
        if output[number] != f"({text})" and not output[number].startswith(_UNUSED):
            return f"the planner computes {text}, and does not read it from {demand.index}"
    return None


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"a {name}" for name in names) or "no scan"


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)
