# SPDX-License-Identifier: Apache-2.0
"""Whether an expression depends on more than its row: on the time zone, or on the language.

Both answers are conservative: an expression that might depend counts as dependent. They decide what
a report mentions, and what is refused if a session cannot use the required zone or casing.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from scrub.model.table import Index, Table
from scrub.model.types import ColumnType, TypeName

if TYPE_CHECKING:
    from sqlglot.expressions import Expr  # what older versions call Expression


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Types and functions that go from instants to wall clocks, or back, whatever they are given.
_ZONED = _words(
    """convert_timezone current_timezone date_trunc from_csv from_json from_unixtime
    from_utc_timestamp from_xml make_timestamp make_timestamp_ltz make_timestamptz sequence
    session_window timestamp timestamp_ltz timestamp_micros timestamp_millis timestamp_seconds
    timestampadd timestampdiff timestamptz to_timestamp to_timestamp_ltz to_unix_timestamp
    to_utc_timestamp try_make_timestamp try_make_timestamp_ltz try_to_timestamp unix_timestamp
    variant_get window"""
)
# Those that do so when they are given text.
_ZONED_FOR_TEXT = _words(
    """date_format date_part datepart extract hour minute months_between second to_char to_csv
    to_json to_varchar to_xml"""
)
_READS_DATES = _words("to_date try_to_date")
_ZONE_IN_FORMAT = re.compile("[VzOXxZ]")
_CASED = _words("ilike initcap lcase lower ucase upper")
# An interval as text has the names of its units in capitals, as the language writes them.
_INTERVAL_AS_TEXT = (_words("interval"), _words("string varchar char concat"))
# Whatever these make of an instant, they make it in every zone.
_KEEPS_INSTANTS = _words("unix_micros unix_millis unix_seconds unixmicros unixmillis unixseconds")


def depends_on_zone(text: str, columns: Mapping[str, ColumnType], dialect: str = "spark") -> bool:
    """Whether the value may differ from one time zone to the next."""
    from sqlglot import exp

    from scrub.catalog.bad_expression import BadExpression
    from scrub.catalog.sql import parse

    words, literals = _tokens(text, dialect)
    if words & _ZONED or (words & _READS_DATES and any(map(_ZONE_IN_FORMAT.search, literals))):
        return True
    try:
        tree = parse(text, dialect)
    except BadExpression:
        return True
    types = {name.lower(): column_type.name for name, column_type in columns.items()}
    used = [(column, types.get(column.name.lower())) for column in tree.find_all(exp.Column)]
    if words & _ZONED_FOR_TEXT and any(name in (TypeName.STRING, None) for _, name in used):
        return True
    instants = {id(column) for column, name in used if name is TypeName.TIMESTAMP}
    return any(not _is_kept(column, instants) for column, _ in used if id(column) in instants)


def depends_on_casing(text: str, dialect: str = "spark") -> bool:
    """Whether the value may differ from one language to the next."""
    words, _ = _tokens(text, dialect)
    interval, as_text = _INTERVAL_AS_TEXT
    return bool(words & _CASED) or bool(words & interval and words & as_text)


def zoned_expressions(table: Table, index: Index) -> bool:
    """Whether an expression of the index, or one that the database computes for it, is zoned."""
    computed = (depends_on_zone(text, table.types, "postgres") for text in _computed(table, index))
    return _any_zoned(table, index, index.dialect) or any(computed)


def zoned_in_spark(table: Table, index: Index) -> bool:
    """Whether what Spark makes of a row for the index depends on the zone of its session."""
    return index.dialect == "spark" and _any_zoned(table, index, "spark")


def _any_zoned(table: Table, index: Index, dialect: str) -> bool:
    return any(depends_on_zone(text, table.types, dialect) for text in index.expressions)


def cased_expressions(index: Index) -> bool:
    """Whether the case of letters matters for what Spark makes of a row for the index."""
    return index.dialect == "spark" and any(map(depends_on_casing, index.expressions))


def _computed(table: Table, index: Index) -> Iterable[str]:
    sources = {column.source for column in index.entry} | {(index.where or "").strip("`")}
    return (c.computed for c in table.columns if c.computed is not None and c.name in sources)


def _tokens(text: str, dialect: str) -> tuple[frozenset[str], list[str]]:
    """The words of a text that are no literals, in lower case; and its string literals."""
    import sqlglot
    from sqlglot import TokenType
    from sqlglot.errors import SqlglotError

    try:
        tokens = list(sqlglot.tokenize(text, dialect=dialect))
    except SqlglotError:
        return frozenset(re.findall(r"\w+", text.lower())), [text]
    literals = [token.text for token in tokens if token.token_type is TokenType.STRING]
    words = (token.text for token in tokens if token.token_type is not TokenType.STRING)
    return frozenset(part for word in words for part in word.lower().split()), literals


def _is_kept(column: "Expr", instants: set[int]) -> bool:
    """Whether an instant is only compared with another instant or tested for NULL."""
    from sqlglot import exp

    child, parent = column, column.parent
    while isinstance(parent, exp.Paren):
        child, parent = parent, parent.parent
    match parent:
        case None:
            return True
        case exp.Is():
            return isinstance(parent.expression, exp.Null)
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE() | exp.NullSafeEQ():
            return all(id(side.unnest()) in instants for side in (parent.left, parent.right))
        case exp.AtTimeZone():
            return parent.this is child
        case exp.Anonymous():
            return parent.name.lower() in (*_KEEPS_INSTANTS, "timezone")
    return parent.key in _KEEPS_INSTANTS
