# SPDX-License-Identifier: Apache-2.0
"""Random tables with random defects: repair makes them right, undo brings back every entry."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from scrub.model.repair import ActionOutcome, Entry
from scrub.stores.postgres.repairs.index_repairs import PostgresRepairs
from tests.postgres_server import Database, new_database
from tests.scrub.stores.postgres.repairs.postgres_ground import Ground, kv_table, new_run

TRIALS = int(os.environ.get("SCRUB_TRIALS", "40"))  # of each shape; make torture asks for more
RUNS_MAX = 8
PHASES = (Phase.generate,)  # a trial takes too long for finding a smaller one
KEYS = st.integers(0, 7)
WORDS = st.sampled_from(["a", "b", "c", "ü'%s"])
EntryTuple = tuple[str | None, int | None, str | None]


@dataclass(frozen=True)
class Shape:
    """An index table, and which of the planted entries it can hold."""

    unique: bool = False
    guard: str = ""
    where: str | None = None

    def holds(self, planted: Sequence[EntryTuple]) -> list[EntryTuple]:
        """All that the guard lets in."""
        found: dict[Any, EntryTuple] = {}
        for number, entry in enumerate(planted):
            place: Any = number
            if self.guard:
                place = entry[0] if self.unique else entry[:2]
                if None in entry[: 1 if self.unique else 2]:
                    place = number
            found.setdefault(place, entry)
        return list(found.values())


SHAPES: Mapping[str, Shape] = {
    "plain": Shape(),
    "guarded": Shape(guard="UNIQUE (v, k)"),
    "unique": Shape(unique=True),
    "unique and guarded": Shape(unique=True, guard="UNIQUE (v)"),
    "partial": Shape(where="s = 'a'"),
}


@pytest.fixture(scope="module")
def databases(postgres_url: str) -> Iterator[dict[str, Database]]:
    """One for all trials: making one takes longer than a trial."""
    with new_database(postgres_url) as database:
        yield {"all": database}


@pytest.mark.parametrize("name", SHAPES)
def test_random_defects_are_repaired_and_undo_restores_every_entry(
    databases: dict[str, Database], name: str
) -> None:
    """A check may name one of several entries of a place: then running again names the next."""
    shape = SHAPES[name]
    database = databases["all"]
    database.run(
        "DROP TABLE IF EXISTS t, t__by_v",
        "CREATE TABLE t (k bigint PRIMARY KEY, v text, s text)",
        f"CREATE TABLE t__by_v (v text, k bigint, s text{shape.guard and ', ' + shape.guard})",
    )
    ground = Ground(database, kv_table(unique=shape.unique, where=shape.where))
    ground.kept = PostgresRepairs(ground.store)
    ground.kept.connection.execute("SET synchronous_commit = off")
    if shape.where:
        plain = ground._plain("by_v")
        ground.due = {"by_v": lambda row: plain(row) if row["s"] == "a" else None}

    @settings(max_examples=TRIALS, database=None, deadline=None, phases=PHASES)
    @given(
        rows=st.dictionaries(KEYS, st.tuples(st.none() | WORDS, st.none() | WORDS)),
        kept=st.sets(KEYS),
        planted=st.lists(
            st.tuples(st.none() | WORDS, st.none() | KEYS, st.none() | WORDS), max_size=8
        ),
    )
    def trial(
        rows: dict[int, tuple[str | None, str | None]],
        kept: set[int],
        planted: list[EntryTuple],
    ) -> None:
        if shape.unique:
            rows = _distinct(rows)
        right = [(v, k, s) for k, (v, s) in rows.items() if k in kept]
        _fill(ground, rows, shape.holds([*right, *planted]))
        before = ground.contents()
        runs = _repaired(ground)
        assert _multiset(ground.entries()) == _multiset(ground.expected())
        for run in reversed(runs):
            done = ground.undo(run)
            assert {applied.outcome for _, applied in done} <= {ActionOutcome.DONE}, done
        assert ground.contents() == before

    trial()
    ground.kept.close()


def _distinct(rows: Mapping[int, tuple[str | None, str | None]]) -> dict[int, Any]:
    """Rows without a clash: of two that share a value, the first."""
    found: dict[int, Any] = {}
    for k, (v, s) in rows.items():
        if v is None or v not in {other for other, _ in found.values()}:
            found[k] = (v, s)
    return found


def _fill(
    ground: Ground,
    rows: Mapping[int, tuple[str | None, str | None]],
    entries: Sequence[EntryTuple],
) -> None:
    assert ground.kept is not None
    with ground.kept.connection.cursor() as cursor:
        cursor.execute("DELETE FROM public.t")
        cursor.execute("DELETE FROM public.t__by_v")
        cursor.executemany(
            "INSERT INTO public.t VALUES (%s, %s, %s)", [(k, *r) for k, r in rows.items()]
        )
        cursor.executemany("INSERT INTO public.t__by_v VALUES (%s, %s, %s)", entries)


def _repaired(ground: Ground) -> list[str]:
    """Runs, each with the defects that a check finds then, until there are none."""
    runs: list[str] = []
    while found := ground.defects():
        assert len(runs) < RUNS_MAX, found
        runs.append(new_run())
        done = ground.repair(found, run=runs[-1])
        left = {one.action.defect for one in done if not one.in_order}
        left |= {defect.id for defect in found} - {one.action.defect for one in done}  # refused
        assert {defect.id for defect in ground.defects()} <= left | _unnamed(ground, found)
    return runs


def _unnamed(ground: Ground, found: Sequence[Any]) -> set[str]:
    """Defects that the check before had not named, since it named another one of the place."""
    return {defect.id for defect in ground.defects()} - {defect.id for defect in found}


def _multiset(entries: Sequence[Entry]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(entry[name] for name in ("v", "k", "s")) for entry in entries)
