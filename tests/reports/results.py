# SPDX-License-Identifier: Apache-2.0
"""Results and a plan that the report tests render."""

from dataclasses import replace
from datetime import UTC, datetime

from scrub.model.defect import Defect, DefectKind
from scrub.model.plan import CheckPlan, IndexPlan, NotChecked, Side, TablePlan
from scrub.model.relation import RelationFacts, Snapshot, Split
from scrub.model.request import Engine, Strategy
from scrub.model.result import CheckOutcome, RunResult, Status, TableResult
from scrub.model.table import Column, EntryColumn, Index, Table
from scrub.model.types import parse_type

STARTED = datetime(2026, 11, 16, 3, 0, 0, tzinfo=UTC)
HOSTILE = "a|b`c<script>\x1b[31m\n\u202eevil\ud800*_[x](y)"


def a_run(*tables: TableResult, defects: tuple[Defect, ...] = ()) -> RunResult:
    return RunResult(
        run_id="20261116-030000-1f2e",
        started_at=STARTED,
        seconds=2.5,
        tables=tables,
        defects=defects,
    )


def a_table(*checks: CheckOutcome, table: str = "orders") -> TableResult:
    return TableResult(table=table, snapshot="version 12", checks=checks, bytes_read=45_200_000)


def a_check(index: str, status: Status = Status.CLEAN, **more: object) -> CheckOutcome:
    facts: dict[str, object] = {
        "rows": 1_000_000,
        "entries": 1_000_000,
        "snapshot": "version 7",
        "engine": "native",
        "strategy": "fingerprint",
    }
    return CheckOutcome(check="index", index=index, status=status, **(facts | more))  # type: ignore[arg-type]


def a_defect(kind: DefectKind = DefectKind.WRONG_STORED_VALUE, **more: object) -> Defect:
    facts: dict[str, object] = {
        "table": "orders",
        "index": "by_customer",
        "primary_key": {"id": 17},
        "index_key": {"customer_id": 4, "id": 17},
        "expected": {"customer_id": 4, "id": 17, "status": "open", "note": "same"},
        "actual": {"customer_id": 4, "id": 17, "status": "paid", "note": "same"},
        "snapshot": "version 12",
    }
    return Defect(kind=kind, **(facts | more))  # type: ignore[arg-type]


def clean() -> RunResult:
    return a_run(a_table(a_check("by_customer"), a_check("by_email")))


def defective() -> RunResult:
    counts = {DefectKind.MISSING: 12_340, DefectKind.DANGLING: 1, DefectKind.WRONG_STORED_VALUE: 3}
    missing = {"customer_id": None, "id": 18, "status": "open"}
    return a_run(
        a_table(
            a_check("by_customer", Status.DEFECTIVE, counts=counts, transient=2),
            a_check("by_email", notes=("the column 'loaded_at' of the relation is ignored",)),
        ),
        defects=(
            a_defect(),
            a_defect(
                DefectKind.MISSING,
                primary_key={"id": 18},
                index_key={"customer_id": None, "id": 18},
                expected=missing,
                actual=None,
            ),
            a_defect(
                DefectKind.DANGLING,
                primary_key={"id": 19},
                index_key={"customer_id": 9, "id": 19},
                expected=None,
                actual={"customer_id": 9, "id": 19},
                detail="no row has this primary key",
            ),
        ),
    )


def incomplete() -> RunResult:
    return a_run(
        a_table(
            a_check("by_customer"),
            a_check(
                "by_email",
                Status.INCOMPLETE,
                reason="part-0003.parquet is not a Parquet file",
                undecided=41,
                entries=None,
            ),
            a_check("pg_native", Status.NOT_APPLICABLE, reason="not in PostgreSQL", rows=None),
        )
    )


def defective_and_incomplete() -> RunResult:
    unread = "part-0003.parquet of the table could not be read"
    return a_run(
        a_table(
            a_check(
                "by_customer",
                Status.DEFECTIVE,
                counts={DefectKind.WRONG_STORED_VALUE: 1},
                undecided=7,
                reason=unread,
            ),
        ),
        a_table(a_check("by_name", Status.INCOMPLETE, reason=unread), table="customers"),
        defects=(a_defect(),),
    )


def unnamed() -> RunResult:
    """Known to differ, and nobody could say in what."""
    return a_run(
        a_table(
            a_check(
                "by_customer",
                Status.DEFECTIVE,
                reason="at least 16 buckets differ, not named because Spark's session has ended",
                unnamed=16,
            ),
            a_check("by_email"),
        )
    )


