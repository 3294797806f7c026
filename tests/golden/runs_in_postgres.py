# SPDX-License-Identifier: Apache-2.0
"""Runs on tables in PostgreSQL: index tables, own indexes, repairs, and builds."""

from tests.golden import postgres_grounds
from tests.golden.groups import Group, runs

POSTGRES = Group(
    "postgres",
    postgres_grounds.postgres_orders,
    runs(
        """
        check: TABLE
        plan: TABLE --explain
        fingerprint: TABLE --strategy fingerprint
        merge: TABLE --strategy merge
        sql: TABLE --engine sql
        where: TABLE --where | id < 100
        where-of-spark: TABLE --where | pmod(id, 2) = 1
        physical: TABLE --checks physical
        both-checks-plan: TABLE --checks index,physical --explain
        settle: TABLE --settle 0 --limit 2
        as-of: TABLE --as-of 3
        redact: TABLE --redact
        all-defects: TABLE --all-defects every.jsonl
        text: check table orders
        catalog-show: catalog show orders
        selftest: selftest orders
        """,
        files={"all-defects": "every.jsonl"},
    ),
)

POSTGRES_REPAIR = Group(
    "postgres-repair",
    postgres_grounds.postgres_orders,
    runs(
        """
        preview: REPAIR JSON
        preview-text: REPAIR
        recover-rows: REPAIR JSON --recover-rows
        patch: REPAIR --patch fixes JSON
        execute: REPAIR --execute --verify
        journal: journal list
        journal-show: journal show {run}
        undo-preview: undo {run}
        undo: undo {run} --execute
        check-undone: TABLE
        recover-execute: REPAIR JSON --recover-rows --execute
        check-recovered: TABLE
        undo-recovered: undo {run} --execute
        """,
        files={"patch": "fixes/*"},
    ),
)

MIXED = Group(
    "mixed",
    postgres_grounds.mixed_orders,
    runs(
        """
        check: TABLE
        plan: TABLE --explain
        merge: TABLE --strategy merge
        repair: REPAIR JSON
        """,
    ),
)

OWN_INDEXES = Group(
    "own-indexes",
    postgres_grounds.own_indexes,
    runs(
        """
        check: check table t JSON
        plan: check table t JSON --explain
        plan-text: check table t --explain
        text: check table t
        index: check table t JSON --index lagging --limit 1
        redact: check table t JSON --index lagging --redact
        repair: repair table t JSON
        repair-execute: repair table t --execute --verify
        """,
    ),
)

BACKFILL = Group(
    "backfill",
    postgres_grounds.orders_to_index,
    runs(
        """
        plan: backfill run orders by_customer open_orders JSON
        plan-text: backfill run orders by_customer
        check-not-built: TABLE
        run: backfill run orders by_customer open_orders JSON --execute
        run-text: backfill run orders by_lower --execute
        run-unique: backfill run orders by_number JSON --execute
        run-violated: backfill run twins by_email JSON --execute --parallel 1
        run-violated-text: backfill run twins by_email --execute --parallel 1
        run-of-spark: backfill run orders of_spark
        run-own: backfill run orders own
        run-again: backfill run orders by_customer
        status: backfill status orders JSON
        status-violated: backfill status twins JSON
        status-text: backfill status orders by_lower
        verify: backfill verify orders by_customer by_lower JSON
        renew-preview: backfill renew orders by_customer JSON
        drop-preview: backfill drop orders by_number JSON
        drop: backfill drop orders by_number --execute
        cancel-nothing: backfill cancel orders
        check: TABLE --index by_customer --index by_lower
        """,
    ),
)

DESCRIBE = Group(
    "describe-database",
    postgres_grounds.database_to_describe,
    runs(
        """
        init: init {url} --catalog found.yaml
        init-again: init {url} --catalog found.yaml
        check-unfinished: check database --catalog found.yaml JSON
        check: check database --catalog found.yaml JSON
        """,
        files={"init": "found.yaml"},
        before={"check": postgres_grounds.fill_in},
    ),
)

IN_POSTGRES = (
    POSTGRES,
    POSTGRES_REPAIR,
    MIXED,
    OWN_INDEXES,
    BACKFILL,
    DESCRIBE,
)
