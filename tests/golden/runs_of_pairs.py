# SPDX-License-Identifier: Apache-2.0
"""Runs on tables in key-value layout, in every store."""

from tests.golden import pair_grounds
from tests.golden.groups import JSON, Group
from tests.golden.running import Run

PAIRS = (
    Group(
        "pairs-made",
        pair_grounds.encoded_pairs,
        (
            Run("encode", "kv encode pairs --from rows --output files/pairs"),
            Run("encode-families", "kv encode families --from rows --output files/families"),
            Run("decode", "kv decode pairs --limit 0"),
            Run("decode-families", "kv decode families --limit 0"),
            Run("check", f"check table pairs families {JSON}"),
            Run("catalog-show", "catalog show pairs"),
        ),
    ),
    Group(
        "pairs-parquet",
        pair_grounds.parquet_pairs,
        (
            Run("check", f"check database {JSON}"),
            Run("plan", f"check database {JSON} --explain"),
            Run("sql", f"check database {JSON} --engine sql"),
            Run(
                "native-merge", f"check table damaged_pairs {JSON} --engine native --strategy merge"
            ),
            Run("index", f"check table damaged_pairs {JSON} --index by_email --checks index"),
            Run("physical", f"check table damaged_pairs unordered {JSON} --checks physical"),
            Run("redact", f"check table damaged_families {JSON} --redact"),
            Run("text", "check table damaged_pairs unordered"),
            Run("where", f"check table damaged_pairs {JSON} --where", ("id < 3",)),
            Run("all-defects", "check table damaged_pairs --all-defects every.jsonl"),
            Run("repair", f"repair table damaged_pairs {JSON} --max-fraction 1"),
            Run("decode", "kv decode damaged_pairs --limit 0"),
        ),
    ),
    Group(
        "pairs-delta",
        pair_grounds.delta_pairs,
        (
            Run("check", f"check database {JSON}"),
            Run("plan", f"check database {JSON} --explain"),
            Run("settle", f"check table pairs {JSON} --settle 0"),
            Run("repair", f"repair table pairs {JSON} --max-fraction 1"),
            Run("repair-text", "repair table pairs --max-fraction 1"),
            Run("execute", f"repair table pairs {JSON} --max-fraction 1 --execute"),
            Run("check-repaired", f"check table pairs {JSON}"),
            Run("journal-show", "journal show {run}"),
            Run("undo", "undo {run} --execute"),
            Run("check-undone", f"check table pairs {JSON}"),
            Run("worn-execute", f"repair table worn {JSON} --max-fraction 1 --execute --verify"),
            Run("worn-undo", "undo {run} --execute"),
        ),
    ),
    Group(
        "pairs-postgres",
        pair_grounds.postgres_pairs,
        (
            Run("check", f"check database {JSON}"),
            Run("plan", f"check database {JSON} --explain"),
            Run("execute", "repair table pairs --max-fraction 1 --execute --verify"),
            Run("execute-families", f"repair table families {JSON} --max-fraction 1 --execute"),
            Run("check-repaired", f"check database {JSON}"),
            Run("undo", "undo {run} --execute"),
            Run("worn-execute", f"repair table worn {JSON} --max-fraction 1 --execute --verify"),
            Run("worn-undo", "undo {run} --execute"),
            Run("journal", "journal list"),
        ),
    ),
)
