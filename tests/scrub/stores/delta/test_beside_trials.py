# SPDX-License-Identifier: Apache-2.0
"""Random indexes in Delta with further columns: undo restores every bit of every column.

What a log demands of writers beyond that (constraints, generated columns, columns that are never
NULL, tables that are only appended to) is refused by name before anything is written.
"""

import os
import random
import shutil
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.schema import PrimitiveType

from repair.hindered import without_hindered
from scrub.model.repair import ActionKind, ActionOutcome, RepairPlan
from tests.repair.repair_ground import Lake
from tests.seeded import seeded_trials

TRIALS = int(os.environ.get("SCRUB_TRIALS", "12"))  # make torture asks for more
NAMES = ["customer_id", "id", "status"]
RELATION = "orders__by_customer"

VALUES: Mapping[str, tuple[pa.DataType, list[Any]]] = {
    "double": (pa.float64(), [0.0, -0.0, float("nan"), float("-inf"), 5e-324, 0.1]),
    "float": (pa.float32(), [0.0, -0.0, float("nan"), float("inf"), 0.5]),
    "decimal": (
        pa.decimal128(38, 10),
        [Decimal("1234567890123456789012345678.0123456789"), Decimal("-0.0000000001"), Decimal(0)],
    ),
    "big": (pa.decimal128(38, 0), [Decimal(10**37 + 1), Decimal(-(10**37))]),
    "string": (pa.string(), ["", "it's", "\u0000", "ü\n", "[redacted]", "NaN"]),
    "binary": (pa.binary(), [b"", b"\x00\xff"]),
    "boolean": (pa.bool_(), [True, False]),
    "tiny": (pa.int8(), [-128, 127]),
    "bigint": (pa.int64(), [2**63 - 1, -(2**63)]),
    "date": (pa.date32(), [0, -719162, 2932896]),
    "timestamp": (pa.timestamp("us", "UTC"), [0, -1, 253402300799999999, -62135596800000000]),
    "ntz": (pa.timestamp("us"), [0, -1, 1709208000000001]),
}


def array_of(of_type: pa.DataType, values: list[Any]) -> pa.Array:
    if pa.types.is_date32(of_type):
        return pa.array(values, pa.int32()).cast(of_type)
    if pa.types.is_timestamp(of_type):
        return pa.array(values, pa.int64()).cast(of_type)
    return pa.array(values, of_type)


def bits(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """Every row with every bit of its values, whatever file it is in."""

    def exact(value: Any) -> Any:
        return struct.pack(">d", value) if isinstance(value, float) else value

    columns = []
    for name in sorted(table.column_names):
        column = table.column(name)
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.int64())
        elif pa.types.is_date32(column.type):
            column = column.cast(pa.int32())
        columns.append([exact(value) for value in column.to_pylist()])
    return Counter(zip(*columns, strict=True))


def held(lake: Lake, relation: str = RELATION) -> Counter[tuple[Any, ...]]:
    return bits(DeltaTable(str(lake.root / relation)).to_pyarrow_table())


def preview(lake: Lake) -> RepairPlan:
    return without_hindered(lake.plan(), lake.table, lake.repairs())


def entries_with(entries: list[tuple[Any, ...]], further: Mapping[str, pa.Array]) -> pa.Table:
    types = [pa.int64(), pa.int64(), pa.string()]
    columns = list(zip(*entries, strict=True)) if entries else [()] * len(NAMES)
    arrays = [pa.array(list(c), t) for c, t in zip(columns, types, strict=True)]
    return pa.table([*arrays, *further.values()], names=[*NAMES, *further])


