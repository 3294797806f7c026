# SPDX-License-Identifier: Apache-2.0
"""Runs on tables in Delta: checks with every option, repairs, and indexes that follow."""

from tests.golden import grounds
from tests.golden.groups import JSON, REPAIR, TABLE, Group
from tests.golden.running import Run

DELTA = Group(
    "delta",
    grounds.delta_orders,
    (
        Run("check", TABLE),
        Run("plan", f"{TABLE} --explain"),
        Run("plan-text", "check table orders --explain"),
        Run("native-fingerprint", f"{TABLE} --engine native --strategy fingerprint"),
        Run("native-merge", f"{TABLE} --engine native --strategy merge"),
        Run("sql-fingerprint", f"{TABLE} --engine sql --strategy fingerprint"),
        Run("sql-plan", f"{TABLE} --engine sql --strategy merge --explain"),
        Run("both-checks", f"{TABLE} --checks index,physical"),
        Run("both-checks-plan", f"{TABLE} --checks index,physical --explain"),
        Run("physical", f"{TABLE} --checks physical"),
        Run("index", f"{TABLE} --index by_email --index open_orders"),
        Run("where", f"{TABLE} --where", ("id < 100",)),
        Run("where-not-applicable", f"{TABLE} --where", ("id < 100 AND status <> 'sent'",)),
        Run("where-of-spark", f"{TABLE} --where", ("pmod(id, 2) = 1",)),
        Run("where-plan", f"{TABLE} --explain --where", ("lower(status) = 'open'",)),
        Run("where-refused", f"{TABLE} --where", ("rand() < 0.5",)),
        Run("limit", f"{TABLE} --limit 2"),
        Run("as-of-version", f"{TABLE} --as-of 0"),
        Run("as-of-time", f"{TABLE} --as-of 2024-05-01T00:30:00Z"),
        Run("as-of-relation", f"{TABLE} --as-of by_customer=0 --index by_customer"),
        Run("as-of-too-late", f"{TABLE} --as-of 7"),
        Run("settle", f"{TABLE} --settle 0"),
        Run("redact", f"{TABLE} --redact"),
        Run("text", "check table orders"),
        Run("markdown", "check table orders --format markdown"),
        Run("junit", "check table orders --format junit"),
        Run("jsonl", "check table orders --format jsonl"),
        Run("redacted-text", "check table orders --redact --limit 3"),
        Run(
            "all-defects",
            f"{TABLE} --limit 1 --all-defects every.jsonl",
            files=("every.jsonl",),
        ),
        Run("output", f"{TABLE} --output result.json", files=("result.json",)),
        Run("selftest", "selftest orders"),
        Run("selftest-sample", "selftest orders --rows 150"),
        Run("catalog-validate", "catalog validate"),
        Run("catalog-show", "catalog show"),
        Run("catalog-show-table", "catalog show orders"),
        Run("init", "init lake --catalog found.yaml", files=("found.yaml",)),
    ),
)

DELTA_REPAIR = Group(
    "delta-repair",
    grounds.delta_orders,
    (
        Run("result", f"{TABLE} --output result.json", files=("result.json",)),
        Run("preview", f"{REPAIR} {JSON}"),
        Run("preview-text", REPAIR),
        Run("preview-from", "repair table orders --from result.json --max-fraction 1"),
        Run("preview-kind", f"{REPAIR} {JSON} --kind wrong_stored_value --index by_customer"),
        Run("preview-where", f"{REPAIR} {JSON} --where", ("id < 50",)),
        Run("over-limit", f"repair table orders {JSON} --max-changes 1"),
        Run("delete-last-copies", f"{REPAIR} {JSON} --delete-last-copies"),
        Run("recover-rows", f"{REPAIR} {JSON} --recover-rows"),
        Run("patch", f"{REPAIR} --patch fixes", files=("fixes/*",)),
        Run("execute", f"{REPAIR} {JSON} --execute"),
        Run("journal", "journal list"),
        Run("journal-show", "journal show {run}"),
        Run("check-repaired", TABLE),
        Run("undo-preview", "undo {run}"),
        Run("undo", "undo {run} --execute"),
        Run("check-undone", TABLE),
        Run("recover-execute", f"{REPAIR} --recover-rows --execute --verify"),
        Run("check-recovered", TABLE),
        Run("prune", "journal prune --older-than 30"),
    ),
)

CLEAN = Group(
    "clean",
    grounds.sound_delta_orders,
    (
        Run("check", TABLE),
        Run("text", "check table orders"),
        Run("repair", f"{REPAIR} --execute"),
        Run("repair-json", f"{REPAIR} {JSON}"),
        Run("journal", "journal list"),
        Run("undo-unknown", "undo 0123456789ab"),
        Run("journal-unknown", "journal show 0123456789ab"),
        Run("settle", f"{TABLE} --settle 0"),
        Run("selftest", "selftest orders"),
    ),
)

FOLLOW = Group(
    "follow",
    grounds.orders_to_follow,
    (
        Run("check-not-built", TABLE),
        Run("plan", f"backfill run orders by_customer {JSON}"),
        Run("plan-text", "backfill run orders by_customer open_orders"),
        Run("run", f"backfill run orders by_customer {JSON} --execute"),
        Run("run-text", "backfill run orders open_orders --execute"),
        Run("run-violated", f"backfill run orders by_status {JSON} --execute"),
        Run("status", f"backfill status orders {JSON}"),
        Run("status-text", "backfill status orders by_customer"),
        Run("cancel", f"backfill cancel orders by_status {JSON} --execute"),
        Run("follow-nothing", "index follow orders"),
        Run("check-behind", f"{TABLE} --index by_customer", before=grounds.write_more_orders),
        Run("follow", "index follow orders"),
        Run("check-following", TABLE),
        Run("follow-unknown", "index follow orders by_email"),
        Run("verify", f"backfill verify orders by_customer {JSON}"),
        Run("drop-preview", f"backfill drop orders by_customer {JSON}"),
        Run("drop", "backfill drop orders by_customer --execute"),
        Run("status-afterwards", f"backfill status orders {JSON}"),
    ),
)

LAGGING = Group(
    "lagging",
    grounds.lagging_orders,
    (
        Run("check", TABLE),
        Run("plan", f"{TABLE} --explain"),
        Run("as-of", f"{TABLE} --as-of 1 --as-of open_orders=0"),
        Run("repair", f"{REPAIR} {JSON} --index by_customer --index by_email"),
    ),
)

IN_DELTA = (
    DELTA,
    DELTA_REPAIR,
    CLEAN,
    FOLLOW,
    LAGGING,
)
