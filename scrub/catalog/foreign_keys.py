# SPDX-License-Identifier: Apache-2.0
"""The `foreign_keys:` of a table."""

from collections.abc import Mapping

from scrub.catalog import document
from scrub.catalog.document import Mistakes, NamedNode, line_of
from scrub.catalog.section import Section
from scrub.catalog.spelling import did_you_mean
from scrub.model.table import ForeignKey, Table


def read_foreign_keys(
    table: NamedNode, tables: Mapping[str, Table], mistakes: Mistakes
) -> list[ForeignKey]:
    """The foreign keys of one table, read after all tables."""
    node = document.child_of(table.value, "foreign_keys")
    if node is None or not tables[table.name].columns:
        return []
    what = f"'foreign_keys' of table '{table.name}'"
    return [
        _foreign_key(entry, tables[table.name], tables, mistakes)
        for entry in document.named_nodes(node, line_of(node), what, mistakes)
    ]


def _foreign_key(
    entry: NamedNode, table: Table, tables: Mapping[str, Table], mistakes: Mistakes
) -> ForeignKey:
    what = f"foreign key '{entry.name}'"
    section = Section(entry.value, entry.line, what, ("columns", "references"), mistakes)
    section.require("columns", "name the columns that refer: [customer_id]")
    section.require("references", "name the table referred to")
    columns = _columns(section, list(table.types))
    references = section.text("references")
    if references is not None and references not in tables:
        hint = did_you_mean(references, tables, "tables")
        section.add("references", f"{what} refers to an unknown table '{references}'", hint)
    elif references is not None and columns:
        wanted = tables[references].primary_key
        if wanted and len(columns) != len(wanted):
            message = f"{what} has {len(columns)} columns, the key of {references} {len(wanted)}"
            section.add("columns", message, f"that key is [{', '.join(wanted)}]")
    return ForeignKey(name=entry.name, columns=columns, references=references or "")


def _columns(section: Section, known: list[str]) -> tuple[str, ...]:
    columns = []
    for item in section.items("columns"):
        name = document.text(item, f"a column of {section.what}", section.mistakes)
        if name is not None and name not in known:
            message = f"{section.what} uses an unknown column '{name}'"
            section.mistakes.add(line_of(item), message, did_you_mean(name, known, "columns"))
        elif name is not None and name in columns:
            message = f"'{name}' comes twice in the columns of {section.what}"
            section.mistakes.add(line_of(item), message, "name each column once")
        columns.append(name or "")
    return tuple(columns)
