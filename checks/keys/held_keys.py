# SPDX-License-Identifier: Apache-2.0
"""Keys that travel to tasks as digests, to be probed there.

A set of keys is filled once in a process, not once a task, and the sets used last are kept. Tasks
may be threads of one process.
"""

import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.keys.split_rows import Key, key_digests
from scrub.codec.digest import RowDigests, Salt
from scrub.codec.lazily import digest_sets
from scrub.codec.words import Keys

_SETS_BYTES_MAX = 512 << 20  # in a worker

_sets: OrderedDict[str, Keys] = OrderedDict()
_filling = threading.Lock()


@dataclass(frozen=True, slots=True)
class HeldKeys:
    """Digests of some keys, made with one salt. A key whose digests are not here is not one.

    First digests alone are enough for keys that they tell apart, and to suspect any others.
    """

    digests: Keys = field(repr=False)
    salt: Salt
    identity: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __len__(self) -> int:
        """How many there are; one may be there several times."""
        return len(self.digests)

    def lacks(self, batch: pa.RecordBatch, key: Key) -> NDArray[np.bool_]:
        """Which rows have a complete key that is not among these."""
        digests = key_digests(batch, key, self.salt)
        return digests.of_rows(~self.has_digests(digests.digests))

    def has(self, batch: pa.RecordBatch, key: Key) -> NDArray[np.bool_]:
        """Which rows have a complete key that is among these."""
        digests = key_digests(batch, key, self.salt)
        return digests.of_rows(self.has_digests(digests.digests))

    def has_digests(self, keys: RowDigests) -> NDArray[np.bool_]:
        """Which keys are among these, whether they are complete or not."""
        table = _set_of(self)
        flags: NDArray[np.bool_] = (
            digest_sets.found_firsts(table, keys.first)
            if self.digests.ndim == 1
            else digest_sets.found(table, keys.first, keys.second)
        )
        return flags


def _set_of(held: HeldKeys) -> Keys:
    """The set of these keys, from the last ones if it is among them."""
    with _filling:
        if held.identity not in _sets:
            made_of = digest_sets.set_of_firsts if held.digests.ndim == 1 else digest_sets.set_of
            _sets[held.identity] = made_of(held.digests)
            while len(_sets) > 1 and sum(made.nbytes for made in _sets.values()) > _SETS_BYTES_MAX:
                _sets.popitem(last=False)
        _sets.move_to_end(held.identity)
        return _sets[held.identity]
