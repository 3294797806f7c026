# SPDX-License-Identifier: Apache-2.0
"""A catalog file as tables, indexes and stores; or every mistake in it, at once."""

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import normpath

from yaml.nodes import Node

from scrub.catalog import document
from scrub.catalog.document import Mistakes
from scrub.catalog.places import place_of
from scrub.catalog.section import Section
from scrub.catalog.stores import StoreReader
from scrub.catalog.tables import read_tables
from scrub.errors import CatalogError, UsageError
from scrub.model.table import Store, Table

VERSION = 1
_KEYS = ("version", "stores", "tables", "journal_days")


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """What a catalog file says, with all references found and all defaults filled in."""

    path: Path
    stores: Mapping[str, Store]
    tables: Mapping[str, Table]
    journal_days: float | None = None  # repairs that ended longer ago are forgotten; None: never
    # Place and format of stores before variables were filled in: what may be shown to people.
    as_written: Mapping[tuple[str, str], str] = field(default_factory=dict)


def load_catalog(path: Path, *, unset_allowed: bool = False) -> Catalog:
    """Read a catalog; CatalogError lists everything wrong with it.

    With `unset_allowed`, a variable that is not set is no mistake: its store says so when opened.
    """
    mistakes = Mistakes()
    root = document.compose(_read_text(path), mistakes)
    catalog = None if root is None else _read_catalog(path, root, mistakes, unset_allowed)
    if catalog is None or mistakes.found:
        raise CatalogError(path, mistakes.in_order())
    return catalog


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        hint = "`scrub init DIR` writes a first one; `--catalog FILE` names one that is elsewhere"
        raise UsageError(f"there is no catalog {path}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the catalog {path} is not UTF-8 text") from error
    except OSError as error:
        raise UsageError(f"the catalog {path} cannot be read: {error.strerror}") from error


def _read_catalog(path: Path, root: Node, mistakes: Mistakes, unset_allowed: bool) -> Catalog:
    section = Section(root, 1, "the catalog", _KEYS, mistakes)
    section.require("version", f"write version: {VERSION}")
    version = section.text("version")
    if version not in (None, str(VERSION)):
        hint = f"this release reads version: {VERSION}"
        section.add("version", f"a catalog of version {version} is not known", hint)
    stores: dict[str, Store] = {}
    if (node := section.require("stores", "say where the tables live")) is not None:
        directory = path.resolve().parent
        reader = StoreReader(directory, os.environ, mistakes, unset_allowed)
        stores = reader.read(node, section.line_of("stores"))
    tables: dict[str, Table] = {}
    if (node := section.require("tables", "describe at least one table")) is not None:
        tables = read_tables(node, section.line_of("tables"), stores, mistakes)
    _refuse_shared_relations(tables, mistakes)
    as_written = dict(_as_written(section.node("stores")))
    return Catalog(
        path=path,
        stores=stores,
        tables=tables,
        journal_days=_days(section),
        as_written=as_written,
    )


def _days(section: Section) -> float | None:
    text = section.text("journal_days")
    if text is None:
        return None
    try:
        days = float(text)
    except ValueError:
        days = 0
    if not 0 < days < math.inf:
        section.add("journal_days", f"'{text}' is not a number of days", "write journal_days: 90")
        return None
    return days


def _refuse_shared_relations(tables: Mapping[str, Table], mistakes: Mistakes) -> None:
    """An index must have a relation to itself, or it would be compared with something else."""
    owners: dict[tuple[str, str], str] = {}
    for table in tables.values():
        owners.setdefault((table.store, normpath(table.relation)), f"table '{table.name}'")
    for table in tables.values():
        if table.kv is not None:
            continue  # keys tell apart what shares a relation
        for index in table.indexes:
            name = f"index '{index.name}' of table '{table.name}'"
            owner = owners.setdefault((index.store, normpath(index.relation)), name)
            if owner != name:
                message = f"{name} has the relation '{index.relation}', as has {owner}"
                mistakes.add(index.line, message, "name its own with `relation:`")


def _as_written(stores: Node | None) -> Iterator[tuple[tuple[str, str], str]]:
    if stores is not None:
        for store in document.entries(stores, 0, "", Mistakes()):
            for key in ("path", "format"):
                if (text := document.peek(store.value, key)) is not None:
                    yield (store.name, key), text
            if document.peek(store.value, "kind") == "postgres":
                url, schema = (document.peek(store.value, key) for key in ("url", "schema"))
                yield (store.name, "path"), place_of(url, schema)
