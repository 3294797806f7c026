# SPDX-License-Identifier: Apache-2.0
"""Compiled loops, for modules that are imported by checks which digest nothing themselves.

Loading numba and the loops takes half a second. A comparison inside a database needs neither.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrub.codec import digest_sets, xxh64
else:
    from scrub.lazy_module import LazyModule

    digest_sets = LazyModule("scrub.codec.digest_sets")
    xxh64 = LazyModule("scrub.codec.xxh64")

__all__ = ["digest_sets", "xxh64"]
