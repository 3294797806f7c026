# SPDX-License-Identifier: Apache-2.0
"""Loads a catalog file: its tables, indexes and stores, or all its mistakes at once."""

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from yaml.nodes import Node

from scrub.catalog import document
from scrub.catalog.changes import refuse_shared_slots
from scrub.catalog.document import Mistakes
from scrub.catalog.gate_policy import read_gate_policy
from scrub.catalog.places import place_of
from scrub.catalog.section import Section
from scrub.catalog.shared_relations import refuse_shared_relations
from scrub.catalog.spelling import did_you_mean
from scrub.catalog.stores import StoreReader
from scrub.catalog.tables import read_tables
from scrub.catalog.time_zones import read_time_zone
from scrub.errors import CatalogError, UsageError
from scrub.model.gate import GatePolicy
from scrub.model.place import parse_size
from scrub.model.table import UTC, Store, Table
from scrub.redaction import redacted

VERSION = 1
_KEYS = (
    "version",
    "stores",
    "tables",
    "journal_days",
    "time_zone",
    "in_process_bytes",
    "gate",
    "waivers",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The contents of a catalog file, with references resolved and defaults filled in."""

    path: Path
    stores: Mapping[str, Store]
    tables: Mapping[str, Table]
    journal_days: float | None = None  # repairs that ended longer ago are forgotten; None: never
    in_process_bytes: int | None = None  # checks that read no more do not start Spark
    gate: GatePolicy = field(default_factory=GatePolicy)
    waivers: str | None = None  # the file of them, if it has another name than usual
    # Place and format of stores before variables were filled in: what may be shown to people.
    as_written: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def table(self, name: str) -> Table:
        """A table by its name; an unknown one is answered with what there is."""
        if name not in self.tables:
            hint = did_you_mean(name, self.tables, "tables")
            raise UsageError(f"the catalog has no table {name}", hint=hint)
        return self.tables[name]

    def in_time_zone(self, zone: str) -> "Catalog":
        """The catalog for tables of this zone: their servers evaluate in it."""
        stores = {name: store.in_time_zone(zone) for name, store in self.stores.items()}
        return replace(self, stores=stores)


def load_catalog(path: Path, *, unset_allowed: bool = False) -> Catalog:
    """Read a catalog; CatalogError lists everything wrong with it.

    With `unset_allowed`, a variable that is not set is no mistake: its store says so when opened.
    """
    mistakes = Mistakes()
    hint = "`scrub init DIR` writes a first one; `--catalog FILE` names one that is elsewhere"
    root = document.compose(document.read_text(path, "catalog", hint=hint), mistakes)
    catalog = None if root is None else _read_catalog(path, root, mistakes, unset_allowed)
    if catalog is None or mistakes.found:
        raise CatalogError(path, mistakes.in_order())
    return catalog


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
    time_zone = read_time_zone(section, UTC)
    if (node := section.require("tables", "describe at least one table")) is not None:
        found = read_tables(node, section.line_of("tables"), stores, mistakes, time_zone)
        tables = {name: replace(table, catalog=path) for name, table in found.items()}
    refuse_shared_relations(tables, stores, mistakes)
    refuse_shared_slots(tables, stores, mistakes)
    as_written = dict(_as_written(section.node("stores")))
    return Catalog(
        path=path,
        stores=stores,
        tables=tables,
        journal_days=_days(section),
        in_process_bytes=_size(section),
        gate=read_gate_policy(section, tables),
        waivers=section.text("waivers"),
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


def _size(section: Section) -> int | None:
    text = section.text("in_process_bytes")
    if text is None:
        return None
    try:
        return parse_size(text)
    except ValueError as error:
        section.add("in_process_bytes", str(error), "write in_process_bytes: 500 MiB")
        return None


def _as_written(stores: Node | None) -> Iterator[tuple[tuple[str, str], str]]:
    if stores is not None:
        for store in document.named_nodes(stores, 0, "", Mistakes()):
            for key in ("path", "format"):
                if (text := document.peek(store.value, key)) is not None:
                    yield (store.name, key), redacted(text)
            if document.peek(store.value, "kind") == "postgres":
                url, schema = (document.peek(store.value, key) for key in ("url", "schema"))
                yield (store.name, "path"), place_of(url, schema)
