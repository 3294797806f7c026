# SPDX-License-Identifier: Apache-2.0
"""The `tables:` of a catalog: columns, primary key, checks and changes."""

from collections.abc import Mapping
from dataclasses import replace

from yaml.nodes import Node, ScalarNode, SequenceNode

from scrub.catalog import document, names
from scrub.catalog.changes import read_changes
from scrub.catalog.constraints import (
    constraint_lines,
    read_checks,
    read_unique_keys,
    refuse_shared_names,
)
from scrub.catalog.document import Mistakes, NamedNode, line_of
from scrub.catalog.foreign_keys import read_foreign_keys
from scrub.catalog.indexes import IndexReader
from scrub.catalog.kv import read_kv_table
from scrub.catalog.section import Section
from scrub.catalog.spelling import did_you_mean
from scrub.catalog.table_context import TableContext
from scrub.catalog.time_zones import read_time_zone
from scrub.model.table import UTC, Column, Store, Table
from scrub.model.types import ColumnType, TypeName, parse_type

_KEYS = (
    "store",
    "relation",
    "layout",
    "columns",
    "primary_key",
    "checks",
    "unique",
    "foreign_keys",
    "indexes",
    "time_zone",
    "changes",
)


def read_tables(
    node: Node,
    line: int,
    stores: Mapping[str, Store],
    mistakes: Mistakes,
    time_zone: str = UTC,
) -> dict[str, Table]:
    """All tables by name, including those with mistakes, so that references to them resolve.

    `time_zone` is that of tables which name none.
    """
    found = list(document.named_nodes(node, line, "'tables'", mistakes))
    tables = {entry.name: _read_table(entry, stores, mistakes, time_zone) for entry in found}
    # A foreign key may name a table further down, so these are read when all are known.
    for entry in found:
        tables[entry.name] = replace(
            tables[entry.name],
            foreign_keys=tuple(read_foreign_keys(entry, tables, mistakes)),
            constraint_lines=constraint_lines(entry),
        )
        refuse_shared_names(entry, tables[entry.name], mistakes)
    return tables


def _read_table(
    entry: NamedNode, stores: Mapping[str, Store], mistakes: Mistakes, time_zone: str
) -> Table:
    what = f"table '{entry.name}'"
    if problem := names.problem_of(entry.name):
        mistakes.add(entry.line, f"the name of {what} {problem}")
    if document.peek(entry.value, "layout") == "kv":
        return read_kv_table(entry, stores, mistakes)
    section = Section(entry.value, entry.line, what, _KEYS, mistakes)
    section.choice("layout", ("columns", "kv"))
    section.require("store", did_you_mean("", stores, "stores"))
    columns = _columns(section)
    context = TableContext(
        table=entry.name,
        store=section.text("store") or "",
        columns={column.name: column.type for column in columns},
        stores=stores,
        mistakes=mistakes,
    )
    context.check_store(section)
    context = replace(context, primary_key=_primary_key(section, context))
    return Table(
        name=entry.name,
        store=context.store,
        relation=context.relation(section, default=entry.name, store=context.store),
        columns=tuple(columns),
        primary_key=context.primary_key,
        indexes=tuple(IndexReader(context).read(section)),
        checks=read_checks(section, context.columns),
        unique=tuple(read_unique_keys(section, context.columns)),
        time_zone=read_time_zone(section, time_zone),
        changes=read_changes(section, entry.name, stores.get(context.store)),
        line=entry.line,
    )


def _columns(section: Section) -> list[Column]:
    columns: dict[str, Column] = {}
    if section.require("columns", "list them, e.g. id: {type: bigint, nullable: false}") is None:
        return []
    for entry in section.named_entries("columns", "column"):
        twin = columns.get(entry.name.lower())
        if twin:
            message = f"columns '{twin.name}' and '{entry.name}' differ only in case"
            section.mistakes.add(entry.line, message, "Spark cannot tell them apart; rename one")
            continue
        columns[entry.name.lower()] = _column(entry, section.mistakes)
    if not columns:
        section.add("columns", f"{section.what} has no columns")
    return list(columns.values())


def _column(entry: NamedNode, mistakes: Mistakes) -> Column:
    what = f"column '{entry.name}'"
    column_type = ColumnType(TypeName.STRING)
    if isinstance(entry.value, ScalarNode):
        hint = f"write {entry.name}: {{type: {entry.value.value or 'bigint'}}}"
        mistakes.add(entry.line, f"{what} must be a mapping", hint)
        return Column(name=entry.name, type=column_type)
    section = Section(entry.value, entry.line, what, ("type", "nullable"), mistakes)
    section.require("type", "e.g. type: bigint")
    text = section.text("type")
    if text is not None:
        try:
            column_type = parse_type(text)
        except ValueError as error:
            section.add("type", f"{what}: {error}")
    nullable = section.node("nullable") is None or section.flag("nullable")
    return Column(name=entry.name, type=column_type, nullable=nullable)


def _primary_key(section: Section, context: TableContext) -> tuple[str, ...]:
    node = section.require("primary_key", "name the columns that identify a row: [id]")
    key: dict[str, None] = {}
    for item in section.items("primary_key"):
        name = document.text(item, f"a primary key column of {section.what}", section.mistakes)
        if name is None or not context.knows_column(name, line_of(item)):
            continue
        if name in key:
            message = f"'{name}' comes twice in the primary key"
            section.mistakes.add(line_of(item), message, "name each column once")
        key[name] = None
    if isinstance(node, SequenceNode) and not node.value:
        section.add("primary_key", f"the primary key of {section.what} is empty")
    return tuple(key)
