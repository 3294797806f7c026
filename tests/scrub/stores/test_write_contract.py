# SPDX-License-Identifier: Apache-2.0
"""The contract of conditional writes, held by every store that can be written to."""

import math
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from threading import Barrier
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrub.model.entry_shape import EntryShape, Tombstones
from scrub.model.table import Column
from scrub.model.types import parse_type
from scrub.stores.delta.entries import entry_schema
from scrub.stores.entry_states import Outcome
from tests.scrub.stores.conditional_writes import ConditionalWrites
from tests.scrub.stores.writable_formats import WRITABLE_FORMATS, WritableFormat

WRITTEN, UNCHANGED, CONFLICT = Outcome.WRITTEN, Outcome.UNCHANGED, Outcome.CONFLICT
pytestmark = pytest.mark.parametrize("form", WRITABLE_FORMATS, ids=lambda form: form.name)


def column(name: str, kind: str, nullable: bool = True) -> Column:
    return Column(name=name, type=parse_type(kind), nullable=nullable)


BY_CUSTOMER = EntryShape(
    relation="by_customer",
    indexed=(column("customer", "bigint"),),
    suffix=(column("id", "bigint", nullable=False),),
    stored=(column("status", "string"),),
)
BY_EMAIL = EntryShape(
    relation="by_email",
    indexed=(column("email", "string"),),
    suffix=(column("id", "bigint", nullable=False),),
    stored=(column("status", "string"),),
    unique=True,
)
PAIRS = EntryShape(
    relation="pairs",
    indexed=(column("key", "binary", nullable=False),),
    suffix=(),
    stored=(column("value", "binary"),),
    unique=True,
    tombstones=Tombstones.NULL_VALUE,
)


def entries(shape: EntryShape, *rows: tuple[Any, ...]) -> pa.Table:
    schema = entry_schema(shape.columns)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


@dataclass
class Ground:
    """One relation in one store."""

    form: WritableFormat
    root: Path
    shape: EntryShape
    store: ConditionalWrites

    def rows(self) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(row.values()) for row in self.form.rows(self.root, self.shape))

    def put(self, *rows: tuple[Any, ...], fail_on_tombstones: bool = False) -> list[Outcome]:
        given = entries(self.shape, *rows)
        return list(self.store.init_put(self.shape, given, fail_on_tombstones=fail_on_tombstones))

    def delete(self, *rows: tuple[Any, ...]) -> list[Outcome]:
        return list(self.store.delete_if_equal(self.shape, entries(self.shape, *rows)))

    def replace(self, *pairs: tuple[tuple[Any, ...], tuple[Any, ...]]) -> list[Outcome]:
        before = entries(self.shape, *(pair[0] for pair in pairs))
        after = entries(self.shape, *(pair[1] for pair in pairs))
        return list(self.store.replace_if_equal(self.shape, before, after))

    def read(self, *keys: tuple[Any, ...]) -> list[Any]:
        padding = (None,) * len(self.shape.stored)
        given = entries(self.shape, *(key + padding for key in keys))
        names = [c.name for c in self.shape.indexed + self.shape.suffix]
        return list(self.store.read_entries(self.shape, given.select(names)))

    def commits(self) -> int | None:
        return self.form.commits(self.root, self.shape) if self.form.commits else None


Make = Callable[[EntryShape], Ground]


@pytest.fixture
def make(form: WritableFormat, tmp_path: Path) -> Make:
    def made(shape: EntryShape) -> Ground:
        if shape.tombstones not in form.tombstones:
            pytest.skip(f"{form.name} keeps no such tombstones")
        form.create(tmp_path, shape)
        return Ground(form, tmp_path, shape, form.open(tmp_path))

    return made


def test_init_put_writes_what_is_absent_and_nothing_else(make: Make) -> None:
    ground = make(BY_CUSTOMER)
    assert ground.put((1, 10, "open"), (2, 20, "paid")) == [WRITTEN, WRITTEN]
    assert ground.put((1, 10, "open"), (2, 20, "sent"), (3, 30, "open")) == [
        UNCHANGED,
        CONFLICT,
        WRITTEN,
    ]
    assert ground.rows() == Counter([(1, 10, "open"), (2, 20, "paid"), (3, 30, "open")])


def test_the_primary_key_is_part_of_the_key_unless_the_index_is_unique(make: Make) -> None:
    several = make(BY_CUSTOMER)
    assert several.put((1, 10, "open"), (1, 11, "open")) == [WRITTEN, WRITTEN]
    unique = make(BY_EMAIL)
    assert unique.put(("a", 10, "open")) == [WRITTEN]
    assert unique.put(("a", 11, "open")) == [CONFLICT]


def test_nulls_never_clash_in_a_unique_index(make: Make) -> None:
    ground = make(BY_EMAIL)
    assert ground.put((None, 1, "x"), (None, 2, "x")) == [WRITTEN, WRITTEN]
    assert ground.put((None, 1, "x"), (None, 2, "y")) == [UNCHANGED, CONFLICT]
    assert ground.delete((None, 2, "x")) == [WRITTEN]
    assert ground.rows() == Counter([(None, 1, "x")])


