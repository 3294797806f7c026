# SPDX-License-Identifier: Apache-2.0
"""Values of decoded rows as reports show them, and the primary key by which a row is named.

Whichever check finds something wrong with a row, it names the row in one way. So a defect that two
checks can find is one defect.
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa

from checks.pairs.row_columns import as_decoded, has_any_digits
from scrub.codec.arrow_text import text_of
from scrub.codec.json_values import from_text
from scrub.model.defect import Defect, Value
from scrub.model.kv import DatumKind, KvColumn
from scrub.model.table import Table
from scrub.model.types import TypeName


class RowValues:
    """The values of one table's rows; those of a table of columns are shown as they are."""

    def __init__(self, table: Table) -> None:
        self.table = as_decoded(table)
        self.of_pairs = {} if table.kv is None else {c.name: c for c in table.kv.columns}

    def in_words(self, defect: Defect) -> Defect:
        """A defect that was found in decoded rows, with its values as pairs are shown."""
        if not self.of_pairs:
            return defect
        return replace(
            defect,
            primary_key=self._told(defect.primary_key),
            index_key=self._told(defect.index_key),
            actual=self._told(defect.actual),
        )

    def primary_key(self, key: bytes, value: bytes) -> dict[str, Value] | None:
        """The key of the row that a pair of the primary index is of; None if it cannot be read."""
        from scrub.codec.kv.arrow_rows import arrow_rows
        from scrub.codec.kv.layouts import layout_of

        assert self.table.kv is not None, "only tables in key-value layout come here"
        columns = tuple(map(self.table.column, self.table.primary_key))
        batch = arrow_rows(
            layout_of([self.table.kv]), columns, pa.array([key]), pa.array([value])
        ).batch
        if batch.num_rows != 1:
            return None
        texts = {c.name: text_of(batch.column(c.name)[0], c.type) for c in columns}
        return self._told({c.name: from_text(texts[c.name], c.type) for c in columns})

    def _told(self, values: Mapping[str, Value] | None) -> dict[str, Value] | None:
        if values is None:
            return None
        return {name: self._value(self.of_pairs[name], value) for name, value in values.items()}

    def _value(self, of_pair: KvColumn, value: Value) -> Value:
        from scrub.codec.kv.readable import value_of

        if value is None:
            return None
        if has_any_digits(of_pair):
            return _shortest(str(value))
        of_catalog = self.table.column(of_pair.name).type
        if of_catalog.name is TypeName.BINARY and of_pair.type.kind is not DatumKind.BYTES:
            return value_of(bytes.fromhex(str(value)), of_pair.type, of_catalog)
        return value


def _shortest(text: str) -> str:
    """A decimal without the zeros that only its type gives it."""
    shown = format(Decimal(text), "f")
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
