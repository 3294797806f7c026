# SPDX-License-Identifier: Apache-2.0
"""Runs on tables in key-value layout, in every store."""

from tests.golden import pair_grounds
from tests.golden.groups import Group, runs

PAIRS = (
    Group(
        "pairs-made",
        pair_grounds.encoded_pairs,
        runs(
            """
            encode: kv encode pairs --from rows --output files/pairs
            encode-families: kv encode families --from rows --output files/families
            decode: kv decode pairs --limit 0
            decode-families: kv decode families --limit 0
            check: check table pairs families JSON
            catalog-show: catalog show pairs
            """,
        ),
    ),
    Group(
        "pairs-parquet",
        pair_grounds.parquet_pairs,
        runs(
            """
            check: check database JSON
            plan: check database JSON --explain
            sql: check database JSON --engine sql
            native-merge: check table damaged_pairs JSON --engine native --strategy merge
            index: check table damaged_pairs JSON --index by_email --checks index
            physical: check table damaged_pairs unordered JSON --checks physical
            redact: check table damaged_families JSON --redact
            text: check table damaged_pairs unordered
            where: check table damaged_pairs JSON --where | id < 3
            all-defects: check table damaged_pairs --all-defects every.jsonl
            repair: repair table damaged_pairs JSON --max-fraction 1
            decode: kv decode damaged_pairs --limit 0
            """,
        ),
    ),
    Group(
        "pairs-delta",
        pair_grounds.delta_pairs,
        runs(
            """
            check: check database JSON
            plan: check database JSON --explain
            settle: check table pairs JSON --settle 0
            repair: repair table pairs JSON --max-fraction 1
            repair-text: repair table pairs --max-fraction 1
            execute: repair table pairs JSON --max-fraction 1 --execute
            check-repaired: check table pairs JSON
            journal-show: journal show {run}
            undo: undo {run} --execute
            check-undone: check table pairs JSON
            worn-execute: repair table worn JSON --max-fraction 1 --execute --verify
            worn-undo: undo {run} --execute
            """,
        ),
    ),
    Group(
        "pairs-postgres",
        pair_grounds.postgres_pairs,
        runs(
            """
            check: check database JSON
            plan: check database JSON --explain
            execute: repair table pairs --max-fraction 1 --execute --verify
            execute-families: repair table families JSON --max-fraction 1 --execute
            check-repaired: check database JSON
            undo: undo {run} --execute
            worn-execute: repair table worn JSON --max-fraction 1 --execute --verify
            worn-undo: undo {run} --execute
            journal: journal list
            """,
        ),
    ),
)
