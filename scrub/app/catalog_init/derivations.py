# SPDX-License-Identifier: Apache-2.0
"""How a column of an index could be computed from a row: a short list, tried on a sample.

An expression is offered only if it gives the index's value for every row that both samples have.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from scrub.app.catalog_init.discovery import FoundRelation
from scrub.catalog.bad_expression import BadExpression
from scrub.catalog.expressions import columns_used
from scrub.model.table import Column
from scrub.model.types import INTEGERS, ColumnType, TypeName
from scrub.stores.postgres.quoting import identifier

MATCHES_MIN = 5
_VALUES_MIN = 2  # a constant follows from anything
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TEXT = (TypeName.STRING,)
_TIMES = (TypeName.TIMESTAMP, TypeName.TIMESTAMP_NTZ)
_DATE = (TypeName.DATE,)


class Derivation(NamedTuple):
    """An expression over one column of the table."""

    expression: str
    column: str


class _Form(NamedTuple):
    """One way to compute a column: in both dialects, and in Arrow; {c} is the column."""

    spark: str
    postgres: str
    takes: tuple[TypeName, ...]
    gives: tuple[TypeName, ...]
    compute: Callable[[Any], Any]


def _floor(unit: str) -> Callable[[Any], Any]:
    return lambda values: pc.floor_temporal(values, unit=unit)


def _first(characters: int) -> Callable[[Any], Any]:
    return lambda values: pc.utf8_slice_codeunits(values, 0, characters)


_FORMS = (
    _Form("lower({c})", "lower({c})", _TEXT, _TEXT, pc.utf8_lower),
    _Form("upper({c})", "upper({c})", _TEXT, _TEXT, pc.utf8_upper),
    _Form("trim({c})", "btrim({c})", _TEXT, _TEXT, lambda v: pc.utf8_trim(v, " ")),
    _Form("to_date({c})", "{c}::date", _TIMES, _DATE, lambda v: _floor("day")(v).cast(pa.date32())),
    *(
        _Form(f"date_trunc('{unit.upper()}', {{c}})", f"date_trunc('{unit}', {{c}})", _TIMES,
              _TIMES, _floor(unit))
        for unit in ("hour", "day", "month", "year")
    ),
    _Form("trunc({c}, 'MM')", "date_trunc('month', {c}::timestamp)::date", _DATE, _DATE,
          _floor("month")),
    _Form("date_format({c}, 'yyyy-MM')", "to_char({c}::timestamp, 'YYYY-MM')", (*_TIMES, *_DATE),
          _TEXT, lambda v: pc.strftime(v, format="%Y-%m")),
    _Form("year({c})", "extract(year FROM {c})::int", (*_TIMES, *_DATE), INTEGERS, pc.year),
    _Form("substring({c}, 1, 7)", "substr({c}, 1, 7)", _TEXT, _TEXT, _first(7)),
    _Form("substring({c}, 1, 10)", "substr({c}, 1, 10)", _TEXT, _TEXT, _first(10)),
    _Form("CAST({c} AS STRING)", "{c}::text", INTEGERS, _TEXT, lambda v: v.cast(pa.string())),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Matched:
    """The rows of a table and the entries of a relation that have the same primary key."""

    rows: pa.Table
    entries: pa.Table
    dialect: str

    @classmethod
    def of(
        cls, table: FoundRelation, relation: FoundRelation, key: Sequence[str], dialect: str
    ) -> "Matched":
        if not (table.sample.num_rows and relation.sample.num_rows):
            return cls(pa.table({}), pa.table({}), dialect)
        places = {values: place for place, values in enumerate(rows_of(table.sample, key))}
        pairs = [
            (places[values], place)
            for place, values in enumerate(rows_of(relation.sample, key))
            if values in places
        ]
        of_rows, of_entries = ([pair[side] for pair in pairs] for side in (0, 1))
        return cls(
            table.sample.take(pa.array(of_rows, pa.int64())),
            relation.sample.take(pa.array(of_entries, pa.int64())),
            dialect,
        )

    def differs_mostly(self, name: str) -> bool:
        """Whether a column that both have is another one in most rows looked at."""
        if self.rows.num_rows < MATCHES_MIN:
            return False
        values = zip(
            self.rows.column(name).to_pylist(), self.entries.column(name).to_pylist(), strict=True
        )
        return bool(2 * sum(row == entry for row, entry in values) < self.rows.num_rows)

    def explain(self, wanted: Column, columns: Sequence[Column]) -> Derivation | None:
        """How the wanted column follows from one of the table's; None if nothing fits."""
        if self.rows.num_rows < MATCHES_MIN:
            return None
        values = self.entries.column(wanted.name).to_pylist()
        if len({value for value in values if value is not None}) < _VALUES_MIN:
            return None
        # The index's name for it often says which column it is made from.
        likeliest = sorted(columns, key=lambda c: c.name.lower() not in wanted.name.lower())
        for column in likeliest:
            for expression, computed in self._computed(column, wanted.type):
                if computed == values:
                    return Derivation(expression, column.name)
        return None

    def _computed(self, column: Column, wanted: ColumnType) -> Iterator[tuple[str, list[Any]]]:
        array = self.rows.column(column.name)
        name = self._quoted(column.name)
        if column.type == wanted:
            yield name, array.to_pylist()
        for form in _FORMS:
            if column.type.name not in form.takes or wanted.name not in form.gives:
                continue
            if wanted.name in _TIMES and wanted != column.type:
                continue
            try:
                computed = form.compute(array).to_pylist()
            except pa.ArrowException:
                continue  # a value that the form does not take
            text = form.spark
            if self.dialect == "postgres":
                text = form.postgres
                if column.type.name is TypeName.TIMESTAMP:
                    yield _in_utc(text, name, wanted), computed
                    continue
            yield text.format(c=name), computed

    def _quoted(self, name: str) -> str:
        if self.dialect == "postgres":
            return identifier(name)
        return name if _is_plain(name) else "`" + name.replace("`", "``") + "`"


def _is_plain(name: str) -> bool:
    """Whether a name means the column without quotes: `on` and `order` do not."""
    try:
        return bool(_PLAIN.fullmatch(name)) and columns_used(f"lower({name})", [name]) == (name,)
    except BadExpression:
        return False


def _in_utc(text: str, name: str, wanted: ColumnType) -> str:
    """An instant's parts depend on a zone, so it is named."""
    computed = text.format(c=f"({name} AT TIME ZONE 'UTC')")
    return f"({computed}) AT TIME ZONE 'UTC'" if wanted.name is TypeName.TIMESTAMP else computed


def rows_of(sample: pa.Table, names: Sequence[str]) -> Iterator[tuple[object, ...]]:
    """Some columns of a sample, row by row."""
    return zip(*(sample.column(name).to_pylist() for name in names), strict=True)
