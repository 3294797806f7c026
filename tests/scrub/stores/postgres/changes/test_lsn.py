# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrub.stores.postgres.changes.lsn import lsn_number, lsn_text
from scrub.stores.postgres.changes.transaction_ids import widened


@given(st.integers(0, 2**64 - 1))
def test_a_place_is_the_same_as_text(lsn: int) -> None:
    assert lsn_number(lsn_text(lsn)) == lsn


def test_it_is_written_as_the_server_writes_it() -> None:
    assert lsn_text(0x16_B374D848) == "16/B374D848"
    assert lsn_text(0x16F2BA0) == "0/16F2BA0"


@given(st.integers(2**31, 2**40), st.integers(-(2**31) + 1, 2**31 - 1))
def test_a_short_id_gets_the_epoch_of_the_ids_near_it(near: int, distance: int) -> None:
    assert widened((near + distance) % 2**32, near) == near + distance


@pytest.mark.parametrize(
    ("xid", "near", "wide"),
    [(755, 760, 755), (3, 2**32 + 5, 2**32 + 3), (2**32 - 2, 2**32 + 5, 2**32 - 2)],
)
def test_around_the_turn_of_an_epoch(xid: int, near: int, wide: int) -> None:
    assert widened(xid, near) == wide