def test_delete_only_what_is_still_as_given(make: Make) -> None:
    ground = make(BY_CUSTOMER)
    ground.put((1, 10, "open"), (2, 20, "paid"))
    assert ground.delete((1, 10, "open"), (2, 20, "sent"), (3, 30, "open")) == [
        WRITTEN,
        CONFLICT,
        UNCHANGED,
    ]
    assert ground.rows() == Counter([(2, 20, "paid")])


def test_replace_only_what_is_still_as_given(make: Make) -> None:
    ground = make(BY_CUSTOMER)
    ground.put((1, 10, "open"), (2, 20, "paid"), (3, 30, "sent"))
    assert ground.replace(
        ((1, 10, "open"), (1, 10, "paid")),
        ((2, 20, "open"), (2, 20, "paid")),
        ((3, 30, "open"), (3, 30, "paid")),
        ((4, 40, "open"), (4, 40, "paid")),
    ) == [WRITTEN, UNCHANGED, CONFLICT, CONFLICT]
    assert ground.rows() == Counter([(1, 10, "paid"), (2, 20, "paid"), (3, 30, "sent")])


def test_a_unique_entry_is_replaced_by_one_of_another_row(make: Make) -> None:
    ground = make(BY_EMAIL)
    ground.put(("a", 1, "x"))
    assert ground.replace((("a", 1, "x"), ("a", 2, "x"))) == [WRITTEN]
    assert ground.rows() == Counter([("a", 2, "x")])


def test_entries_are_read_by_their_keys(make: Make) -> None:
    ground = make(BY_CUSTOMER)
    ground.put((1, 10, "open"), (None, 20, None))
    assert ground.read((1, 10), (None, 20), (1, 11)) == [
        {"customer": 1, "id": 10, "status": "open"},
        {"customer": None, "id": 20, "status": None},
        None,
    ]


def test_the_second_of_two_equal_keys_in_one_call_meets_the_first(make: Make) -> None:
    ground = make(BY_CUSTOMER)
    assert ground.put((1, 10, "open"), (1, 10, "open"), (1, 10, "paid")) == [
        WRITTEN,
        UNCHANGED,
        CONFLICT,
    ]
    assert ground.delete((1, 10, "open"), (1, 10, "open")) == [WRITTEN, UNCHANGED]
    assert not ground.rows()
    ground.put((1, 10, "a"))
    assert ground.replace(((1, 10, "a"), (1, 10, "b")), ((1, 10, "b"), (1, 10, "c"))) == [
        WRITTEN,
        WRITTEN,
    ]
    assert ground.rows() == Counter([(1, 10, "c")])


def test_no_entries_no_outcomes(make: Make) -> None:
    ground = make(BY_CUSTOMER)
    assert ground.put() == ground.delete() == ground.replace() == ground.read() == []


def test_a_call_that_changes_nothing_commits_nothing(make: Make) -> None:
    ground = make(BY_CUSTOMER)
    ground.put((1, 10, "open"))
    before = ground.commits()
    ground.put((1, 10, "open"), (1, 10, "paid"))
    ground.delete((2, 10, "open"))
    ground.put()
    assert ground.commits() == before


def test_a_tombstone_is_left_where_a_pair_was(make: Make) -> None:
    ground = make(PAIRS)
    assert ground.put((b"a", b"1"), (b"b", b"2")) == [WRITTEN, WRITTEN]
    assert ground.delete((b"a", b"1"), (b"c", b"1")) == [WRITTEN, UNCHANGED]
    assert ground.rows() == Counter([(b"a", None), (b"b", b"2")])
    assert ground.read((b"a",), (b"b",)) == [None, {"key": b"b", "value": b"2"}]
    assert ground.delete((b"a", b"1")) == [UNCHANGED]
    assert ground.replace(((b"a", b"1"), (b"a", b"3"))) == [CONFLICT]


def test_a_tombstone_is_a_conflict_only_when_that_is_asked(make: Make) -> None:
    ground = make(PAIRS)
    ground.put((b"a", b"1"))
    ground.delete((b"a", b"1"))
    assert ground.put((b"a", b"2"), fail_on_tombstones=True) == [CONFLICT]
    assert ground.put((b"a", b"2")) == [WRITTEN]
    assert ground.rows() == Counter([(b"a", b"2")])


ODD_VALUES: dict[str, Sequence[tuple[Any, Any]]] = {
    "double": [(0.0, -0.0), (math.nan, float("nan")), (math.inf, math.inf)],
    "float": [(0.0, -0.0), (math.nan, math.nan)],
    "decimal(10,2)": [(Decimal("1.10"), Decimal("1.1"))],
    "string": [("", ""), ("ß\U0001f600", "ß\U0001f600"), ("x" * 200, "x" * 200)],
    "binary": [(b"", b""), (b"\xff\x00", b"\xff\x00")],
    "boolean": [(True, True), (False, False)],
    "date": [(date(1, 1, 1), date(1, 1, 1))],
    "timestamp": [
        (datetime(2024, 1, 1, 12, tzinfo=UTC), datetime(2024, 1, 1, 12, tzinfo=UTC)),
    ],
}


