# SPDX-License-Identifier: Apache-2.0
"""The `indexes:` of a table: which rows each covers and what entry a row has there."""

from collections.abc import Iterator

from yaml.nodes import Node, SequenceNode

from scrub.catalog.bad_expression import BadExpression
from scrub.catalog.document import NamedNode
from scrub.catalog.entry_columns import EntryColumnReader
from scrub.catalog.expressions import check_condition, check_expression
from scrub.catalog.placeholders import CONDITION_HINT, FILL_IN
from scrub.catalog.reflects import read_reflects
from scrub.catalog.section import Section
from scrub.catalog.table_context import TableContext
from scrub.model.table import Index, Nulls

_KEYS = (
    "columns",
    "storing",
    "where",
    "unique",
    "nulls",
    "store",
    "relation",
    "reflects",
    "dialect",
    "own",
    "native",
)


class IndexReader:
    """Reads the indexes of one table."""

    def __init__(self, context: TableContext) -> None:
        self._context = context
        self._mistakes = context.mistakes

    def read(self, table: Section) -> Iterator[Index]:
        return map(self._index, table.named_entries("indexes", "index"))

    def _index(self, entry: NamedNode) -> Index:
        section = Section(entry.value, entry.line, f"index '{entry.name}'", _KEYS, self._mistakes)
        if self._is_own(section):
            return self._own(entry, section)
        dialect = self._dialect(section)
        self._context.check_store(section)
        section.require("columns", "name the indexed columns: [customer_id]")
        columns = EntryColumnReader(self._context, section.what, dialect)
        key = [column for item in self._some(section) if (column := columns.indexed(item))]
        indexed = {column.name for column in key if not column.is_expression}
        suffix = [
            columns.primary(name, entry.line)
            for name in self._context.primary_key
            if name not in indexed
        ]
        stored = [column for item in section.items("storing") if (column := columns.stored(item))]
        store = section.text("store") or self._context.store
        default = f"{self._context.table}__{entry.name}"
        return Index(
            name=entry.name,
            store=store,
            relation=self._context.relation(section, default=default, store=store),
            key=tuple(key),
            suffix=tuple(suffix),
            stored=tuple(stored),
            unique=section.flag("unique"),
            where=self._where(section, dialect),
            nulls=Nulls(section.choice("nulls", [*Nulls]) or Nulls.KEEP),
            reflects=read_reflects(section),
            dialect=dialect,
            line=entry.line,
        )

    @staticmethod
    def _is_own(section: Section) -> bool:
        """Whether the index is the database's own; `native` is the older spelling of `own`."""
        if section.node("own") is not None and section.node("native") is not None:
            message = f"{section.what} has both 'own' and 'native'"
            section.add("native", message, "keep `own`; `native` is its older spelling")
        return section.flag("own") or section.flag("native")

    def _own(self, entry: NamedNode, section: Section) -> Index:
        """An index that the database maintains; its columns are declared for readers only."""
        written = "own" if section.flag("own") else "native"
        store = self._context.stores.get(self._context.store)
        if store is not None and store.kind != "postgres":
            message = f"{section.what} is the database's own, but its table is not in PostgreSQL"
            hint = f"leave `{written}` out, or put the table into its store"
            section.add(written, message, hint)
        for key in ("store", "reflects", "nulls"):
            if section.node(key) is not None:
                message = f"{section.what} is the database's own, so '{key}' means nothing for it"
                section.add(key, message)
        return Index(
            name=entry.name,
            store=self._context.store,
            relation=section.text("relation") or entry.name,
            key=(),
            suffix=(),
            unique=section.flag("unique"),
            is_own=True,
            line=entry.line,
        )

    def _dialect(self, section: Section) -> str:
        dialect = section.choice("dialect", ("spark", "postgres")) or "spark"
        store = self._context.stores.get(self._context.store)
        if dialect == "postgres" and store is not None and store.kind != "postgres":
            message = f"{section.what} is in PostgreSQL's dialect, but its table is elsewhere"
            section.add("dialect", message, "write Spark SQL and leave `dialect` out")
            return "spark"
        return dialect

    def _some(self, section: Section) -> list[Node]:
        items = section.items("columns")
        if isinstance(section.node("columns"), SequenceNode) and not items:
            section.add("columns", f"{section.what} has no indexed columns")
        return items

    def _where(self, section: Section, dialect: str) -> str | None:
        where = section.text("where")
        if where == FILL_IN:
            section.add("where", f"fill in which rows {section.what} covers", CONDITION_HINT)
        elif where is not None:
            try:
                if dialect == "spark":
                    check_condition(where, self._context.columns)
                else:
                    check_expression(where, self._context.columns, dialect)
            except BadExpression as error:
                section.add("where", f"'where' of {section.what} {error}", error.hint)
        return where
