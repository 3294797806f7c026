# SPDX-License-Identifier: Apache-2.0
"""The two halves of a job over keys, without Spark between them."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from checks.keys import packed_ranges
from checks.keys.gathered_keys import distinct_in
from checks.keys.packed_ranges import Divided, SecondTask, divide, unpacked
from checks.keys.repeated_keys import repeated_in
from checks.keys.split_rows import Key, SplitRows
from checks.keys.suspicion import Found, found_in
from checks.keys.unmatched_keys import unmatched_in
from checks.task_sums import NumberedSplit
from tests.checks.keys.ground import SALT, colliding, cut_off, key_of, splits_of, table_of

PAIR = key_of(a="bigint", b="bigint")
RANGES = 3


def carried_out(
    sides: list[SplitRows], keys: list[list[Key]], second: SecondTask, keys_max: int = 100
) -> Found:
    """What the second tasks tell, each given the rows of one place."""
    numbers = max(map(len, keys))
    divided = Divided(
        sides=tuple(sides),
        keys=tuple(map(tuple, keys)),
        salt=SALT,
        ranges=RANGES,
        places=tuple(range(RANGES * numbers)),
        pairs=(second is not repeated_in,) * len(sides),
        times_max=2 if second is repeated_in else 1,
    )
    by_place: dict[int, list[pa.RecordBatch]] = {}
    for side, rows in enumerate(sides):
        for number, split in enumerate(rows.splits):
            for batch in divide((NumberedSplit(number, side, split),), divided):
                for row in range(batch.num_rows):
                    place = batch.column("place")[row].as_py()
                    by_place.setdefault(place, []).append(batch.slice(row, 1))
    told = [one for some in by_place.values() for one in second(iter(some), keys_max)]
    return found_in(pa.Table.from_batches(told))


def rows_of(tmp_path: Path, rows: list[tuple[Any, ...]], name: str = "rows") -> SplitRows:
    return splits_of(tmp_path / name, table_of(PAIR, rows))


@pytest.fixture(autouse=True, params=[1, 1000], ids=["many chunks", "one chunk"])
def _chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_ranges, "CHUNK_KEYS", request.param)


def test_repeated_keys_of_several_files_meet(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, [(1, 1), (2, 2), (None, 3), (1, 1), (None, 3), (4, 2)])
    of_b = key_of(b="bigint")
    found = carried_out([rows], [[PAIR, of_b]], repeated_in)
    suspected = [found.of_key(number) for number in (0, 1)]
    assert [None if words is None else len(words) for words in suspected] == [1, 3]
    assert (found.rows(0), found.unread(0)) == (6, ())


def test_keys_whose_first_digests_are_forced_to_collide_are_suspected(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, [(1, 2), colliding((1, 2), 3)])
    words = carried_out([rows], [[PAIR]], repeated_in).of_key(0)
    assert words is not None
    assert len(words) == 1


def test_unmatched_keys_are_told_once(tmp_path: Path) -> None:
    child = rows_of(tmp_path, [(1, 1), (5, 5), (5, None), (2, 2), (5, 5), (6, 6)], "child")
    parent = rows_of(tmp_path, [(1, 1), (2, 2), (2, 2), (None, 5)], "parent")
    found = carried_out([child, parent], [[PAIR], [PAIR]], unmatched_in)
    words = found.of_key(0)
    assert words is not None
    assert len(words) == 2 * len({(5, 5), (6, 6)})
    assert (found.rows(0), found.rows(1)) == (6, 4)


def test_a_key_whose_first_digest_is_forced_to_collide_with_a_parents_is_unmatched(
    tmp_path: Path,
) -> None:
    child = rows_of(tmp_path, [(1, 2), colliding((1, 2), 3)], "child")
    parent = rows_of(tmp_path, [(1, 2)], "parent")
    words = carried_out([child, parent], [[PAIR], [PAIR]], unmatched_in).of_key(0)
    assert words is not None
    assert len(words) == 2


def test_distinct_keys_of_a_parent_with_duplicates(tmp_path: Path) -> None:
    parent = rows_of(tmp_path, [(1, 1), (2, 2), (1, 1), (1, None), colliding((1, 1), 9)])
    words = carried_out([parent], [[PAIR]], distinct_in).of_key(0)
    assert words is not None
    assert len(words) == 2 * 3


@pytest.mark.parametrize("second", [repeated_in, unmatched_in, distinct_in])
def test_tasks_return_no_more_digests_than_they_may(tmp_path: Path, second: SecondTask) -> None:
    many = rows_of(tmp_path, [(number // 2, 0) for number in range(400)], "many")
    none = rows_of(tmp_path, [], "none")
    sides, keys = ([many, none], [[PAIR], [PAIR]]) if second is unmatched_in else ([many], [[PAIR]])
    assert carried_out(sides, keys, second, keys_max=10).of_key(0) is None


def test_an_unreadable_split_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, [(1, 1), (1, 1), (2, 2), (2, 2)])
    cut_off(rows, 1)
    found = carried_out([rows], [[PAIR]], repeated_in)
    (unread,) = found.unread(0)
    assert unread.number == 1
    assert "not a Parquet file" in unread.reason
    assert found.unread_numbers(0) == {1}
    words = found.of_key(0)
    assert words is not None
    assert (found.rows(0), len(words)) == (2, 1)


def test_a_key_that_all_rows_have_is_not_sent_again_and_again(tmp_path: Path) -> None:
    rows = splits_of(tmp_path / "rows", table_of(PAIR, [(1, 1)] * 1000), files=1)
    for pairs, sent in ((False, 2), (True, 2)):
        divided = Divided(
            sides=(rows,),
            keys=((PAIR,),),
            salt=SALT,
            ranges=1,
            places=(0,),
            pairs=(pairs,),
            times_max=1 if pairs else 2,
        )
        batches = divide((NumberedSplit(0, 0, rows.splits[0]),), divided)
        gathering, reports = unpacked(batches)
        # Two first digests, or one pair.
        assert sum(len(words) for words in gathering[0, 0]) == sent
        assert json.loads(reports[0][1])["rows"] == 1000
