# SPDX-License-Identifier: Apache-2.0
"""Runs on tables in other files, and on data and catalogs that are damaged."""

from tests.golden import grounds
from tests.golden.groups import JSON, REPAIR, TABLE, Group
from tests.golden.running import Run

PARQUET = Group(
    "parquet",
    grounds.parquet_orders,
    (
        Run("check", TABLE),
        Run("plan", f"{TABLE} --explain"),
        Run("native-refused", f"{TABLE} --engine native --strategy merge"),
        Run("native-merge", f"{TABLE} --engine native --strategy merge --index by_customer"),
        Run("sql-merge", f"{TABLE} --engine sql --strategy merge"),
        Run("both-checks", f"{TABLE} --checks index,physical"),
        Run("where", f"{TABLE} --where", ("id BETWEEN 10 AND 130",)),
        Run("where-of-spark", f"{TABLE} --where", ("pmod(id, 2) = 1",)),
        Run("text", "check table orders --limit 5"),
        Run("repair", f"{REPAIR} {JSON}"),
        Run("repair-refused", f"{REPAIR} --execute"),
        Run("patch", f"{REPAIR} --patch fixes {JSON}", files=("fixes/*",)),
        Run("selftest", "selftest orders"),
        Run("init", "init files --catalog found.yaml", files=("found.yaml",)),
    ),
)

SPREAD = Group(
    "spread",
    grounds.spread_orders,
    (
        Run("check", TABLE),
        Run("plan", f"{TABLE} --explain"),
        Run("sql-merge", f"{TABLE} --engine sql --strategy merge"),
        Run("repair", f"{REPAIR} {JSON}"),
    ),
)

TEXTS = Group(
    "texts",
    grounds.text_orders,
    (
        Run("check", f"check database {JSON}"),
        Run("plan", f"check database {JSON} --explain"),
        Run("both-checks", f"check table orders_csv {JSON} --checks index,physical --limit 5"),
        Run("patch", "repair table orders_orc --max-fraction 1 --patch fixes", files=("fixes/*",)),
    ),
)

TIME_ZONES = Group(
    "time-zones",
    grounds.time_zones,
    (
        Run("check", f"check database {JSON} --strategy fingerprint"),
        Run("plan", f"check database {JSON} --explain"),
        Run("sql-merge", f"check database {JSON} --engine sql --strategy merge"),
        Run("text", "check table nepal berlin --limit 3"),
    ),
)

VALUES = Group(
    "values",
    grounds.damaged_values,
    (
        Run("both-checks", f"check database {JSON} --checks index,physical"),
        Run("index", f"check database {JSON} --checks index"),
        Run("physical-sql", f"check database {JSON} --checks physical --engine sql"),
        Run("physical-native", f"check database {JSON} --checks physical --engine native"),
        Run("plan", f"check database {JSON} --checks physical --explain"),
        Run("redact", f"check database {JSON} --checks physical --redact"),
        Run("text", "check database --checks index,physical"),
        Run("repair", f"repair table goods_in_lake {JSON} --max-fraction 1"),
        Run("selftest", "selftest goods"),
    ),
)

UNREADABLE = Group(
    "unreadable",
    grounds.unreadable_files,
    (
        Run("fingerprint", f"check database {JSON} --engine native --strategy fingerprint"),
        Run("merge", f"check database {JSON} --engine sql --strategy merge"),
        Run("physical", f"check table cut in_lake {JSON} --checks physical"),
        Run("text", "check table cut gone --limit 3"),
        Run("repair", f"repair table in_lake {JSON} --max-fraction 1"),
    ),
)

MISTAKES = Group(
    "mistakes",
    grounds.mistakes,
    (
        Run("every-table", f"check database {JSON}"),
        Run("every-table-text", "check database"),
        Run("plan", f"check database {JSON} --explain"),
        Run("relation-missing", f"check table lost {JSON}"),
        Run("column-missing", f"check table narrow {JSON}"),
        Run("wrong-type", f"check table other wrong_type {JSON} --checks index,physical"),
        Run("unset-variable", f"check table elsewhere {JSON}"),
        Run("unknown-table", f"check table order {JSON}"),
        Run("unknown-index", f"{TABLE} --index by_custmer"),
        Run("unknown-check", f"{TABLE} --checks indexes"),
        Run("unknown-option", f"{TABLE} --fast"),
        Run("where-unknown-column", f"{TABLE} --where", ("custmer_id = 1",)),
        Run("as-of-nothing", f"{TABLE} --as-of yesterday"),
        Run("no-catalog", f"{TABLE} --catalog nowhere.yaml"),
        Run("not-yaml", "catalog validate --catalog not_yaml.yaml"),
        Run("wrong-catalog", "catalog validate --catalog wrong.yaml"),
        Run("unset-catalog", "catalog validate"),
        Run("repair-unknown", "repair table order"),
        Run("repair-lost", f"repair table lost {JSON}"),
        Run("undo-unset", "undo 0123456789ab"),
        Run("explain-format", "check table orders --explain --format junit"),
        Run("selftest-unknown", "selftest order"),
        Run("init-nowhere", "init nowhere"),
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
