# SPDX-License-Identifier: Apache-2.0
"""A lake with a table and indexes that may be wrong, and what a check would say of them."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from repair.executing import Executor
from repair.planning import plan_repair
from repair.recovering import settle_recoveries
from scrub.catalog import load_catalog
from scrub.model.defect import Defect, DefectKind
from scrub.model.repair import Action, ActionKind, ActionOutcome, DoneAction, RepairPlan
from scrub.model.table import Index, Store, Table
from scrub.stores.delta.recovery import RecoveringDelta

Row = tuple[Any, ...]
COLUMNS = {"id": "bigint", "customer_id": "bigint", "status": "string"}
ARROW = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "string": pa.string(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
}


@dataclass(frozen=True)
class IndexPlan:
    """An index in the catalog's words, and in Python's: which rows it covers."""

    columns: Sequence[Any]
    storing: Sequence[Any] = ()
    unique: bool = False
    where: str | None = None
    covers: Callable[[Mapping[str, Any]], bool] = lambda _: True
    computes: Mapping[str, Callable[[Mapping[str, Any]], Any]] = field(default_factory=dict)

    @property
    def catalog(self) -> dict[str, Any]:
        found: dict[str, Any] = {"columns": list(self.columns), "storing": list(self.storing)}
        return found | {"unique": self.unique} | ({"where": self.where} if self.where else {})


BY_CUSTOMER = IndexPlan(columns=["customer_id"], storing=["status"])
OPEN_ORDERS = IndexPlan(
    columns=["customer_id"], where="status = 'open'", covers=lambda r: r["status"] == "open"
)
UNIQUE = IndexPlan(columns=["customer_id"], storing=["status"], unique=True)


class Lake:
    """One table, `orders`; its indexes hold what rows demand, until a test says otherwise."""

    def __init__(
        self,
        root: Path,
        rows: Sequence[Row],
        indexes: Mapping[str, IndexPlan] | None = None,
        columns: Mapping[str, str] | None = None,
        primary_key: Sequence[str] = ("id",),
    ) -> None:
        self._describe(root, indexes, columns, primary_key)
        self.write_rows(*rows)
        for name in self.plans:
            self.write(name, self.demanded(name).elements())

    @classmethod
    def reopened(cls, root: Path, indexes: Mapping[str, IndexPlan]) -> "Lake":
        """A lake that another process has made."""
        lake = cls.__new__(cls)
        lake._describe(root, indexes, None, ("id",))
        return lake

    def _describe(
        self,
        root: Path,
        indexes: Mapping[str, IndexPlan] | None,
        columns: Mapping[str, str] | None,
        primary_key: Sequence[str],
    ) -> None:
        self.root = root
        self.columns = dict(columns or COLUMNS)
        self.plans = dict(indexes or {"by_customer": BY_CUSTOMER})
        catalog = {
            "version": 1,
            "stores": {"lake": {"kind": "delta", "path": "."}},
            "tables": {
                "orders": {
                    "store": "lake",
                    "columns": {name: {"type": kind} for name, kind in self.columns.items()},
                    "primary_key": list(primary_key),
                    "indexes": {name: plan.catalog for name, plan in self.plans.items()},
                }
            },
        }
        path = root / "scrub.yaml"
        path.write_text(json.dumps(catalog))
        self.table: Table = load_catalog(path).tables["orders"]
        self.store = Store(name="lake", kind="delta", path=str(root))

    def repairs(self) -> RecoveringDelta:
        return RecoveringDelta(self.store)

    def write_rows(self, *rows: Row) -> None:
        """Give the table exactly these rows."""
        self._write("orders", list(self.columns), rows, list(self.columns))

    def write(self, index: str, entries: Any) -> None:
        """Give an index exactly these entries."""
        names = [column.name for column in self.index(index).entry]
        self._write(f"orders__{index}", names, list(entries), self.sources(index))

    def _write(
        self, relation: str, names: Sequence[str], rows: Sequence[Row], sources: Sequence[str]
    ) -> None:
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
        types = [self._arrow(source) for source in sources]
        arrays = [pa.array(list(c), t) for c, t in zip(columns, types, strict=True)]
        data = pa.Table.from_arrays(arrays, names=list(names))
        write_deltalake(str(self.root / relation), data, mode="overwrite")

    def _arrow(self, source: str) -> pa.DataType:
        """The type of a column, or of an expression over columns."""
        return ARROW[self.columns.get(source, "string" if "(" in source else "boolean")]

    def index(self, name: str) -> Index:
        return self.table.index(name)

    def sources(self, name: str) -> list[str]:
        return [column.source for column in self.index(name).entry]

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (
            DeltaTable(str(self.root / "orders")).to_pyarrow_table().to_pylist()
        )
        return found

    def entries(self, name: str = "by_customer") -> Counter[Row]:
        """What an index holds, byte for byte: 0.0 is not -0.0, and NaN is itself."""
        names = [column.name for column in self.index(name).entry]
        table = DeltaTable(str(self.root / f"orders__{name}")).to_pyarrow_table(columns=names)
        return Counter(tuple(row.values()) for row in table.to_pylist())

    def demanded(self, name: str = "by_customer") -> Counter[Row]:
        plan, sources = self.plans[name], self.sources(name)
        return Counter(
            tuple(plan.computes[s](row) if s in plan.computes else row[s] for s in sources)
            for row in self.rows()
            if plan.covers(row)
        )

    def versions(self, name: str = "by_customer") -> int:
        return int(DeltaTable(str(self.root / f"orders__{name}")).version())

    def defects(self, name: str = "by_customer") -> list[Defect]:
        """What a check reports of an index, by the counting rules."""
        return list(_defects(self, name, self.demanded(name), self.entries(name)))

    def all_defects(self) -> list[Defect]:
        return [defect for name in self.plans for defect in self.defects(name)]

    def plan(self, defects: Sequence[Defect] | None = None) -> RepairPlan:
        found = self.all_defects() if defects is None else defects
        there = [("orders", {n: r[n] for n in self.table.primary_key}) for r in self.rows()]
        return plan_repair(found, {"orders": self.table}, there)

    def recovery(self) -> RepairPlan:
        """What `--recover-rows` plans now."""
        defects = self.all_defects()
        there = [("orders", {n: r[n] for n in self.table.primary_key}) for r in self.rows()]
        plan = plan_repair(defects, {"orders": self.table}, there, recover_rows=True)
        return settle_recoveries(plan, self.table, self.repairs(), defects)

    def action(
        self, kind: ActionKind, before: Row | None, after: Row | None, index: str = "by_customer"
    ) -> Action:
        """An action as a plan has it."""
        names = [column.name for column in self.index(index).entry]
        sources = self.sources(index)
        told = {
            when: None if entry is None else dict(zip(names, entry, strict=True))
            for when, entry in (("before", before), ("after", after))
        }
        entry = after if after is not None else before
        assert entry is not None
        of_row = dict(zip(sources, entry, strict=True))
        key = {name: of_row[name] for name in self.table.primary_key}
        return Action(
            kind=kind,
            defect=f"{kind} {before} {after}",
            defect_kind=DefectKind.DANGLING,
            table="orders",
            index=index,
            primary_key=key,
            before=told["before"],
            after=told["after"],
        )

    def repair(
        self, run: str = "run 1", actions: Sequence[Action] | None = None
    ) -> list[ActionOutcome]:
        """A whole repair by a store of its own."""
        return [done.outcome for done in self.repair_all(run, actions)]

    def repair_all(
        self, run: str = "run 1", actions: Sequence[Action] | None = None
    ) -> list[DoneAction]:
        store = self.repairs()
        chosen = self.plan().actions if actions is None else actions
        return Executor(store, self.table, run).repair(chosen)

    def undo(self, of: str = "run 1", run: str = "undo 1") -> list[ActionOutcome]:
        store = self.repairs()
        return [applied.outcome for _, applied in Executor(store, self.table, run).undo(of)]


def _defects(lake: Lake, name: str, demanded: Counter[Row], actual: Counter[Row]) -> Any:
    index = lake.index(name)
    names = [column.name for column in index.entry]
    sources = lake.sources(name)
    width = len(index.key) + len(index.suffix)

    def defect(kind: DefectKind, expected: Row | None, found: Row | None) -> Defect:
        entry = expected if expected is not None else found
        assert entry is not None
        of_row = dict(zip(sources, entry, strict=True))
        return Defect(
            kind=kind,
            table="orders",
            index=name,
            primary_key={n: of_row[n] for n in lake.table.primary_key},
            index_key=dict(zip(names, entry[:width], strict=False)),
            expected=None if expected is None else dict(zip(names, expected, strict=True)),
            actual=None if found is None else dict(zip(names, found, strict=True)),
            snapshot="",
        )

    for entry in demanded:
        if demanded[entry] > 1:
            yield defect(DefectKind.DUPLICATE_KEY, entry, entry)
        elif actual[entry] > 1:
            yield defect(DefectKind.DUPLICATE_ENTRY, entry, entry)
    missing = [entry for entry in demanded if not actual[entry]]
    left_over = [entry for entry in actual if not demanded[entry]]
    for entry in missing:
        same = [other for other in left_over if other[:width] == entry[:width]]
        if same:
            left_over.remove(same[0])
            yield defect(DefectKind.WRONG_STORED_VALUE, entry, same[0])
        else:
            yield defect(DefectKind.MISSING, entry, None)
    for entry in left_over:
        yield defect(DefectKind.DANGLING, None, entry)
