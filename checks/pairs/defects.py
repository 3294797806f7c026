# SPDX-License-Identifier: Apache-2.0
"""What was found in pairs, in the words of the model: bytes, and columns where they can be read."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import Row

from checks.named_defects import HeldDefect
from checks.pairs.keys import prefixes_of
from checks.pairs.order import OUT_OF_ORDER
from checks.pairs.report import IS_NULL, IS_UNFIT
from checks.pairs.row_values import RowValues
from checks.pairs.table import PairTable
from scrub.codec.json_values import key_value
from scrub.codec.kv.faults import Code
from scrub.codec.kv.layouts import layout_of
from scrub.codec.kv.pairs import COMPOSITE, INVALID, MISSING, NONCANONICAL, UNEXPECTED
from scrub.codec.kv.readable import columns_of, key_columns_of, with_checksum_unset
from scrub.model.constraint import NOT_NULL, PRIMARY_KEY
from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.table import Index

KINDS = {
    UNEXPECTED: DefectKind.UNEXPECTED_KEY,
    INVALID: DefectKind.INVALID_ENCODING,
    COMPOSITE: DefectKind.INVALID_COMPOSITE,
    NONCANONICAL: DefectKind.NONCANONICAL,
    MISSING: DefectKind.MISSING_FAMILY,
    OUT_OF_ORDER: DefectKind.KEY_ORDER,
    IS_NULL: DefectKind.NULL_VIOLATION,
    IS_UNFIT: DefectKind.INVALID_ENCODING,
}
_SHOWN_MAX = 200


class PairDefects:
    """Defects of one table."""

    def __init__(self, table: PairTable) -> None:
        self.table = table
        self.layout = layout_of([table.kv])
        self.rows = RowValues(table.table)

    def of_pair(self, shown: Mapping[str, Any]) -> Defect:
        """A pair, or a value in one, that a task reported."""
        is_misplaced = shown["verdict"] == OUT_OF_ORDER
        name = self._index_of(shown["key"]) if is_misplaced else shown["index"]
        columns = self._columns(name, shown["key"], shown["value"] or "")
        defect = self._defect(
            KINDS[shown["verdict"]], name, columns, key_hex=shown["key"], value_hex=shown["value"]
        )
        if is_misplaced:
            return replace(defect, detail=_misplaced(shown))
        if "slot" not in shown:
            return replace(defect, detail=_wrong_byte(shown))
        column = self.table.kv.columns[shown["slot"]].name
        detail = self._wrong_value(column, Code(shown["code"]), columns.get(column))
        told = replace(defect, column=column, detail=detail)
        is_of_row = defect.kind is DefectKind.NULL_VIOLATION and name is None
        return self._of_row(told, NOT_NULL) if is_of_row else told

    def of_copies(self, row: Row) -> Defect:
        """A key that is there more than once, as COPIES_SCHEMA."""
        name = self.layout.names[row["index"]]
        key, value = bytes(row["key"]).hex(), bytes(row["value"]).hex()
        columns = self._columns(name, key, value)
        kind = DefectKind.DUPLICATE_KEY if name is None else DefectKind.DUPLICATE_ENTRY
        found = self._defect(kind, name, columns, key_hex=key, value_hex=value)
        detail = f"{row['copies']} pairs have this key"
        differing = f"{detail}, with different values"
        told = replace(found, detail=differing if row["differ"] else detail)
        return self._of_row(told, PRIMARY_KEY) if name is None else told

    def of_difference(self, index: Index, row: HeldDefect) -> Defect:
        """A row that the merge join made of two sides of entries."""
        key = row["primary_key"][0]
        expected, actual = (
            None if row[side] is None else self._entry_columns(index, key, row[side][0])
            for side in ("expected", "actual")
        )
        # What should be here tells the row, also where the entry of another row is.
        payload = row["actual" if row["expected"] is None else "expected"][0]
        copies = (row["expected_copies"], row["actual_copies"])
        detail = "" if max(copies) <= 1 else f"{copies[0]} expected, {copies[1]} there"
        columns = expected or actual or {}
        value = with_checksum_unset(bytes.fromhex(payload)).hex()
        kind = DefectKind(row["kind"])
        found = self._defect(kind, index.name, columns, key_hex=key, value_hex=value)
        return replace(found, expected=expected, actual=actual, detail=detail)

    def of_shared_key(self, index: Index, row: HeldDefect) -> Defect:
        """A row of the table whose entry of a unique index is another row's, too."""
        key = row["primary_key"][0]
        columns = self._entry_columns(index, key, row["expected"][0])
        kind = DefectKind.UNIQUE_VIOLATION
        found = self._defect(kind, index.name, columns, key_hex=key, value_hex=None)
        return replace(found, detail="another row has the same index key")

    def _of_row(self, defect: Defect, constraint: str) -> Defect:
        """A defect of a row, as the check of constraints names it."""
        key, value = (bytes.fromhex(of or "") for of in (defect.key_hex, defect.value_hex))
        read = self.rows.primary_key(key, value) or defect.primary_key
        named = None if read is None else {name: key_value(of) for name, of in read.items()}
        return replace(defect, primary_key=named, constraint=constraint)

    def _defect(
        self,
        kind: DefectKind,
        index: str | None,
        columns: Mapping[str, Value],
        *,
        key_hex: str,
        value_hex: str | None,
    ) -> Defect:
        """A defect of one pair, with what it says of row and index; nothing of entries yet."""
        return Defect(
            kind=kind,
            table=self.table.table.name,
            index=index,
            primary_key=self._primary_key(columns),
            index_key=self._index_key(index, columns),
            expected=None,
            actual=None,
            snapshot=self.table.plan.snapshot,
            detail="",
            key_hex=key_hex,
            value_hex=value_hex,
        )

    def _entry_columns(self, index: Index, key: str, payload: str) -> dict[str, Value]:
        return self._columns(index.name, key, with_checksum_unset(bytes.fromhex(payload)).hex())

    def _columns(self, index: str | None, key: str, value: str) -> dict[str, Value]:
        """What a pair of an index says, or at least its key; nothing of a key of no index."""
        name, octets = index, bytes.fromhex(key)
        number = self.layout.primary(0) if name is None else self.layout.secondary(0, name)
        types = self.table.table.types
        found = columns_of(self.layout, number, octets, bytes.fromhex(value), types)
        return found or key_columns_of(self.layout, octets, types)

    def _primary_key(self, columns: Mapping[str, Value]) -> dict[str, Value] | None:
        """The row's key; None unless all of it is known."""
        found = {name: columns.get(name) for name in self.table.table.primary_key}
        return None if None in found.values() else found

    def _index_key(
        self, index: str | None, columns: Mapping[str, Value]
    ) -> dict[str, Value] | None:
        if index is None or not columns:
            return None
        return {c.name: columns.get(c.name) for c in self.table.table.index(index).key}

    def _wrong_value(self, column: str, code: Code, value: Value) -> str:
        shown = str(value)
        if len(shown) > _SHOWN_MAX:
            shown = f"{shown[:_SHOWN_MAX]}… ({len(shown)} characters)"
        match code:
            case Code.NULL:
                return f"column {column} is NULL, which the catalog does not allow"
            case Code.UTF8:
                return f"column {column} holds bytes that are not UTF-8: {shown}"
            case Code.DIGITS:
                return f"column {column} holds {shown}, which has more digits than its type"
            case Code.TOO_LONG:
                return f"column {column} holds {shown}, which is longer than its type"
            case _:
                return f"column {column} holds {shown}, which is out of the range of its type"

    def _index_of(self, key_hex: str) -> str | None:
        prefixes = prefixes_of(self.table.kv).items()
        return next((name for p, name in prefixes if key_hex.startswith(p.hex())), None)


def _misplaced(shown: Mapping[str, Any]) -> str:
    return f"comes after key {shown['before']}, before which it belongs"


def _wrong_byte(shown: Mapping[str, Any]) -> str:
    place = f"{'value' if shown['in_value'] else 'key'} byte {shown['position']}"
    if shown["expected"] == Code.SPELLING.text:
        return f"{place} differs from the canonical encoding of this value"
    return f"{place}: expected {shown['expected']}"
