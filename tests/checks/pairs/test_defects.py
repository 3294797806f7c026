# SPDX-License-Identifier: Apache-2.0
"""What was found in pairs, in the words of the model; no Spark is needed."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row

from checks.pairs.defects import PairDefects
from checks.pairs.order import OUT_OF_ORDER
from checks.pairs.report import IS_NULL, IS_UNFIT
from scrub.catalog import load_catalog
from scrub.codec.kv.faults import Code
from scrub.codec.kv.pairs import INVALID, UNEXPECTED
from scrub.model.defect import DefectKind
from tests.checks.pairs.pair_ground import COLUMNS, ONE_FAMILY, all_pairs, write_catalog
from tests.checks.plans import planned_pairs

NUMBER = 4  # the row that pairs are of
ENTRY = {"customer_id": NUMBER, "amount": "0.40", "id": NUMBER, "note": f"note {NUMBER}"}
BY_CUSTOMER = {"customer_id": NUMBER, "amount": "0.40"}


class Ground:
    """Pairs of one row, and the defects that are made of them."""

    def __init__(self, directory: Path) -> None:
        table = load_catalog(write_catalog(directory, ONE_FAMILY)).tables["pairs"]
        plan = planned_pairs(table, "version 5")
        self.table, self.made = table, PairDefects(plan)
        self.pairs = {name: of[NUMBER] for name, of in all_pairs(plan.kv, NUMBER + 1).items()}

    def shown(self, verdict: int, name: str = "primary", **more: Any) -> dict[str, Any]:
        """A pair as a task reports it."""
        key, value = self.pairs[name]
        index = None if name == "primary" else name
        return {"verdict": verdict, "index": index, "key": key.hex(), "value": value.hex()} | more

    def joined(self, kind: DefectKind, expected: bool, actual: bool, copies: int = 1) -> Row:
        """A difference of an entry as the merge join reports it, which knows no checksums."""
        key, value = self.pairs["by_customer"]
        payload = [value[4:].hex()]
        return Row(
            kind=kind.value,
            primary_key=[key.hex()],
            expected=payload if expected else None,
            actual=payload if actual else None,
            expected_copies=int(expected),
            actual_copies=copies if actual else 0,
        )

    def copies(self, name: str, *, differ: bool) -> Row:
        key, value = self.pairs[name]
        names = self.made.layout.names
        number = next(n for n, of in enumerate(names) if of == (name if name in names else None))
        return Row(index=number, key=key, value=value, copies=3, differ=differ)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def test_a_wrong_byte_is_told_by_its_place(ground: Ground) -> None:
    told = ground.shown(INVALID, expected="a checksum", position=0, in_value=True)
    defect = ground.made.of_pair(told)
    assert (defect.kind, defect.index) == (DefectKind.INVALID_ENCODING, None)
    assert defect.detail == "value byte 0: expected a checksum"
    assert (defect.primary_key, defect.index_key) == ({"id": NUMBER}, None)
    assert (defect.key_hex, defect.value_hex) == (told["key"], told["value"])
    assert defect.snapshot == "version 5"


def test_another_spelling_of_a_value_is_no_byte_that_was_expected(ground: Ground) -> None:
    told = ground.shown(
        INVALID, "by_customer", expected=Code.SPELLING.text, position=3, in_value=False
    )
    defect = ground.made.of_pair(told)
    assert defect.detail == "key byte 3 differs from the canonical encoding of this value"
    assert defect.index_key == BY_CUSTOMER


def test_of_a_key_of_no_index_nothing_is_known(ground: Ground) -> None:
    told = ground.shown(UNEXPECTED, expected="a table", position=0, in_value=False)
    defect = ground.made.of_pair(told | {"key": "ff", "value": None})
    assert defect.kind is DefectKind.UNEXPECTED_KEY
    assert (defect.primary_key, defect.index_key, defect.value_hex) == (None, None, None)


def test_a_pair_out_of_order_is_of_the_index_that_its_key_tells(ground: Ground) -> None:
    told = ground.shown(OUT_OF_ORDER, "by_email", before="aa00")
    del told["index"]
    defect = ground.made.of_pair(told)
    assert (defect.kind, defect.index) == (DefectKind.KEY_ORDER, "by_email")
    assert defect.detail == "comes after key aa00, before which it belongs"


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        (Code.NULL, "column note is NULL, which the catalog does not allow"),
        (Code.UTF8, "column note holds bytes that are not UTF-8: note 4"),
        (Code.DIGITS, "column note holds note 4, which has more digits than its type"),
        (Code.TOO_LONG, "column note holds note 4, which is longer than its type"),
        (Code.RANGE, "column note holds note 4, which is out of the range of its type"),
    ],
    ids=["null", "utf8", "digits", "too_long", "range"],
)
def test_a_wrong_value_is_told_with_its_column(ground: Ground, code: Code, detail: str) -> None:
    slot = list(COLUMNS).index("note")
    verdict = IS_NULL if code is Code.NULL else IS_UNFIT
    defect = ground.made.of_pair(ground.shown(verdict, slot=slot, code=int(code)))
    assert (defect.column, defect.detail) == ("note", detail)
    null = code is Code.NULL
    assert defect.kind is (DefectKind.NULL_VIOLATION if null else DefectKind.INVALID_ENCODING)


def test_a_long_value_is_cut(ground: Ground) -> None:
    told = ground.made._wrong_value("note", Code.TOO_LONG, "x" * 1000)
    assert (
        told == f"column note holds {'x' * 200}… (1000 characters), which is longer than its type"
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [("primary", DefectKind.DUPLICATE_KEY), ("by_customer", DefectKind.DUPLICATE_ENTRY)],
)
@pytest.mark.parametrize(
    ("differ", "words"), [(False, ""), (True, ", with different values")], ids=["same", "other"]
)
def test_copies_of_a_row_and_of_an_entry_are_two_kinds(
    ground: Ground, name: str, kind: DefectKind, differ: bool, words: str
) -> None:
    defect = ground.made.of_copies(ground.copies(name, differ=differ))
    assert (defect.kind, defect.detail) == (kind, f"3 pairs have this key{words}")
    assert defect.primary_key == {"id": NUMBER}
    assert defect.index_key == (None if name == "primary" else BY_CUSTOMER)


@pytest.mark.parametrize(
    ("kind", "expected", "actual"),
    [
        (DefectKind.MISSING, True, False),
        (DefectKind.DANGLING, False, True),
        (DefectKind.WRONG_STORED_VALUE, True, True),
    ],
)
def test_a_difference_tells_the_entry_of_each_side(
    ground: Ground, kind: DefectKind, expected: bool, actual: bool
) -> None:
    index = ground.table.index("by_customer")
    defect = ground.made.of_difference(index, ground.joined(kind, expected, actual))
    assert (defect.kind, defect.index, defect.detail) == (kind, "by_customer", "")
    assert defect.expected == (ENTRY if expected else None)
    assert defect.actual == (ENTRY if actual else None)
    assert (defect.primary_key, defect.index_key) == ({"id": NUMBER}, BY_CUSTOMER)


def test_a_difference_in_number_is_told(ground: Ground) -> None:
    index = ground.table.index("by_customer")
    row = ground.joined(DefectKind.DUPLICATE_ENTRY, True, True, copies=3)
    assert ground.made.of_difference(index, row).detail == "1 expected, 3 there"


def test_a_shared_key_is_told_without_entries(ground: Ground) -> None:
    row = ground.joined(DefectKind.UNIQUE_VIOLATION, True, False)
    defect = ground.made.of_shared_key(ground.table.index("by_customer"), row)
    assert (defect.kind, defect.expected, defect.actual) == (
        DefectKind.UNIQUE_VIOLATION,
        None,
        None,
    )
    assert defect.detail == "another row has the same index key"
    assert defect.primary_key == {"id": NUMBER}
