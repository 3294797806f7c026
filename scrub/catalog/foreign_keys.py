# SPDX-License-Identifier: Apache-2.0
"""The `foreign_keys:` of a table."""

from collections.abc import Mapping, Sequence

from scrub.catalog import document
from scrub.catalog.constraints import read_key_columns
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
    items = section.items("columns")
    columns = read_key_columns(items, what, list(table.types), section.mistakes)
    references = section.text("references")
    if references is not None and references not in tables:
        hint = did_you_mean(references, tables, "tables")
        section.add("references", f"{what} refers to an unknown table '{references}'", hint)
    elif references is not None and columns:
        wanted = tables[references].primary_key
        if not wanted:
            pass  # a parent without a key is a mistake of its own
        elif len(columns) != len(wanted):
            message = f"{what} has {len(columns)} columns, the key of {references} {len(wanted)}"
            section.add("columns", message, f"that key is [{', '.join(wanted)}]")
        else:
            _refuse_other_types(section, table, columns, tables[references])
    return ForeignKey(name=entry.name, columns=columns, references=references or "")


def _refuse_other_types(
    section: Section, table: Table, columns: Sequence[str], parent: Table
) -> None:
    """A value refers to a key only if both have one type; integers may differ in width."""
    for name, of_parent in zip(columns, parent.primary_key, strict=True):
        if name not in table.types or of_parent not in parent.types:
            continue
        own, wanted = table.types[name], parent.types[of_parent]
        if own != wanted and not (own.is_integer and wanted.is_integer):
            section.add(
                "columns",
                f"{section.what}: column '{name}' is {own}, the key column "
                f"'{of_parent}' of {parent.name} is {wanted}",
                "give both the same type; integers may differ in width",
            )
