# SPDX-License-Identifier: Apache-2.0
"""The keys by which waivers and rules of a gate choose defects: table, index, constraint, kind."""

from collections.abc import Mapping
from dataclasses import dataclass

from scrub.catalog.section import Section
from scrub.catalog.spelling import did_you_mean
from scrub.model.constraint import constraints_of
from scrub.model.defect import ALIASES, DefectKind
from scrub.model.table import Table

KEYS = ("table", "index", "constraint", "kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class DefectChoice:
    """What is described; None fits everything."""

    table: str | None = None
    index: str | None = None
    constraint: str | None = None
    kind: DefectKind | None = None


def read_choice(section: Section, tables: Mapping[str, Table]) -> DefectChoice:
    """The keys that are there; a name that the catalog does not have is a mistake."""
    for key in KEYS:
        section.refuse_empty(key, f"name one, or leave out '{key}' to choose any")
    name = section.text("table")
    table = None if name is None else tables.get(name)
    if name is not None and table is None:
        section.add("table", f"there is no table '{name}'", did_you_mean(name, tables, "tables"))
    for key in ("index", "constraint"):
        if name is None and section.node(key) is not None:
            section.add(key, f"'{key}' is given without 'table'", "add table: NAME")
    indexes = [index.name for index in table.indexes] if table else []
    constraints = [constraint.name for constraint in constraints_of(table)] if table else []
    return DefectChoice(
        table=name,
        index=_known(section, "index", table, indexes, "indexes"),
        constraint=_known(section, "constraint", table, constraints, "constraints"),
        kind=_kind(section),
    )


def _known(
    section: Section, key: str, table: Table | None, known: list[str], plural: str
) -> str | None:
    name = section.text(key)
    if name is not None and table is not None and name not in known:
        hint = did_you_mean(name, known, plural)
        section.add(key, f"table '{table.name}' has no {key} '{name}'", hint)
    return name


def _kind(section: Section) -> DefectKind | None:
    word = section.text("kind")
    if word is None:
        return None
    known = {kind.value: kind for kind in DefectKind} | dict(ALIASES)
    if word not in known:
        section.add("kind", f"there is no kind '{word}'", did_you_mean(word, known, "kinds"))
    return known.get(word)
