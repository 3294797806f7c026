# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL's types and ours: what a column holds, and how a query hands it over.

A column is read as the catalog's type, so that both sides of a comparison are of one type, however
each of them is stored. Numbers without a fixed scale are compared as text, in the one spelling that
has no zeros at the end.
"""

from dataclasses import dataclass

from scrub.model.types import ColumnType, TypeName
from scrub.stores.postgres.quoting import identifier

_SIMPLE = {
    "bool": TypeName.BOOLEAN,
    "int2": TypeName.SMALLINT,
    "int4": TypeName.INT,
    "int8": TypeName.BIGINT,
    "oid": TypeName.BIGINT,
    "float4": TypeName.FLOAT,
    "float8": TypeName.DOUBLE,
    "text": TypeName.STRING,
    "varchar": TypeName.STRING,
    "bpchar": TypeName.STRING,
    "char": TypeName.STRING,
    "name": TypeName.STRING,
    "citext": TypeName.STRING,
    "uuid": TypeName.STRING,
    "bytea": TypeName.BINARY,
    "date": TypeName.DATE,
    "timestamptz": TypeName.TIMESTAMP,
    "timestamp": TypeName.TIMESTAMP_NTZ,
}
# What the server calls ours in its catalogs, and how SQL writes it: words of SQL's own, such as
# bigint, mean the server's types in any path; the others are qualified.
_SERVER_TYPES = {
    TypeName.BOOLEAN: ("bool", "boolean"),
    TypeName.TINYINT: ("int2", "smallint"),
    TypeName.SMALLINT: ("int2", "smallint"),
    TypeName.INT: ("int4", "integer"),
    TypeName.BIGINT: ("int8", "bigint"),
    TypeName.FLOAT: ("float4", "real"),
    TypeName.DOUBLE: ("float8", "double precision"),
    TypeName.STRING: ("text", "pg_catalog.text"),
    TypeName.BINARY: ("bytea", "pg_catalog.bytea"),
    TypeName.DATE: ("date", "pg_catalog.date"),
    TypeName.TIMESTAMP: ("timestamptz", "timestamp with time zone"),
    TypeName.TIMESTAMP_NTZ: ("timestamp", "timestamp without time zone"),
}
_DECIMAL_DIGITS_MAX = 38


@dataclass(frozen=True, slots=True)
class ServerColumn:
    """A column as the server describes it.

    `base` is the type behind a domain, and has its schema before it unless it is PostgreSQL's own
    (or citext): a type that only has the name of another is not that type.
    """

    name: str
    base: str
    shown: str  # as people write it: character varying(20)
    modifier: int
    is_enum: bool
    is_deterministic: bool  # whether equal strings are the same string
    not_null: bool
    readable: bool

    @property
    def type(self) -> ColumnType | None:
        """What it is compared as; None for what cannot be."""
        if self.is_enum:
            return ColumnType(TypeName.STRING)
        if self.base == "numeric":
            return _numeric(self.modifier)
        name = _SIMPLE.get(self.base)
        if name is TypeName.STRING and not self.is_deterministic:
            return None
        return ColumnType(name) if name else None

    def read_as(self, wanted: ColumnType | None) -> ColumnType | None:
        """The same where the catalog expects a type: a number of any scale may be its decimal.

        So are the columns of an index that a build made, since those of the table may be widened.
        """
        if wanted is not None and wanted.name is TypeName.DECIMAL and self.has_any_scale:
            return wanted
        return self.type

    @property
    def has_any_scale(self) -> bool:
        return self.base == "numeric" and self.modifier < 0

    @property
    def refusal(self) -> str:
        """Why it cannot be compared."""
        if self.base in _SIMPLE and not self.is_deterministic:
            return "has a non-deterministic collation: different strings count as equal there"
        if self.shown.endswith("[]"):
            return f"is an array ({self.shown})"
        return f"is of type {self.shown}"


def _numeric(modifier: int) -> ColumnType:
    if modifier < 0:
        return ColumnType(TypeName.STRING)  # any scale: see `value_of`
    precision, scale = ((modifier - 4) >> 16) & 0xFFFF, (modifier - 4) & 0x7FF
    scale = scale - 0x800 if scale & 0x400 else scale
    if scale < 0 or scale > precision or precision > _DECIMAL_DIGITS_MAX:
        return ColumnType(TypeName.STRING)
    return ColumnType(TypeName.DECIMAL, precision, scale)


def sql_type(wanted: ColumnType) -> str:
    """The server's type for one of ours."""
    if wanted.name is TypeName.DECIMAL:
        return f"numeric({wanted.precision},{wanted.scale})"
    return _SERVER_TYPES[wanted.name][1]


def value_of(column: ServerColumn, wanted: ColumnType) -> str:
    """The column as an expression of the wanted type, in which equal values are equal."""
    name = identifier(column.name)
    if column.is_enum:
        # Not by a cast: its owner may have made one, which would call a function of his.
        return f"pg_catalog.textin(pg_catalog.enum_out({name}))"
    if column.base == "numeric" and wanted.name is TypeName.STRING:
        return f"pg_catalog.trim_scale({name})::pg_catalog.text"
    if column.has_any_scale and wanted.name is TypeName.DECIMAL:
        return name  # a cast would round, and call equal what is not
    if wanted.name is not TypeName.DECIMAL and column.base == _SERVER_TYPES[wanted.name][0]:
        return name
    return f"{name}::{sql_type(wanted)}"


def value_in(alias: str, column: ServerColumn, wanted: ColumnType) -> str:
    """The same of a row of that alias."""
    name = identifier(column.name)
    return value_of(column, wanted).replace(name, f"{alias}.{name}", 1)


def as_sent(expression: str, wanted: ColumnType) -> str:
    """The expression such that the driver hands it over unharmed: it has no decimals."""
    return f"({expression})::pg_catalog.text" if wanted.name is TypeName.DECIMAL else expression


def output_text(value: str, of_type: str) -> str:
    """A value as text that its type's input function reads; NULL if it is NULL.

    Not by a cast, unless of the server's own types, which are written without a schema: whoever
    owns a type can make a cast to text, which calls his function.
    """
    if "." not in of_type:
        return f"{value}::pg_catalog.text"
    # IS NULL would be true of a row of NULLs.
    is_there = f"pg_catalog.num_nulls({value}) OPERATOR(pg_catalog.=) 0"
    return f"CASE WHEN {is_there} THEN pg_catalog.concat({value}) END"
