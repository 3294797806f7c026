# SPDX-License-Identifier: Apache-2.0
"""Runs on tables in other files, and on data and catalogs that are damaged."""

from tests.golden import grounds
from tests.golden.groups import Group, runs

PARQUET = Group(
    "parquet",
    grounds.parquet_orders,
    runs(
        """
        check: TABLE
        plan: TABLE --explain
        native-refused: TABLE --engine native --strategy merge
        native-merge: TABLE --engine native --strategy merge --index by_customer
        sql-merge: TABLE --engine sql --strategy merge
        both-checks: TABLE --checks index,physical
        where: TABLE --where | id BETWEEN 10 AND 130
        where-of-spark: TABLE --where | pmod(id, 2) = 1
        text: check table orders --limit 5
        repair: REPAIR JSON
        repair-refused: REPAIR --execute
        patch: REPAIR --patch fixes JSON
        selftest: selftest orders
        init: init files --catalog found.yaml
        """,
        files={"patch": "fixes/*", "init": "found.yaml"},
    ),
)

SPREAD = Group(
    "spread",
    grounds.spread_orders,
    runs(
        """
        check: TABLE
        plan: TABLE --explain
        sql-merge: TABLE --engine sql --strategy merge
        repair: REPAIR JSON
        """,
    ),
)

TEXTS = Group(
    "texts",
    grounds.text_orders,
    runs(
        """
        check: check database JSON
        plan: check database JSON --explain
        both-checks: check table orders_csv JSON --checks index,physical --limit 5
        patch: repair table orders_orc --max-fraction 1 --patch fixes
        """,
        files={"patch": "fixes/*"},
    ),
)

TIME_ZONES = Group(
    "time-zones",
    grounds.time_zones,
    runs(
        """
        check: check database JSON --strategy fingerprint
        plan: check database JSON --explain
        sql-merge: check database JSON --engine sql --strategy merge
        text: check table nepal berlin --limit 3
        """,
    ),
)

VALUES = Group(
    "values",
    grounds.damaged_values,
    runs(
        """
        both-checks: check database JSON --checks index,physical
        index: check database JSON --checks index
        physical-sql: check database JSON --checks physical --engine sql
        physical-native: check database JSON --checks physical --engine native
        plan: check database JSON --checks physical --explain
        redact: check database JSON --checks physical --redact
        text: check database --checks index,physical
        repair: repair table goods_in_lake JSON --max-fraction 1
        selftest: selftest goods
        """,
    ),
)

UNREADABLE = Group(
    "unreadable",
    grounds.unreadable_files,
    runs(
        """
        fingerprint: check database JSON --engine native --strategy fingerprint
        merge: check database JSON --engine sql --strategy merge
        physical: check table cut in_lake JSON --checks physical
        text: check table cut gone --limit 3
        repair: repair table in_lake JSON --max-fraction 1
        """,
    ),
)

MISTAKES = Group(
    "mistakes",
    grounds.mistakes,
    runs(
        """
        every-table: check database JSON
        every-table-text: check database
        plan: check database JSON --explain
        relation-missing: check table lost JSON
        column-missing: check table narrow JSON
        wrong-type: check table other wrong_type JSON --checks index,physical
        unset-variable: check table elsewhere JSON
        unknown-table: check table order JSON
        unknown-index: TABLE --index by_custmer
        unknown-check: TABLE --checks indexes
        unknown-option: TABLE --fast
        where-unknown-column: TABLE --where | custmer_id = 1
        as-of-nothing: TABLE --as-of yesterday
        no-catalog: TABLE --catalog nowhere.yaml
        not-yaml: catalog validate --catalog not_yaml.yaml
        wrong-catalog: catalog validate --catalog wrong.yaml
        unset-catalog: catalog validate
        repair-unknown: repair table order
        repair-lost: repair table lost JSON
        undo-unset: undo 0123456789ab
        explain-format: check table orders --explain --format junit
        selftest-unknown: selftest order
        init-nowhere: init nowhere
        """,
    ),
)

IN_FILES = (
    PARQUET,
    SPREAD,
    TEXTS,
    TIME_ZONES,
    VALUES,
    UNREADABLE,
    MISTAKES,
)
