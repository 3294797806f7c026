# SPDX-License-Identifier: Apache-2.0
"""The columns of an index entry: a name, `{column, order}`, or `{expr, as, order, type}`."""

from yaml.nodes import MappingNode, Node

from scrub.catalog import document, names
from scrub.catalog.bad_expression import BadExpression
from scrub.catalog.document import line_of
from scrub.catalog.expressions import check_expression
from scrub.catalog.placeholders import EXPRESSION_HINT, FILL_IN
from scrub.catalog.section import Section
from scrub.catalog.table_context import TableContext
from scrub.model.table import EntryColumn
from scrub.model.types import ColumnType, parse_type


class EntryColumnReader:
    """Reads the columns of one index, and rejects two columns of the same name."""

    def __init__(self, context: TableContext, index: str, dialect: str = "spark") -> None:
        self._context = context
        self._dialect = dialect
        self._mistakes = context.mistakes
        self._index = index
        self._taken: set[str] = set()

    def indexed(self, node: Node) -> EntryColumn | None:
        """A column of the index key; None if it is a mistake."""
        if not isinstance(node, MappingNode):
            return self._plain(node)
        what = f"a column of {self._index}"
        if document.child_of(node, "expr") is not None:
            keys: tuple[str, ...] = ("expr", "as", "order", "type")
            section = Section(node, line_of(node), what, keys, self._mistakes)
            return self._expression(section, descending=_descending(section))
        section = Section(node, line_of(node), what, ("column", "order"), self._mistakes)
        named = section.require("column", "write {column: NAME} or {expr: ..., as: NAME}")
        descending = _descending(section)
        return None if named is None else self._plain(named, descending=descending)

    def stored(self, node: Node) -> EntryColumn | None:
        """A column beside the key; None if it is a mistake."""
        if not isinstance(node, MappingNode):
            return self._plain(node)
        what = f"a stored column of {self._index}"
        section = Section(node, line_of(node), what, ("expr", "as", "type"), self._mistakes)
        section.require("expr", "write the column's name, or {expr: ..., as: NAME}")
        return self._expression(section)

    def primary(self, name: str, line: int) -> EntryColumn:
        """A primary key column that the index key does not contain."""
        self._claim(name, line, "it is a primary key column: use another name in `as`")
        return EntryColumn(name=name, source=name, type=self._context.columns[name])

    def _plain(self, node: Node, *, descending: bool = False) -> EntryColumn | None:
        name = document.text(node, f"a column of {self._index}", self._mistakes)
        if name is None or not self._context.knows_column(name, line_of(node)):
            return None
        hint = "name each column once"
        if name in self._context.primary_key:
            hint = "primary key columns are part of every entry; leave it out here"
        self._claim(name, line_of(node), hint)
        column_type = self._context.columns[name]
        return EntryColumn(name=name, source=name, type=column_type, descending=descending)

    def _expression(self, section: Section, *, descending: bool = False) -> EntryColumn | None:
        section.require("as", "say what the index calls it: as: NAME")
        name, source = section.text("as"), section.text("expr")
        column_type = _declared_type(section)
        if self._dialect != "spark":
            section.require("type", "say of which type it is, e.g. type: string")
        if source == FILL_IN:
            message = f"fill in how '{name}' of {self._index} is computed from the row"
            section.add("expr", message, EXPRESSION_HINT.format(name=name))
        elif source is not None:
            try:
                check_expression(source, self._context.columns, self._dialect)
            except BadExpression as error:
                section.add("expr", f"'expr' of {section.what} {error}", error.hint)
        if name is None or source is None:
            return None
        if problem := names.problem_of(name):
            section.add("as", f"the name of column '{name}' {problem}")
        self._claim(name, section.line_of("as"))
        return EntryColumn(
            name=name, source=source, is_expression=True, type=column_type, descending=descending
        )

    def _claim(self, name: str, line: int, hint: str = "use another name in `as`") -> None:
        """Record a mistake if the entry has a column of this name; Spark ignores case."""
        if name.lower() in self._taken:
            self._mistakes.add(line, f"{self._index} has two columns named '{name}'", hint)
        self._taken.add(name.lower())


def _descending(section: Section) -> bool:
    return section.choice("order", ("asc", "desc")) == "desc"


def _declared_type(section: Section) -> ColumnType | None:
    text = section.text("type")
    if text is None:
        return None
    try:
        return parse_type(text)
    except ValueError as error:
        section.add("type", f"{section.what}: {error}")
        return None
