# SPDX-License-Identifier: Apache-2.0
"""A foreign key looked at in the scan of a table."""

from pathlib import Path
from typing import Any

import numpy as np

from checks.column_faults import Fault
from checks.keys.foreign_key_look import ForeignKeyLook
from checks.keys.held_keys import HeldKeys
from checks.keys.split_rows import Key, key_digests
from scrub.model.defect import DefectKind
from scrub.stores.files.parquet_scan import SplitReader
from tests.checks.keys.ground import SALT, key_of, splits_of, table_of

KEY = key_of(customer="int", region="string")
REFERRED = key_of(id="bigint", region="string")


def look(columns: Key, parents: list[Any]) -> ForeignKeyLook:
    batch = table_of(REFERRED, parents).combine_chunks().to_batches()[0]
    digests = key_digests(batch, REFERRED, SALT).digests
    keys = HeldKeys(np.column_stack([digests.first, digests.second]), SALT)
    return ForeignKeyLook(constraint="of", columns=columns, parent="customers", keys=keys)


def test_rows_without_a_parent_are_counted_and_told(tmp_path: Path) -> None:
    long = "x" * 100
    rows = [(1, "eu"), (1, None), (2, "eu"), (None, "eu"), (3, long), (1, "eu")]
    of = look(KEY, [(1, "eu"), (1, "us")])
    (split,) = splits_of(tmp_path / "rows", table_of(KEY, rows), files=1).splits
    reader = SplitReader(split, KEY, {})
    (stored,) = reader.stored_batches()
    kind = DefectKind.FOREIGN_KEY_VIOLATION
    assert of.count(stored, reader) == {("of", kind): 2}
    shown = f"customer=3, region={'x' * 60}..."
    assert list(of.faults(stored, reader)) == [
        Fault(2, kind, "of", "customer=2, region=eu refers to no row of customers"),
        Fault(4, kind, "of", f"{shown} refers to no row of customers"),
    ]


def test_nothing_is_counted_where_all_is_well(tmp_path: Path) -> None:
    of = look(KEY, [(1, "eu")])
    (split,) = splits_of(tmp_path / "rows", table_of(KEY, [(1, "eu"), (None, "")]), 1).splits
    reader = SplitReader(split, KEY, {})
    (stored,) = reader.stored_batches()
    assert of.count(stored, reader) == {}
    assert list(of.faults(stored, reader)) == []
