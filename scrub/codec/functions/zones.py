# SPDX-License-Identifier: Apache-2.0
"""Clocks of a time zone over whole arrays: from instants to what clocks show, and back.

Python's own database of time zones says when the clocks of a zone are changed. Before 1970 the
copies of that database differ, so instants before that are in doubt, except in zones without
changes.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from scrub.codec.functions.doubt import InDoubt

Seconds = NDArray[np.int64]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400
_CYCLE = 146_097 * _DAY  # in 400 years the calendar repeats itself, and with it every rule
_NO_CHANGE = 3 * _DAY  # no zone has changed its clocks twice within as much
_RULES_FROM = 4_102_444_800  # 2100: no announced change is later, only rules go on


@dataclass(frozen=True, slots=True)
class Clocks:
    """How far the clocks of a zone are ahead of UTC, from one change to the next."""

    changes: Seconds  # the instants, in order
    offsets: Seconds  # one more: before the first change, and after each

    def ahead(self, instants: Seconds) -> Seconds:
        """How far clocks are ahead of UTC at some instants."""
        ahead: Seconds = self.offsets[np.searchsorted(self.changes, instants, side="right")]
        return ahead

    def instants(self, shown: Seconds, *, first: bool = False) -> Seconds:
        """When clocks showed that; the earlier of two such instants.

        A time that clocks never showed, because they were set forward, is as much later. With
        `first`, it is the instant at which they were set.
        """
        before, after = self.offsets[:-1], self.offsets[1:]
        begins = self.changes + np.maximum(before, after)
        era = np.searchsorted(begins, shown, side="right")
        found: Seconds = shown - self.offsets[era]
        if not first or not len(self.changes):
            return found
        following = np.append(self.changes, np.iinfo(np.int64).max)[era]
        earliest: Seconds = np.minimum(found, following)
        return earliest


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone from 1970 on, for ever."""

    name: str
    near: Clocks  # until 2100

    def ahead(self, instants: Seconds) -> Seconds:
        """How far they are ahead of UTC."""
        self._demand_known(instants)
        if not (instants >= _RULES_FROM).any():
            return self.near.ahead(instants)
        cycled, _ = _within_cycle(instants)
        return _far(self.name).ahead(cycled)

    def instants(self, shown: Seconds, *, first: bool = False) -> Seconds:
        """When clocks showed something; see `Clocks.instants`."""
        self._demand_known(shown - _DAY)
        if not (shown >= _RULES_FROM - _DAY).any():
            return self.near.instants(shown, first=first)
        cycled, moved = _within_cycle(shown)
        return _far(self.name).instants(cycled, first=first) + moved

    def _demand_known(self, instants: Seconds) -> None:
        if len(self.near.changes) and (instants < 0).any():
            raise InDoubt(f"instants before 1970 in {self.name}")


def _within_cycle(seconds: Seconds) -> tuple[Seconds, Seconds]:
    """Seconds moved into the first 400 years of rules, and by how much."""
    cycles = np.maximum(seconds - _RULES_FROM, 0) // _CYCLE
    return seconds - cycles * _CYCLE, cycles * _CYCLE


@lru_cache(maxsize=64)
def zone_named(name: str) -> Zone:
    """A zone of the IANA list."""
    near = _clocks(name, _RULES_FROM)
    if not len(near.changes) and not _is_fixed(name):
        # It has changed its clocks, but before 1970.
        near = Clocks(np.array([-_DAY], np.int64), np.repeat(near.offsets, 2))
    return Zone(name, near)


@lru_cache(maxsize=16)
def _far(name: str) -> Clocks:
    return _clocks(name, _RULES_FROM + _CYCLE + 2 * _DAY)


def _is_fixed(name: str) -> bool:
    return name in ("UTC", "GMT") or name.startswith("Etc/")


def _clocks(name: str, end: int) -> Clocks:
    """All changes between 1970 and an instant, found by asking about every few days."""
    zone = ZoneInfo(name)

    def ahead(instant: int) -> int:
        offset = (_EPOCH + timedelta(seconds=instant)).astimezone(zone).utcoffset()
        assert offset is not None, "a zone has an offset at every instant"
        return int(offset.total_seconds())

    changes: list[int] = []
    offsets = [ahead(0)]
    for begin in range(0, end, _NO_CHANGE):
        offset = ahead(begin + _NO_CHANGE)
        if offset == offsets[-1]:
            continue
        same, other = begin, begin + _NO_CHANGE
        while other - same > 1:
            middle = (same + other) // 2
            same, other = (middle, other) if ahead(middle) == offsets[-1] else (same, middle)
        changes.append(other)
        offsets.append(offset)
    return Clocks(np.array(changes, np.int64), np.array(offsets, np.int64))
