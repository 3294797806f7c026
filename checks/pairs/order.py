# SPDX-License-Identifier: Apache-2.0
"""Whether keys come in the order that their columns demand, where files are said to be sorted."""

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from scrub.codec.kv.layouts import Layout

OUT_OF_ORDER = 100
"""The verdict on a pair that does not belong where it is; the others are those of the codec."""


class KeyOrder:
    """The keys of one split, batch by batch."""

    def __init__(self, layout: "Layout") -> None:
        self.layout = layout
        self.before: bytes | None = None  # the last key, in its one spelling
        self.last = b""  # the same as it is stored

    def misplaced(self, keys: pa.Array) -> list[tuple[int, bytes]]:
        """Which of the next keys are less than the one before, each with that one."""
        from scrub.codec.kv.ordering import out_of_order

        positions, self.before = out_of_order(self.layout, keys, self.before)
        found = [(at, keys[at - 1].as_py() if at else self.last) for at in positions]
        if len(keys):
            self.last = keys[-1].as_py()
        return found
