# SPDX-License-Identifier: Apache-2.0
"""Runs on tables in PostgreSQL: index tables, own indexes, repairs, and builds."""

from tests.golden import postgres_grounds
from tests.golden.groups import JSON, REPAIR, TABLE, Group
from tests.golden.running import Run

POSTGRES = Group(
    "postgres",
    postgres_grounds.postgres_orders,
    (
        Run("check", TABLE),
        Run("plan", f"{TABLE} --explain"),
        Run("fingerprint", f"{TABLE} --strategy fingerprint"),
        Run("merge", f"{TABLE} --strategy merge"),
        Run("sql", f"{TABLE} --engine sql"),
        Run("where", f"{TABLE} --where", ("id < 100",)),
        Run("where-of-spark", f"{TABLE} --where", ("pmod(id, 2) = 1",)),
        Run("physical", f"{TABLE} --checks physical"),
        Run("both-checks-plan", f"{TABLE} --checks index,physical --explain"),
        Run("settle", f"{TABLE} --settle 0 --limit 2"),
        Run("as-of", f"{TABLE} --as-of 3"),
        Run("redact", f"{TABLE} --redact"),
        Run("all-defects", f"{TABLE} --all-defects every.jsonl", files=("every.jsonl",)),
        Run("text", "check table orders"),
        Run("catalog-show", "catalog show orders"),
        Run("selftest", "selftest orders"),
    ),
)

POSTGRES_REPAIR = Group(
    "postgres-repair",
    postgres_grounds.postgres_orders,
    (
        Run("preview", f"{REPAIR} {JSON}"),
        Run("preview-text", REPAIR),
        Run("recover-rows", f"{REPAIR} {JSON} --recover-rows"),
        Run("patch", f"{REPAIR} --patch fixes {JSON}", files=("fixes/*",)),
        Run("execute", f"{REPAIR} --execute --verify"),
        Run("journal", "journal list"),
        Run("journal-show", "journal show {run}"),
        Run("undo-preview", "undo {run}"),
        Run("undo", "undo {run} --execute"),
        Run("check-undone", TABLE),
        Run("recover-execute", f"{REPAIR} {JSON} --recover-rows --execute"),
        Run("check-recovered", TABLE),
        Run("undo-recovered", "undo {run} --execute"),
    ),
)

MIXED = Group(
    "mixed",
    postgres_grounds.mixed_orders,
    (
        Run("check", TABLE),
        Run("plan", f"{TABLE} --explain"),
        Run("merge", f"{TABLE} --strategy merge"),
        Run("repair", f"{REPAIR} {JSON}"),
    ),
)

OWN_INDEXES = Group(
    "own-indexes",
    postgres_grounds.own_indexes,
    (
        Run("check", f"check table t {JSON}"),
        Run("plan", f"check table t {JSON} --explain"),
        Run("plan-text", "check table t --explain"),
        Run("text", "check table t"),
        Run("index", f"check table t {JSON} --index lagging --limit 1"),
        Run("redact", f"check table t {JSON} --index lagging --redact"),
        Run("repair", f"repair table t {JSON}"),
        Run("repair-execute", "repair table t --execute --verify"),
    ),
)

BACKFILL = Group(
    "backfill",
    postgres_grounds.orders_to_index,
    (
        Run("plan", f"backfill run orders by_customer open_orders {JSON}"),
        Run("plan-text", "backfill run orders by_customer"),
        Run("check-not-built", TABLE),
        Run("run", f"backfill run orders by_customer open_orders {JSON} --execute"),
        Run("run-text", "backfill run orders by_lower --execute"),
        Run("run-unique", f"backfill run orders by_number {JSON} --execute"),
        Run("run-violated", f"backfill run twins by_email {JSON} --execute --parallel 1"),
        Run("run-violated-text", "backfill run twins by_email --execute --parallel 1"),
        Run("run-of-spark", "backfill run orders of_spark"),
        Run("run-own", "backfill run orders own"),
        Run("run-again", "backfill run orders by_customer"),
        Run("status", f"backfill status orders {JSON}"),
        Run("status-violated", f"backfill status twins {JSON}"),
        Run("status-text", "backfill status orders by_lower"),
        Run("verify", f"backfill verify orders by_customer by_lower {JSON}"),
        Run("renew-preview", f"backfill renew orders by_customer {JSON}"),
        Run("drop-preview", f"backfill drop orders by_number {JSON}"),
        Run("drop", "backfill drop orders by_number --execute"),
        Run("cancel-nothing", "backfill cancel orders"),
        Run("check", f"{TABLE} --index by_customer --index by_lower"),
    ),
)

DESCRIBE = Group(
    "describe-database",
    postgres_grounds.database_to_describe,
    (
        Run("init", "init {url} --catalog found.yaml", files=("found.yaml",)),
        Run("init-again", "init {url} --catalog found.yaml"),
        Run("check-unfinished", f"check database --catalog found.yaml {JSON}"),
        Run(
            "check",
            f"check database --catalog found.yaml {JSON}",
            before=postgres_grounds.fill_in,
        ),
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