@seeded_trials(TRIALS)
def test_after_repair_and_undo_every_column_of_every_entry_is_what_it_was(seed: int) -> None:
    chance = random.Random(seed)
    statuses = [None, "open", "paid"]
    rows = [
        (key, chance.choice([None, 10, 20]), chance.choice(statuses))
        for key in chance.sample(range(1, 8), chance.randint(0, 7))
    ]
    entries = [(c, key, s) for key, c, s in rows for _ in range(chance.choice([0, 1, 1, 2]))]
    entries += [
        (chance.choice([None, 10, 20]), chance.randint(1, 9), chance.choice(statuses))
        for _ in range(chance.randint(0, 4))
    ]
    chosen = chance.sample(sorted(VALUES), chance.randint(1, 4))
    further = {
        name: array_of(VALUES[name][0], [chance.choice([None, *VALUES[name][1]]) for _ in entries])
        for name in chosen
    }
    with TemporaryDirectory() as directory:
        lake = Lake(Path(directory), rows)
        write_deltalake(
            str(lake.root / RELATION),
            entries_with(entries, further),
            mode="overwrite",
            schema_mode="overwrite",
        )
        before, table = held(lake), held(lake, "orders")
        plan = preview(lake)
        assert not plan.refusals, plan.refusals
        done = lake.repair_all("run 1", plan.actions)
        assert {one.outcome for one in done} <= {ActionOutcome.DONE}, done
        kept = {
            (one.action.after or {}).get("id")
            for one in done
            if one.action.kind is ActionKind.REPLACE
        }
        _assert_kept(lake, kept, entries, further)
        assert not lake.all_defects()
        assert set(lake.undo()) <= {ActionOutcome.DONE}
        assert held(lake) == before
        assert held(lake, "orders") == table


def _assert_kept(
    lake: Lake,
    keys: set[Any],
    entries: list[tuple[Any, ...]],
    further: Mapping[str, pa.Array],
) -> None:
    """A replaced entry has the further columns of one that it was."""
    now = DeltaTable(str(lake.root / RELATION)).to_pyarrow_table()
    names = list(further)
    was = entries_with(entries, further)
    for key in keys:

        def of_key(table: pa.Table, key: Any = key) -> Counter[tuple[Any, ...]]:
            chosen = table.filter(pa.array([one == key for one in table["id"].to_pylist()]))
            return bits(chosen.select(names))

        assert of_key(now) <= of_key(was)


Spoil = Callable[[Path], None]


def constrained(path: Path) -> None:
    DeltaTable(str(path)).alter.add_constraint({"small": "id < 1000"})


def only_appended(path: Path) -> None:
    DeltaTable(str(path)).alter.set_table_properties({"delta.appendOnly": "true"})


def never_null(path: Path) -> None:
    data, schema = DeltaTable(str(path)).to_pyarrow_table(), DeltaTable(str(path)).schema()
    shutil.rmtree(path)
    sure = Field("sure", PrimitiveType("integer"), nullable=False)
    DeltaTable.create(str(path), Schema([*schema.fields, sure]))
    column = pa.array([1] * data.num_rows, pa.int32())
    field = pa.field("sure", pa.int32(), nullable=False)
    write_deltalake(str(path), data.append_column(field, column), mode="append")


REFUSED: Mapping[str, tuple[Spoil, str, set[ActionKind]]] = {
    "constraints": (constrained, "has constraints of its own",
                    {ActionKind.PUT, ActionKind.DELETE, ActionKind.REPLACE}),
    "only appended to": (only_appended, "delta.appendOnly",
                         {ActionKind.PUT, ActionKind.DELETE, ActionKind.REPLACE}),
    "never NULL": (never_null, "column sure of Delta table orders__by_customer is never NULL",
                   {ActionKind.PUT}),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_delta_table_demands_of_writers_is_refused_in_the_preview(
    tmp_path: Path, name: str
) -> None:
    spoil, told, kinds = REFUSED[name]
    lake = Lake(tmp_path, [(1, 10, "open"), (2, 20, "paid"), (3, 30, "sent")])
    lake.write("by_customer", [(10, 1, "wrong"), (20, 2, "paid"), (99, 9, "x")])
    spoil(tmp_path / RELATION)
    before, version = held(lake), lake.versions()
    planned = lake.plan()
    assert {action.kind for action in planned.actions} == {
        ActionKind.PUT,
        ActionKind.DELETE,
        ActionKind.REPLACE,
    }
    plan = preview(lake)
    refused = {r.defect for r in plan.refusals}
    assert {a.kind for a in planned.actions if a.defect in refused} == kinds
    assert all(told in refusal.reason for refusal in plan.refusals)
    if plan.actions:
        lake.repair_all("run 1", plan.actions)
        lake.undo()
    else:
        assert lake.versions() == version
    assert held(lake) == before
