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
        self.before: bytes | None = None

    def misplaced(self, keys: pa.Array) -> list[tuple[int, bytes]]:
        """Which of the next keys come too late, each with the key before it."""
        from scrub.codec.kv.ordering import out_of_order  # type: ignore[import-not-found]

        first = self.before
        positions, self.before = out_of_order(self.layout, keys, self.before)
        return [(int(at), (keys[int(at) - 1].as_py() if at else first) or b"") for at in positions]
