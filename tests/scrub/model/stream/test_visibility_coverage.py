# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrub.model.stream.changes import Change
from scrub.model.stream.coverage import HistorySnapshot, MustCover
from scrub.model.stream.visibility_coverage import VisibilityCoverage, parse_snapshot

COVERAGE = VisibilityCoverage()


def of(transaction: int | None) -> Change:
    return Change(position=(1,), transaction=transaction)


def token(running: set[int], xmax: int) -> str:
    listed = ",".join(map(str, sorted(running)))
    return f"{min(running, default=xmax)}:{xmax}:{listed}"


SNAPSHOTS = st.builds(
    lambda running, xmax: token({xid for xid in running if xid < xmax}, xmax),
    st.sets(st.integers(1, 12)),
    st.integers(1, 14),
)


@pytest.mark.parametrize(
    ("transaction", "is_visible"),
    [(99, True), (100, False), (101, True), (102, False), (104, True), (105, False)],
)
def test_a_transaction_is_visible_unless_it_ran_or_had_not_begun(
    transaction: int, is_visible: bool
) -> None:
    assert COVERAGE.covers(HistorySnapshot("100:105:100,102"), of(transaction)) is is_visible


@given(SNAPSHOTS, SNAPSHOTS)
def test_a_snapshot_shows_all_of_another_if_it_shows_each_of_its_transactions(
    one: str, other: str
) -> None:
    here, there = parse_snapshot(one), parse_snapshot(other)
    expected = all(here.shows(xid) for xid in range(20) if there.shows(xid))
    assert here.shows_all_of(there) is expected
    assert COVERAGE.meets(HistorySnapshot(one), MustCover(snapshot=other)) is expected


def test_transactions_below_the_xmin_of_a_read_snapshot_are_forgotten() -> None:
    must = COVERAGE.with_changes(COVERAGE.with_changes(MustCover(), [of(7)]), [of(9), of(9)])
    assert must.transactions == {7, 9}
    assert COVERAGE.settled(must, HistorySnapshot("8:12:8")).transactions == {9}


def test_the_start_is_demanded_until_all_of_its_transactions_are_old() -> None:
    must = MustCover(snapshot="5:9:5")
    assert COVERAGE.settled(must, HistorySnapshot("8:9:8")).snapshot == "5:9:5"
    assert COVERAGE.settled(must, HistorySnapshot("9:9:")).snapshot is None


def test_a_change_that_names_no_transaction_is_refused() -> None:
    with pytest.raises(ValueError, match="names no transaction"):
        COVERAGE.covers(HistorySnapshot("5:9:5"), of(None))
