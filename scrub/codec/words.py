# SPDX-License-Identifier: Apache-2.0
"""What digests are made of: arrays of 64-bit words, bitmaps, and the primes of XXH64."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Digests: TypeAlias = NDArray[np.uint64]
Pairs: TypeAlias = NDArray[np.uint64]  # (keys, 2): first and second digest
Keys: TypeAlias = NDArray[np.uint64]  # pairs; or, with one dimension, first digests alone
Bitmap: TypeAlias = NDArray[np.uint8]

PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
