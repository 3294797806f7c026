# SPDX-License-Identifier: Apache-2.0
"""Entries of pairs that are held here are named as Spark names them, and need none."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from checks.pairs.entries import differences, rows_sharing_keys, told_apart
from checks.pairs.held_naming import name_held
from checks.pairs.scan import ENTRY_ARROW_SCHEMA, ENTRY_SCHEMA
from scrub.app import run_check
from scrub.model.defect import DefectKind
from scrub.model.request import CheckRequest
from scrub.model.table import Index
from tests.checks.pairs.pair_ground import (
    ONE_FAMILY,
    all_pairs,
    counts,
    row,
    stored,
    table_of,
    write_catalog,
    write_pairs,
)
from tests.in_process import check_here
from tests.scrub.codec.kv.reference_pairs import encode_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TRIALS = 40
WAYS = [
    pytest.param({"unique": unique, "unsure": unsure}, id=f"{unique=}, {unsure=}")
    for unique in (True, False)
    for unsure in (True, False)
]
FIRST, SECOND = b"\x88", b"\x01\x89"


def random_entries(unsure: bool) -> pa.Table:
    """Few keys, rows and values a trial, so that every case occurs; a doubtful row has no key."""
    entries = []
    for trial in range(TRIALS):
        chance = random.Random(trial)
        for _ in range(chance.randrange(12)):
            side = chance.choice([0, 0, 0, 1, 1, 1, 2] + ([3, 4] if unsure else []))
            key = b"%d%s" % (trial, chance.choice([b"a", b"b"]))
            key += chance.choice([FIRST, FIRST, SECOND])
            entry = {"slot": 0, "side": side, "key": key, "value": chance.choice([b"", b"v"])}
            if side > 2:
                entry |= {"key": b"", "value": b""}
            entries.append(entry | {"row": b"%dr%d" % (trial, chance.randrange(4))})
    return pa.Table.from_pylist(entries, ENTRY_ARROW_SCHEMA)


def as_set(rows: Any) -> "Counter[str]":
    """Of rows that share a key, any of their entries may be shown."""
    shared = DefectKind.UNIQUE_VIOLATION
    told = [{**row, "expected": None} if row["kind"] == shared else dict(row) for row in rows]
    return Counter(repr(sorted(row.items())) for row in told)


@pytest.mark.spark
@pytest.mark.parametrize("way", WAYS)
def test_both_name_the_same(light_spark: "SparkSession", way: dict[str, bool]) -> None:
    index = Index(name="i", store="", relation="", key=(), suffix=(), unique=way["unique"])
    asked = {"doubtful": way["unsure"], "partial": way["unsure"]}
    entries, copied = random_entries(way["unsure"]), [b"%dr3" % trial for trial in range(TRIALS)]
    here = name_held(entries, index, 0, copied=copied, **asked)
    rows = [tuple(entry.values()) for entry in entries.to_pylist()]
    frame = light_spark.createDataFrame(rows, ENTRY_SCHEMA)
    copies = light_spark.createDataFrame([(bytearray(one),) for one in copied], "row binary")
    decided, doubted = told_apart(frame, copied=copies, **asked)
    assert as_set(here.defects) == collected(differences(decided, index, 0))
    assert len(here.defects) > TRIALS
    if index.unique:
        assert as_set(here.sharing) == collected(rows_sharing_keys(decided, 0)) != {}
    if doubted is not None:
        assert as_set(here.doubted) == collected(differences(doubted, index, 0)) != {}
    assert (doubted is None, not here.doubted) == (not way["unsure"],) * 2


def collected(frame: "DataFrame") -> "Counter[str]":
    return as_set([row.asDict() for row in frame.collect()])


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Of every kind one, also rows that are there twice, of which one has other values."""
    catalog = write_catalog(tmp_path, ONE_FAMILY)
    table = table_of(catalog)
    pairs = all_pairs(table, 60)
    pairs["primary"] += stored(encode_row(table, row(8)))
    pairs["primary"] += stored(encode_row(table, row(9) | {5: b"another note"}))
    pairs["by_customer"].pop(20)
    pairs["by_email"].append(pairs["by_email"][3])
    pairs["primary"] += stored(encode_row(table, row(70) | {3: b"user5@example.org"}))
    write_pairs(tmp_path, pairs)
    return catalog


@pytest.mark.spark
def test_damaged_pairs_are_named_in_this_process_as_on_spark(
    damaged: Path, spark: "SparkSession"
) -> None:
    request = CheckRequest(catalog=damaged, tables=("pairs",), limit=1000)
    here, there = check_here(request), run_check(request, spark=spark)
    assert str(there.ran).startswith("on Spark")
    assert counts(here) == counts(there)
    of_both = [[replace(d, snapshot="") for d in result.defects] for result in (here, there)]
    assert of_both[0] == of_both[1]
    found = counts(here)
    assert found[None] == {DefectKind.DUPLICATE_KEY: 2}
    assert found["by_customer"] == {DefectKind.MISSING: 2}
    assert found["by_email"][DefectKind.DUPLICATE_ENTRY] == 1
    assert found["by_email"][DefectKind.UNIQUE_VIOLATION] == 2