def hostile() -> RunResult:
    """Data that tries to leave its place in every report."""
    return a_run(
        a_table(
            a_check(
                HOSTILE,
                Status.DEFECTIVE,
                counts={DefectKind.WRONG_STORED_VALUE: 1},
                reason=HOSTILE,
                remedies=(HOSTILE,),
            ),
            table=HOSTILE,
        ),
        defects=(
            a_defect(
                table=HOSTILE,
                index=HOSTILE,
                primary_key={"order id": HOSTILE},
                index_key={"a`b": float("nan")},
                expected={"v": "x" * 100 + "1", "w": "'quoted' \\n"},
                actual={"v": "x" * 100 + "2", "w": float("inf")},
                detail=HOSTILE,
            ),
        ),
    )


def physical() -> RunResult:
    of_value = {"index": None, "index_key": None, "expected": None, "actual": None}
    return a_run(
        a_table(
            CheckOutcome(
                check="physical",
                index=None,
                status=Status.DEFECTIVE,
                rows=1_000_000,
                counts={DefectKind.INVALID_ENCODING: 2, DefectKind.NULL_VIOLATION: 1},
                snapshot="version 12",
                engine="native",
            ),
            a_check("by_customer"),
        ),
        defects=(
            a_defect(
                DefectKind.INVALID_ENCODING,
                primary_key=None,
                detail="column note is stored as int, not string, in /lake/orders/1.parquet",
                column="note",
                file="/lake/orders/1.parquet",
                **of_value,
            ),
            a_defect(
                DefectKind.INVALID_ENCODING,
                detail="column note holds bytes that are not UTF-8, from byte 2 on: ff",
                value_hex="6162ff",
                column="note",
                **of_value,
            ),
            a_defect(
                DefectKind.NULL_VIOLATION,
                primary_key={"id": 18},
                detail="column status is NULL, which the catalog does not allow",
                column="status",
                **of_value,
            ),
        ),
    )


RESULTS = {
    "clean": clean,
    "defective": defective,
    "incomplete": incomplete,
    "defective_and_incomplete": defective_and_incomplete,
    "unnamed": unnamed,
    "hostile": hostile,
    "physical": physical,
    "nothing": a_run,
    "no_index": lambda: a_run(a_table()),
}


def a_plan() -> CheckPlan:
    bigint, string = parse_type("bigint"), parse_type("string")
    key = (EntryColumn(name="customer_id", source="customer_id", type=bigint),)
    suffix = (EntryColumn(name="id", source="id", type=bigint),)
    index = Index(
        name="by_customer", store="lake", relation="orders__by_customer", key=key, suffix=suffix
    )
    table = Table(
        name="orders",
        store="lake",
        relation="orders",
        columns=(Column(name="id", type=bigint), Column(name="email", type=string)),
        primary_key=("id",),
        indexes=(index,),
    )
    table_facts = RelationFacts(
        store="lake",
        relation="orders",
        snapshot=Snapshot(label="version 12", version=12),
        columns={"id": bigint, "customer_id": bigint},
        splits=(Split(uri="part-0.parquet", bytes=45_200_000),),
        rows=1_000_000,
        bytes=45_200_000,
        storage_options={"AWS_SECRET_ACCESS_KEY": "hunter2"},
    )
    index_facts = replace(
        table_facts,
        relation="orders__by_customer",
        snapshot=Snapshot(label="version 7", version=7),
        splits=(),
        rows=None,
        bytes=None,
    )
    told, read = "every split is a Parquet file", ("id", "customer_id")
    table_side = Side(facts=table_facts, engine=Engine.NATIVE, reason=told, columns=read)
    told, read = "CSV is read by Spark", ("customer_id", "id")
    index_side = Side(facts=index_facts, engine=Engine.SQL, reason=told, columns=read)
    return CheckPlan(
        strategy=Strategy.FINGERPRINT,
        tables=(
            TablePlan(
                table=table,
                side=table_side,
                indexes=(
                    IndexPlan(index=index, side=index_side, notes=("the column 'x' is ignored",)),
                ),
                bucket_bits=12,
                where="id > 5",
            ),
        ),
        not_checked=(
            NotChecked(table="orders", check="index", index="by_email", reason="not selected"),
        ),
    )
