# SPDX-License-Identifier: Apache-2.0
"""What runs in processes of its own: writers of a Delta table, and whoever follows it."""

import random
import time
from multiprocessing.connection import Connection
from pathlib import Path

from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from scrub.app.building.delta_selection import build_of, select
from scrub.stores.delta.building import DeltaBuild
from tests.scrub.stores.delta.delta_ground import no_session, rows_of


def write(_: Connection, location: str, writer: int, commits: int) -> None:
    """Insert, update, move and delete rows, of which those of each writer are its own."""
    chance = random.Random(writer)
    first = 1_000_000 * (writer + 1)
    for number in range(commits):
        for _ in range(200):
            try:
                _commit(location, chance, first, number)
                break
            except CommitFailedError:
                time.sleep(chance.uniform(0, 0.05))
        else:
            raise SystemExit("a writer never got its turn")


def _commit(location: str, chance: random.Random, first: int, number: int) -> None:
    table = DeltaTable(location)
    mine = f"id >= {first} AND id < {first + 1_000_000}"
    match number % 4:
        case 0 | 1:
            rows = [(first + 10 * number + n, chance.randrange(50), "open") for n in range(5)]
            write_deltalake(table, rows_of(*rows), mode="append")
        case 2:
            customer = str(chance.randrange(50))
            table.update(updates={"customer_id": customer}, predicate=f"{mine} AND id % 3 = 0")
        case 3:
            table.delete(f"{mine} AND id % 7 = {chance.randrange(7)}")


def build(ready: Connection, catalog: Path) -> None:
    """Make the index and follow, forever."""
    ready.send("ready")
    loaded, table, (index,) = select(catalog, "orders", ("by_customer",))
    one: DeltaBuild = build_of(loaded, table, index, no_session)
    one.create()
    if one.look().shown is None:
        one.load(one.table_version())
    while True:
        one.follower().catch_up(lambda _: None)
