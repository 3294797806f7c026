# SPDX-License-Identifier: Apache-2.0
"""Runs on tables in Delta: checks with every option, repairs, and indexes that follow."""

from tests.golden import grounds
from tests.golden.groups import Group, runs

DELTA = Group(
    "delta",
    grounds.delta_orders,
    runs(
        """
        check: TABLE
        plan: TABLE --explain
        plan-text: check table orders --explain
        native-fingerprint: TABLE --engine native --strategy fingerprint
        native-merge: TABLE --engine native --strategy merge
        sql-fingerprint: TABLE --engine sql --strategy fingerprint
        sql-plan: TABLE --engine sql --strategy merge --explain
        both-checks: TABLE --checks index,physical
        both-checks-plan: TABLE --checks index,physical --explain
        physical: TABLE --checks physical
        index: TABLE --index by_email --index open_orders
        where: TABLE --where | id < 100
        where-not-applicable: TABLE --where | id < 100 AND status <> 'sent'
        where-of-spark: TABLE --where | pmod(id, 2) = 1
        where-plan: TABLE --explain --where | lower(status) = 'open'
        where-refused: TABLE --where | rand() < 0.5
        limit: TABLE --limit 2
        as-of-version: TABLE --as-of 0
        as-of-time: TABLE --as-of 2024-05-01T00:30:00Z
        as-of-relation: TABLE --as-of by_customer=0 --index by_customer
        as-of-too-late: TABLE --as-of 7
        settle: TABLE --settle 0
        redact: TABLE --redact
        text: check table orders
        markdown: check table orders --format markdown
        junit: check table orders --format junit
        jsonl: check table orders --format jsonl
        redacted-text: check table orders --redact --limit 3
        all-defects: TABLE --limit 1 --all-defects every.jsonl
        output: TABLE --output result.json
        selftest: selftest orders
        selftest-sample: selftest orders --rows 150
        catalog-validate: catalog validate
        catalog-show: catalog show
        catalog-show-table: catalog show orders
        init: init lake --catalog found.yaml
        """,
        files={"all-defects": "every.jsonl", "output": "result.json", "init": "found.yaml"},
    ),
)

DELTA_REPAIR = Group(
    "delta-repair",
    grounds.delta_orders,
    runs(
        """
        result: TABLE --output result.json
        preview: REPAIR JSON
        preview-text: REPAIR
        preview-from: repair table orders --from result.json --max-fraction 1
        preview-kind: REPAIR JSON --kind wrong_stored_value --index by_customer
        preview-where: REPAIR JSON --where | id < 50
        over-limit: repair table orders JSON --max-changes 1
        delete-last-copies: REPAIR JSON --delete-last-copies
        recover-rows: REPAIR JSON --recover-rows
        patch: REPAIR --patch fixes
        execute: REPAIR JSON --execute
        journal: journal list
        journal-show: journal show {run}
        check-repaired: TABLE
        undo-preview: undo {run}
        undo: undo {run} --execute
        check-undone: TABLE
        recover-execute: REPAIR --recover-rows --execute --verify
        check-recovered: TABLE
        prune: journal prune --older-than 30
        """,
        files={"result": "result.json", "patch": "fixes/*"},
    ),
)

CLEAN = Group(
    "clean",
    grounds.sound_delta_orders,
    runs(
        """
        check: TABLE
        text: check table orders
        repair: REPAIR --execute
        repair-json: REPAIR JSON
        journal: journal list
        undo-unknown: undo 0123456789ab
        journal-unknown: journal show 0123456789ab
        settle: TABLE --settle 0
        selftest: selftest orders
        """,
    ),
)

FOLLOW = Group(
    "follow",
    grounds.orders_to_follow,
    runs(
        """
        check-not-built: TABLE
        plan: backfill run orders by_customer JSON
        plan-text: backfill run orders by_customer open_orders
        run: backfill run orders by_customer JSON --execute
        run-text: backfill run orders open_orders --execute
        run-violated: backfill run orders by_status JSON --execute
        status: backfill status orders JSON
        status-text: backfill status orders by_customer
        cancel: backfill cancel orders by_status JSON --execute
        follow-nothing: index follow orders
        check-behind: TABLE --index by_customer
        follow: index follow orders
        check-following: TABLE
        follow-unknown: index follow orders by_email
        verify: backfill verify orders by_customer JSON
        drop-preview: backfill drop orders by_customer JSON
        drop: backfill drop orders by_customer --execute
        status-afterwards: backfill status orders JSON
        """,
        before={"check-behind": grounds.write_more_orders},
    ),
)

LAGGING = Group(
    "lagging",
    grounds.lagging_orders,
    runs(
        """
        check: TABLE
        plan: TABLE --explain
        as-of: TABLE --as-of 1 --as-of open_orders=0
        repair: REPAIR JSON --index by_customer --index by_email
        """,
    ),
)

IN_DELTA = (
    DELTA,
    DELTA_REPAIR,
    CLEAN,
    FOLLOW,
    LAGGING,
)
