# SPDX-License-Identifier: Apache-2.0
"""How many buckets a table's keys are spread over."""

import math

ROWS_PER_BUCKET = 300
BUCKET_BITS_MIN, BUCKET_BITS_MAX = 4, 18  # the driver holds 32 bytes for each bucket and index
BUCKET_BITS_UNKNOWN = 16  # for a source that does not tell its size


def bucket_bits(rows: int | None) -> int:
    """How many buckets, as a power of two: a few hundred rows each, within bounds."""
    if rows is None:
        return BUCKET_BITS_UNKNOWN
    wanted = round(math.log2(max(rows / ROWS_PER_BUCKET, 1)))
    return min(max(wanted, BUCKET_BITS_MIN), BUCKET_BITS_MAX)
