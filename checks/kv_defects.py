# SPDX-License-Identifier: Apache-2.0
"""What was found in pairs, in the words of the model: bytes, and columns where they can be read."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import Row

from checks.kv_keys import prefixes_of
from checks.kv_order import OUT_OF_ORDER
from checks.kv_plan import KvPlan
from scrub.codec.kv.faults import TEXTS, Code
from scrub.codec.kv.layouts import layout_of
from scrub.codec.kv.pairs import COMPOSITE, INVALID, MISSING, NONCANONICAL, UNEXPECTED
from scrub.codec.kv.readable import columns_of, with_checksum_unset
from scrub.model.defect import Defect, DefectKind, Value
from scrub.model.table import Index

KINDS = {
    UNEXPECTED: DefectKind.UNEXPECTED_KEY,
    INVALID: DefectKind.INVALID_ENCODING,
    COMPOSITE: DefectKind.INVALID_COMPOSITE,
    NONCANONICAL: DefectKind.NONCANONICAL,
    MISSING: DefectKind.MISSING_FAMILY,
    OUT_OF_ORDER: DefectKind.KEY_ORDER,
}


class KvDefects:
    """Defects of one table."""

    def __init__(self, plan: KvPlan) -> None:
        self.plan = plan
        self.layout = layout_of([plan.kv])
        self.types = {column.name: column.type for column in plan.table.columns}

    def of_pair(self, shown: Mapping[str, Any]) -> Defect:
        """A pair that a task reported."""
        is_misplaced = shown["verdict"] == OUT_OF_ORDER
        return Defect(
            kind=KINDS[shown["verdict"]],
            table=self.plan.table.name,
            index=self._index_of(shown["key"]) if is_misplaced else shown["index"],
            primary_key=None,
            index_key=None,
            expected=None,
            actual=None,
            snapshot=self.plan.snapshot,
            detail=_misplaced(shown) if is_misplaced else _wrong_byte(shown),
            key_hex=shown["key"],
            value_hex=shown["value"],
        )

    def of_difference(self, index: Index, row: Row) -> Defect:
        """A row that the merge join made of two sides of entries."""
        key = row["primary_key"][0]
        expected, actual = (
            None if row[side] is None else self._columns(index, key, row[side][0])
            for side in ("expected", "actual")
        )
        # What should be here tells the row, also where the entry of another row is.
        payload = row["actual" if row["expected"] is None else "expected"][0]
        copies = (row["expected_copies"], row["actual_copies"])
        detail = "" if max(copies) <= 1 else f"{copies[0]} expected, {copies[1]} there"
        columns = expected or actual or {}
        found = self._defect(DefectKind(row["kind"]), index, columns, expected, actual, detail, key)
        return replace(found, value_hex=with_checksum_unset(bytes.fromhex(payload)).hex())

    def of_shared_key(self, index: Index, row: Row) -> Defect:
        """A row of the table whose entry of a unique index is another row's, too."""
        key = bytes(row["key"]).hex()
        columns = self._columns(index, key, bytes(row["value"]).hex())
        detail = "another row has the same index key"
        return self._defect(DefectKind.UNIQUE_VIOLATION, index, columns, None, None, detail, key)

    def _defect(
        self,
        kind: DefectKind,
        index: Index,
        columns: Mapping[str, Value],
        expected: Mapping[str, Value] | None,
        actual: Mapping[str, Value] | None,
        detail: str,
        key_hex: str,
    ) -> Defect:
        return Defect(
            kind=kind,
            table=self.plan.table.name,
            index=index.name,
            primary_key={name: columns.get(name) for name in self.plan.table.primary_key},
            index_key={column.name: columns.get(column.name) for column in index.key},
            expected=expected,
            actual=actual,
            snapshot=self.plan.snapshot,
            detail=detail,
            key_hex=key_hex,
        )

    def _columns(self, index: Index, key: str, payload: str) -> dict[str, Value]:
        number = self.layout.secondary(0, index.name)
        value = with_checksum_unset(bytes.fromhex(payload))
        return columns_of(self.layout, number, bytes.fromhex(key), value, self.types) or {}

    def _index_of(self, key_hex: str) -> str | None:
        prefixes = prefixes_of(self.plan.kv).items()
        return next((name for p, name in prefixes if key_hex.startswith(p.hex())), None)


def _misplaced(shown: Mapping[str, Any]) -> str:
    return f"comes after key {shown['before']}, before which it belongs"


def _wrong_byte(shown: Mapping[str, Any]) -> str:
    place = f"{'value' if shown['in_value'] else 'key'} byte {shown['position']}"
    if shown["expected"] == TEXTS[Code.SPELLING]:
        return f"{place} differs from the one spelling that this value has"
    return f"{place}: expected {shown['expected']}"
