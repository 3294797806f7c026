# SPDX-License-Identifier: Apache-2.0
"""Whatever is missing or of another shape in a catalog, it is read or refused, and no crash."""

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from scrub.catalog import load_catalog
from scrub.catalog.waivers import load_waivers
from scrub.errors import ScrubError

pytestmark = pytest.mark.slow  # hundreds of catalogs

CATALOG: dict[str, Any] = {
    "version": 1,
    "stores": {"lake": {"kind": "delta", "path": "."}},
    "waivers": "waivers.yaml",
    "gate": {
        "max_age": "12h",
        "require": ["index", {"table": "orders", "constraint": "positive"}],
        "rules": [{"table": "orders", "index": "by_customer", "fail_above": "5 per million"}],
    },
    "tables": {
        "customers": {
            "store": "lake",
            "columns": {"region": {"type": "int"}, "id": {"type": "bigint"}},
            "primary_key": ["region", "id"],
        },
        "orders": {
            "store": "lake",
            "columns": {
                "id": {"type": "bigint", "nullable": False},
                "region": {"type": "int"},
                "customer": {"type": "bigint"},
            },
            "primary_key": ["id"],
            "checks": {"positive": "customer > 0"},
            "unique": {"one": ["region", "customer"]},
            "foreign_keys": {"c": {"columns": ["region", "customer"], "references": "customers"}},
            "indexes": {"by_customer": {"columns": ["customer"], "storing": ["region"]}},
        },
    },
}
WAIVERS: dict[str, Any] = {
    "version": 1,
    "waivers": [
        {"id": "0" * 16, "content": "1" * 16, "reason": "r", "by": "b", "until": "2026-12-31"},
        {"table": "orders", "index": "by_customer", "kind": "missing_secondary_index",
         "at_most": 3, "reason": "r", "by": "b", "until": "2026-12-31"},
    ],
}  # fmt: skip
LEFT_OUT = object()
OTHERS: list[Any] = [LEFT_OUT, None, "x", 1, [], {}, [[]], {"x": None}]
Path_ = tuple[str | int, ...]


def places(node: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Every node of a document, by the keys that lead to it."""
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield (*path, key)
        yield from places(node[key], (*path, key))


def damaged(document: dict[str, Any], path: Path_) -> Iterator[dict[str, Any]]:
    """The document without a node, and with something else in its place."""
    for other in OTHERS:
        made = copy.deepcopy(document)
        parent: Any = made
        for key in path[:-1]:
            parent = parent[key]
        if other is LEFT_OUT:
            del parent[path[-1]]
        else:
            parent[path[-1]] = other
        yield made


def load(tmp_path: Path, catalog: dict[str, Any], waivers: dict[str, Any]) -> None:
    (tmp_path / "waivers.yaml").write_text(json.dumps(waivers))
    (tmp_path / "scrub.yaml").write_text(json.dumps(catalog, indent=1))
    load_waivers(load_catalog(tmp_path / "scrub.yaml"))


@pytest.mark.parametrize("path", [*places(CATALOG)], ids=lambda path: ".".join(map(str, path)))
def test_a_damaged_catalog_is_read_or_refused(path: Path_, tmp_path: Path) -> None:
    for made in damaged(CATALOG, path):
        with suppress(ScrubError):
            load(tmp_path, made, WAIVERS)


@pytest.mark.parametrize("path", [*places(WAIVERS)], ids=lambda path: ".".join(map(str, path)))
def test_a_damaged_file_of_waivers_is_read_or_refused(path: Path_, tmp_path: Path) -> None:
    for made in damaged(WAIVERS, path):
        with suppress(ScrubError):
            load(tmp_path, CATALOG, made)


def test_the_catalog_itself_has_no_mistake(tmp_path: Path) -> None:
    load(tmp_path, CATALOG, WAIVERS)