@pytest.mark.parametrize("kind", ODD_VALUES)
def test_equality_is_that_of_checks(make: Make, kind: str) -> None:
    shape = EntryShape(
        relation="odd",
        indexed=(column("k", kind),),
        suffix=(column("id", "bigint", nullable=False),),
        stored=(column("s", kind),),
    )
    ground = make(shape)
    pairs = [(None, None), *ODD_VALUES[kind]]
    assert set(ground.put(*((a, n, a) for n, (a, _) in enumerate(pairs)))) == {WRITTEN}
    again = [(b, n, b) for n, (_, b) in enumerate(pairs)]
    assert set(ground.put(*again)) == {UNCHANGED}
    assert None not in ground.read(*((b, n) for b, n, _ in again))
    assert set(ground.delete(*again)) == {WRITTEN}
    assert not ground.rows()


def test_of_two_writers_of_one_key_exactly_one_writes(make: Make) -> None:
    ground = make(BY_EMAIL)
    writers, rounds = 4, 5
    start = Barrier(writers)

    def write(writer: int) -> list[Outcome]:
        store = ground.form.open(ground.root)
        found = []
        for number in range(rounds):
            start.wait()
            given = entries(BY_EMAIL, (f"key {number}", writer, "x"))
            found += store.init_put(BY_EMAIL, given, fail_on_tombstones=False)
        return found

    with ThreadPoolExecutor(writers) as pool:
        outcomes = list(pool.map(write, range(writers)))
    for number in range(rounds):
        of_round = sorted(outcomes[writer][number] for writer in range(writers))
        assert of_round == [CONFLICT] * (writers - 1) + [WRITTEN]
    assert sum(ground.rows().values()) == rounds


def test_a_delete_and_a_replacement_of_one_entry_do_not_both_happen(make: Make) -> None:
    ground = make(BY_CUSTOMER)
    for number in range(5):
        before, after = (1, number, "open"), (1, number, "paid")
        ground.put(before)
        with ThreadPoolExecutor(2) as pool:
            deleting = pool.submit(ground.delete, before)
            replacing = pool.submit(ground.replace, (before, after))
        outcomes = (deleting.result(), replacing.result())
        assert outcomes in (([WRITTEN], [CONFLICT]), ([CONFLICT], [WRITTEN]))
        left = [row for row in ground.rows() if row[1] == number]
        assert left == ([] if outcomes[0] == [WRITTEN] else [after])


KEYS = st.tuples(st.sampled_from([None, "a", "b"]), st.integers(0, 2))
ENTRIES = st.builds(lambda key, s: (*key, s), KEYS, st.sampled_from([None, "x", "y"]))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(ENTRIES, max_size=4)),
        st.tuples(st.just("delete"), st.lists(ENTRIES, max_size=4)),
        st.tuples(
            st.just("replace"),
            st.lists(
                st.builds(lambda e, s: (e, (*e[:2], s)), ENTRIES, st.sampled_from(["x", "y"])),
                max_size=3,
            ),
        ),
    ),
    min_size=1,
    max_size=6,
)


class Model:
    """What the contract says, with a dictionary."""

    def __init__(self, unique: bool) -> None:
        self.unique = unique
        self.held: dict[Any, tuple[Any, ...]] = {}

    def key(self, entry: tuple[Any, ...]) -> Any:
        return entry[0] if self.unique and entry[0] is not None else entry[:2]

    def put(self, entry: tuple[Any, ...]) -> Outcome:
        there = self.held.setdefault(self.key(entry), entry)
        return CONFLICT if there != entry else UNCHANGED

    def step(self, verb: str, given: Any) -> Outcome:
        if verb == "put":
            absent = self.key(given) not in self.held
            return WRITTEN if absent and self.put(given) else self.put(given)
        before, after = (given, None) if verb == "delete" else given
        there = self.held.get(self.key(before))
        if there == after:
            return UNCHANGED
        if there != before:
            return CONFLICT
        del self.held[self.key(before)]
        if after is not None:
            self.held[self.key(after)] = after
        return WRITTEN


@pytest.mark.parametrize("unique", [False, True], ids=["any", "unique"])
@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_any_sequence_of_writes_ends_as_in_a_dictionary(
    form: WritableFormat, unique: bool, steps: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shape = EntryShape(
        relation=f"t_{uuid.uuid4().hex[:8]}",
        indexed=BY_EMAIL.indexed,
        suffix=BY_EMAIL.suffix,
        stored=BY_EMAIL.stored,
        unique=unique,
    )
    root = tmp_path_factory.getbasetemp()
    form.create(root, shape)
    ground, model = Ground(form, root, shape, form.open(root)), Model(unique)
    for verb, given_ in steps:
        assert getattr(ground, verb)(*given_) == [model.step(verb, one) for one in given_]
    assert ground.rows() == Counter(model.held.values())
