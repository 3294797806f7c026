# SPDX-License-Identifier: Apache-2.0
"""Keys that travel to tasks as digests, to be probed there.

A set of keys is filled once in a worker, not once a task, and the sets used last are kept.
"""

import uuid
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checks.keys.split_rows import Key, KeyDigests, key_digests
from scrub.codec import digest_sets
from scrub.codec.digest import Salt
from scrub.codec.digest_sets import Pairs

_SETS_BYTES_MAX = 512 << 20  # in a worker

_sets: OrderedDict[str, Pairs] = OrderedDict()


@dataclass(frozen=True, slots=True)
class HeldKeys:
    """Digests of some keys, made with one salt. A key whose digests are not here is not one."""

    pairs: Pairs = field(repr=False)
    salt: Salt
    identity: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.pairs)

    def lacks(self, batch: pa.RecordBatch, key: Key) -> NDArray[np.bool_]:
        """Which rows have a complete key that is not among these."""
        digests = key_digests(batch, key, self.salt)
        return digests.of_rows(~self._found(digests))

    def has(self, batch: pa.RecordBatch, key: Key) -> NDArray[np.bool_]:
        """Which rows have a complete key that is among these."""
        digests = key_digests(batch, key, self.salt)
        return digests.of_rows(self._found(digests))

    def _found(self, keys: KeyDigests) -> NDArray[np.bool_]:
        flags: NDArray[np.bool_] = digest_sets.found(
            _set_of(self), keys.digests.first, keys.digests.second
        )
        return flags


@dataclass(frozen=True, slots=True)
class SuspectedKeys:
    """First digests that more than one row has; whether the keys are equal, their values tell."""

    held: HeldKeys

    @classmethod
    def of(cls, firsts: NDArray[np.uint64], salt: Salt) -> "SuspectedKeys":
        return cls(HeldKeys(np.column_stack([firsts, firsts]), salt))

    def has(self, batch: pa.RecordBatch, key: Key) -> NDArray[np.bool_]:
        """Which rows have a key that is suspected."""
        keys = key_digests(batch, key, self.held.salt)
        first = keys.digests.first
        return keys.of_rows(digest_sets.found(_set_of(self.held), first, first))


def _set_of(held: HeldKeys) -> Pairs:
    """The set of these keys, from the last ones if it is among them."""
    if held.identity not in _sets:
        _sets[held.identity] = digest_sets.set_of(held.pairs)
        while len(_sets) > 1 and sum(made.nbytes for made in _sets.values()) > _SETS_BYTES_MAX:
            _sets.popitem(last=False)
    _sets.move_to_end(held.identity)
    return _sets[held.identity]
