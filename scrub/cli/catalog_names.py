# SPDX-License-Identifier: Apache-2.0
"""The names of tables and indexes in a catalog: read silently, whatever is wrong with it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode


def names_in(path: Path) -> Mapping[str, tuple[str, ...]]:
    """The indexes of each table; nothing where the file cannot be read."""
    tables = _entries(_root(path).get("tables"))
    return {name: _indexes(table) for name, table in tables}


def runs_in(path: Path) -> Sequence[str]:
    """The runs of the catalog's journals that can be read at once: of lakes on this machine."""
    from scrub.catalog.document import Mistakes
    from scrub.catalog.stores import StoreReader
    from scrub.stores.delta.journal_names import runs_named

    stores = _root(path).get("stores")
    if stores is None:
        return []
    reader = StoreReader(path.resolve().parent, os.environ, Mistakes(), unset_allowed=True)
    found = reader.read(stores, 1).values()
    return [
        run
        for store in found
        if store.kind == "delta" and store.path and "://" not in store.path
        for run in runs_named(Path(store.path))
    ]


def _root(path: Path) -> dict[str, Node]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # many times faster, where it is there
    try:
        return dict(_entries(yaml.compose(path.read_text(encoding="utf-8"), Loader=loader)))
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return {}


def _indexes(table: Node) -> tuple[str, ...]:
    return tuple(name for name, _ in _entries(dict(_entries(table)).get("indexes")))


def _entries(node: Node | None) -> Iterator[tuple[str, Node]]:
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(key, ScalarNode):
                yield key.value, value
