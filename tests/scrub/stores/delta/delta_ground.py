# SPDX-License-Identifier: Apache-2.0
"""A Delta table with indexes that follow it, and what they should hold."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from scrub.app.building.delta_selection import build_of, select
from scrub.stores.delta import journalled
from scrub.stores.delta.building import DeltaBuild
from scrub.stores.delta.following import Followed, FollowedVersion
from tests.builders import write_catalog

SCHEMA = pa.schema([("id", pa.int64()), ("customer_id", pa.int64()), ("status", pa.string())])
INDEXES: Mapping[str, Mapping[str, Any]] = {
    "by_customer": {"columns": ["customer_id"], "storing": ["status"]},
    "open_orders": {"columns": ["customer_id"], "where": "status = 'open'", "nulls": "skip"},
}


def rows_of(*rows: tuple[Any, ...]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA)


def no_session() -> Any:
    raise AssertionError("this needs no Spark")


class DeltaGround:
    """A lake with one table; `feed` turns its change data feed on."""

    def __init__(
        self,
        root: Path,
        rows: pa.Table,
        indexes: Mapping[str, Mapping[str, Any]] = INDEXES,
        feed: bool = False,
        session: Any = no_session,
        partition_by: list[str] | None = None,
    ) -> None:
        self.root = root
        self.location = str(root / "orders")
        self.session = session
        configuration = {"delta.enableChangeDataFeed": "true"} if feed else None
        write_deltalake(self.location, rows, configuration=configuration, partition_by=partition_by)
        self.catalog = write_catalog(root, indexes)

    @property
    def table(self) -> DeltaTable:
        return DeltaTable(self.location)

    def build(self, index: str = "by_customer") -> DeltaBuild:
        catalog, table, (chosen,) = select(self.catalog, "orders", (index,))
        return build_of(catalog, table, chosen, self.session)

    def load(self, index: str = "by_customer") -> DeltaBuild:
        build = self.build(index)
        build.create()
        build.load(self.table.version())
        return build

    def follow(self, index: str = "by_customer") -> Followed:
        return self.build(index).follower().catch_up(_ignore)

    def append(self, *rows: tuple[Any, ...]) -> None:
        write_deltalake(self.location, rows_of(*rows), mode="append")

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.table.to_pyarrow_table().to_pylist()
        return found

    def entries(self, index: str = "by_customer") -> Counter[tuple[Any, ...]]:
        names = ["customer_id", "id"] + (["status"] if index == "by_customer" else [])
        table = DeltaTable(str(self.root / f"orders__{index}")).to_pyarrow_table(columns=names)
        return Counter(tuple(row.values()) for row in table.to_pylist())

    def expected(self, index: str = "by_customer") -> Counter[tuple[Any, ...]]:
        if index == "open_orders":
            return Counter(
                (row["customer_id"], row["id"])
                for row in self.rows()
                if row["status"] == "open" and row["customer_id"] is not None
            )
        return Counter((row["customer_id"], row["id"], row["status"]) for row in self.rows())


def _ignore(_: FollowedVersion) -> None:
    pass


def before_the_commit(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> list[int]:
    """Have something happen once, between the judgement and a commit; how many were tried."""
    tried: list[int] = []
    commit = journalled.commit_states

    def committed(*given: Any) -> bool:
        tried.append(1)
        if len(tried) == 1:
            happens()
        return commit(*given)

    monkeypatch.setattr(journalled, "commit_states", committed)
    return tried
