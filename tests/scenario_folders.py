# SPDX-License-Identifier: Apache-2.0
"""Scenario folders: reading them, carrying out their corruption, and writing them as a lake.

A folder holds `scrub.yaml` (the catalog), `rows.yaml` (what tables and indexes hold while all is
well), `corrupt.yaml` (what then goes wrong, step by step) and `expected.json` (what is found).
"""

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from deltalake import write_deltalake

from scrub.codec.arrow_types import to_arrow
from scrub.model.types import parse_type

FOLDERS = Path(__file__).parent / "scenarios"
STORES = {
    "delta": {"kind": "delta"},
    "parquet": {"kind": "spark", "format": "parquet"},
}

Row = dict[str, Any]
Rows = dict[str, list[Row]]  # by relation


@dataclass(frozen=True)
class Scenario:
    """One folder, read."""

    name: str
    catalog: dict[str, Any]
    healthy: Rows
    steps: tuple[dict[str, Any], ...]
    expected: dict[str, Any]

    @property
    def tables(self) -> dict[str, Any]:
        return dict(self.catalog["tables"])


def read_scenario(folder: Path) -> Scenario:
    """The folder's files; all but the corruption must be there."""
    corruption = folder / "corrupt.yaml"
    return Scenario(
        name=folder.name,
        catalog=yaml.safe_load((folder / "scrub.yaml").read_text("utf-8")),
        healthy=yaml.safe_load((folder / "rows.yaml").read_text("utf-8")),
        steps=tuple(yaml.safe_load(corruption.read_text("utf-8")) if corruption.exists() else ()),
        expected=json.loads((folder / "expected.json").read_text("utf-8")),
    )


def corrupted(healthy: Rows, steps: Sequence[dict[str, Any]]) -> Rows:
    """The rows after every step; a step that touches nothing would prove nothing, and raises."""
    rows = copy.deepcopy(healthy)
    for step in steps:
        match step:
            case {"insert": relation, "row": row}:
                rows[relation].append(row)
                continue
            case {"delete": relation, "where": where}:
                touched = _chosen(rows[relation], where)
                rows[relation] = [row for row in rows[relation] if row not in touched]
            case {"update": relation, "where": where, "set": values}:
                touched = [row for row in _chosen(rows[relation], where) if row | values != row]
                for row in touched:
                    row.update(values)
            case {"copy": relation, "where": where}:
                touched = _chosen(rows[relation], where)
                rows[relation] += copy.deepcopy(touched)
            case _:
                raise ValueError(f"no such step: {step}")
        if not touched:
            raise ValueError(f"nothing was touched by {step}")
    return rows


def _chosen(rows: Sequence[Row], where: Row | str) -> list[Row]:
    """The rows that have these values; `all` stands for every row."""
    if where == "all":
        return list(rows)
    assert isinstance(where, dict), where
    return [row for row in rows if all(row[name] == value for name, value in where.items())]


def write_lake(scenario: Scenario, rows: Rows, store: str, directory: Path) -> Path:
    """The scenario as somebody would meet it: its own catalog, over a store of this kind."""
    catalog = copy.deepcopy(scenario.catalog)
    for options in catalog["stores"].values():
        options.update(STORES[store])
    _write_relations(scenario, rows, store, directory / "lake")
    return _write_catalog(catalog, directory)


def write_together(scenarios: Sequence[tuple[Scenario, Rows]], store: str, directory: Path) -> Path:
    """One catalog of all scenarios, since each Spark job costs its start; tables get a prefix."""
    merged: dict[str, Any] = {"version": 1, "stores": {}, "tables": {}}
    for scenario, rows in scenarios:
        merged["stores"][scenario.name] = STORES[store] | {"path": f"./{scenario.name}"}
        _write_relations(scenario, rows, store, directory / scenario.name)
        for name, described in scenario.tables.items():
            table = copy.deepcopy(described) | {"store": scenario.name, "relation": name}
            for index, options in table["indexes"].items():
                options.setdefault("relation", f"{name}__{index}")
            merged["tables"][together_name(scenario, name)] = table
    return _write_catalog(merged, directory)


def together_name(scenario: Scenario, table: str) -> str:
    return f"{scenario.name}.{table}"


def _write_catalog(catalog: dict[str, Any], directory: Path) -> Path:
    path = directory / "scrub.yaml"
    path.write_text(json.dumps(catalog), "utf-8")
    return path


def _write_relations(scenario: Scenario, rows: Rows, store: str, lake: Path) -> None:
    for relation, wanted in rows.items():
        columns = _columns(scenario, relation)
        half = (len(wanted) + 1) // 2
        for number, part in enumerate((wanted[:half], wanted[half:])):
            table = _as_table(part, scenario.healthy[relation], columns)
            if store == "delta":
                write_deltalake(lake / relation, table, mode="append")
            else:
                (lake / relation).mkdir(parents=True, exist_ok=True)
                pq.write_table(table, lake / relation / f"part-{number}.parquet")


def _as_table(rows: Sequence[Row], examples: Sequence[Row], columns: dict[str, Any]) -> pa.Table:
    """Typed as the catalog says; a column that it does not know is typed as YAML's values are."""
    return pa.table(
        {
            name: _array(
                [row[name] for row in rows],
                columns.get(name) or pa.array([row[name] for row in examples]).type,
            )
            for name in examples[0]
        }
    )


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(type_):
        values = [None if value is None else Decimal(value) for value in values]
    return pa.array(values, type_)


def _columns(scenario: Scenario, relation: str) -> dict[str, pa.DataType]:
    """The types of a table's columns, and of what its indexes make of them."""
    types: dict[str, pa.DataType] = {}
    for name, table in scenario.tables.items():
        of_indexes = {o.get("relation", f"{name}__{i}") for i, o in table["indexes"].items()}
        if relation not in {name, *of_indexes}:
            continue
        for column, options in table["columns"].items():
            types[column] = to_arrow(parse_type(options["type"]))
        for index in table["indexes"].values():
            for column in [*index["columns"], *index.get("storing", ())]:
                if isinstance(column, dict) and "type" in column:
                    types[column["as"]] = to_arrow(parse_type(column["type"]))
    return types
