# SPDX-License-Identifier: Apache-2.0
import pickle

from scrub.model.stream.changes import UNCHANGED


def test_an_unchanged_value_is_the_same_in_every_process() -> None:
    assert pickle.loads(pickle.dumps(UNCHANGED)) is UNCHANGED
    assert repr(UNCHANGED) == "UNCHANGED"
