# SPDX-License-Identifier: Apache-2.0
"""Asks the server for violated constraints at the shared snapshot."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from scrub.codec.arrow_types import to_arrow
from scrub.model.predicate import BOOLEAN, ColumnTerm
from scrub.model.relation import RelationFacts
from scrub.model.types import ColumnType, TypeName
from scrub.stores.constraints import (
    BrokenRules,
    ConstrainedRows,
    Reference,
    RepeatedKeys,
    RowRules,
)
from scrub.stores.postgres.column_types import as_sent
from scrub.stores.postgres.constraints.queries import ConstraintQueries
from scrub.stores.postgres.constraints.stored_rows import READ_STORED_ROWS
from scrub.stores.postgres.pinned import PinnedRelation
from scrub.stores.postgres.resting import Reading, paid_afterwards, rest_needed
from scrub.stores.postgres.sessions import ask, stream
from scrub.stores.postgres.shared_snapshot import SharedSnapshot

_MANY_DIGITS = Context(prec=200_000)  # more than a number of the server can have
_COPIES = {"copies": ColumnType(TypeName.BIGINT)}


@dataclass(frozen=True, slots=True)
class PostgresConstraintReader:
    """Counts by aggregates, so that no row is moved; rows that are named arrive in batches."""

    conninfo: str
    snapshot: SharedSnapshot
    pinned: Mapping[str, PinnedRelation]
    gives_way: bool  # to other sessions, while they write

    def count_broken(self, rows: ConstrainedRows, rules: RowRules) -> BrokenRules:
        all_rows, *broken = self._count(lambda queries: queries.count_broken(rows, rules), rows)
        nulls = len(rules.never_null)
        return BrokenRules(all_rows, tuple(broken[:nulls]), tuple(broken[nulls:]))

    def rows_that_break(
        self,
        rows: ConstrainedRows,
        rules: RowRules,
        beside: Sequence[ColumnTerm] = (),
        limit: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        columns = _types("p", rows.primary_key) | _types("c", beside)
        columns |= {f"n{n}": BOOLEAN for n in range(len(rules.never_null))}
        columns |= {f"f{n}": BOOLEAN for n in range(len(rules.checks))}
        query = self._queries.rows_that_break(rows, rules, beside)
        return self._rows(query, rows, columns, limit)

    def count_shared(self, rows: ConstrainedRows, key: Sequence[ColumnTerm]) -> RepeatedKeys:
        keys, sharing = self._count(lambda queries: queries.count_shared(rows, key), rows)
        return RepeatedKeys(keys, int(sharing))

    def rows_that_share(
        self, rows: ConstrainedRows, key: Sequence[ColumnTerm], limit: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        columns = _types("p", rows.primary_key) | _types("k", key) | _COPIES
        return self._rows(self._queries.rows_that_share(rows, key), rows, columns, limit)

    def count_copied(self, rows: ConstrainedRows) -> RepeatedKeys:
        (keys,) = self._count(lambda queries: queries.count_copied(rows), rows)
        return RepeatedKeys(keys, keys)

    def primary_keys_copied(
        self, rows: ConstrainedRows, limit: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        columns = _types("p", rows.primary_key) | _COPIES
        return self._rows(self._queries.primary_keys_copied(rows), rows, columns, limit)

    def count_without_parent(self, reference: Reference) -> int:
        (rows,) = self._count(
            lambda queries: queries.count_without_parent(reference),
            reference.rows,
            reference.parent,
        )
        return int(rows)

    def rows_without_parent(
        self, reference: Reference, limit: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        rows = reference.rows
        columns = _types("p", rows.primary_key) | _types("k", reference.key)
        return self._rows(self._queries.rows_without_parent(reference), rows, columns, limit)

    @property
    def _queries(self) -> ConstraintQueries:
        return ConstraintQueries(self.pinned)

    def _count(
        self,
        question: Callable[[ConstraintQueries], str],
        rows: ConstrainedRows,
        parent: RelationFacts | None = None,
    ) -> Sequence[Any]:
        reading = Reading.of(rows.facts, *([parent] if parent else []))
        rest = rest_needed(reading.row_bytes, self.gives_way)
        gentler = question(ConstraintQueries(self.pinned, rest)) if rest else None
        query = question(self._queries)
        with paid_afterwards(reading):
            return ask(self.conninfo, self.snapshot, query, gentler, READ_STORED_ROWS)

    def _rows(
        self,
        query: str,
        rows: ConstrainedRows,
        columns: Mapping[str, ColumnType],
        limit: int | None,
    ) -> Iterator[pa.RecordBatch]:
        """What the query gives; with a limit, the rows with the lowest primary keys."""
        values = [f"{as_sent(f's.{name}', of)} AS {name}" for name, of in columns.items()]
        sent = f"SELECT {', '.join(values)} FROM ({query}) AS s"
        if limit is not None:
            order = [f"s.p{n} NULLS FIRST" for n in range(len(rows.primary_key))]
            order += [f"s.{name}" for name in columns if name.startswith("k")]
            sent += f" ORDER BY {', '.join(order)} LIMIT {int(limit)}"
        schema = pa.schema([(name, _sent_type(of)) for name, of in columns.items()])
        with paid_afterwards(Reading.of(rows.facts)):
            found = stream(self.conninfo, self.snapshot, sent, schema, READ_STORED_ROWS)
            for batch in found:
                yield pa.RecordBatch.from_arrays(
                    [_in_scale(batch.column(name), of) for name, of in columns.items()],
                    names=list(columns),
                )


def _sent_type(of: ColumnType) -> pa.DataType:
    """Decimals as text: the server has some that no decimal of Arrow can hold, NaN among them."""
    return pa.string() if of.name is TypeName.DECIMAL else to_arrow(of)


def _in_scale(array: Any, of: ColumnType) -> Any:
    """Decimals with as many digits as the catalog says; what is more or none stays as it is."""
    if of.name is not TypeName.DECIMAL:
        return array
    unit = Decimal(1).scaleb(-of.scale)
    texts = [None if text is None else _rounded(text, unit) for text in array.to_pylist()]
    return pa.array(texts, pa.string())


def _rounded(text: str, unit: Decimal) -> str:
    value = Decimal(text)
    if not value.is_finite():
        return text
    rounded = value.quantize(unit, context=_MANY_DIGITS)
    return format(rounded, "f") if rounded == value else text


def _types(letter: str, terms: Sequence[ColumnTerm]) -> dict[str, ColumnType]:
    return {f"{letter}{n}": term.type for n, term in enumerate(terms)}
