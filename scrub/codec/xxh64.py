# SPDX-License-Identifier: Apache-2.0
"""XXH64 folded over columns: the compiled loops under the fingerprint.

Each loop advances two running digests of every row by one column's value, into other arrays or the
same ones. A digest is the seed of
the next step, exactly as Spark's `xxhash64(a, b, ...)` chains its arguments, so that the numbers
computed here equal those that Spark SQL computes. A NULL folds a tag, one for each digest, instead
of a value.

`valid` is Arrow's validity bitmap, or empty when the column holds no NULL; `start` is the array's
offset into its buffers.

Each function has one signature, for which it is compiled: an array that may be written to is also
one that is only read, and an aligned one may be taken for another.
"""

from typing import Any, TypeAlias

import numpy as np
from numba import boolean, int32, int64, types, uint8, uint64, void
from numpy.typing import NDArray

from scrub.codec.compiling.functions import inlined, loop
from scrub.codec.words import PRIMES, Bitmap, Digests

Integers: TypeAlias = NDArray[Any]
Word: TypeAlias = Any
"""An unsigned 64-bit number inside compiled code, where Python's int has no meaning."""

PRIME_1, PRIME_2, PRIME_3, PRIME_4, PRIME_5 = map(np.uint64, PRIMES)


def _read(of: Any) -> Any:
    """A buffer of Arrow's, which is only read, and may begin anywhere."""
    return types.Array(of, 1, "C", readonly=True, aligned=False)


_WORDS, _OUT, _BITS = types.Array(uint64, 1, "C", readonly=True), uint64[::1], _read(uint8)


@inlined(uint64(uint64, int64))
def _rotate(value: Word, bits: int) -> Word:
    return uint64(uint64(value << uint64(bits)) | uint64(value >> uint64(64 - bits)))


@inlined(uint64(uint64))
def _avalanche(digest: Word) -> Word:
    digest ^= digest >> uint64(33)
    digest *= PRIME_2
    digest ^= digest >> uint64(29)
    digest *= PRIME_3
    return digest ^ (digest >> uint64(32))


@inlined(uint64(uint64, uint64))
def _step_64(digest: Word, word: Word) -> Word:
    return _rotate(digest ^ (_rotate(word * PRIME_2, 31) * PRIME_1), 27) * PRIME_1 + PRIME_4


@inlined(uint64(uint64, uint64))
def _step_32(digest: Word, word: Word) -> Word:
    return _rotate(digest ^ (word * PRIME_1), 23) * PRIME_2 + PRIME_3


@inlined(uint64(uint64, uint64))
def hash_long(word: Word, seed: Word) -> Word:
    """XXH64 of eight little-endian bytes."""
    return _avalanche(_step_64(seed + PRIME_5 + uint64(8), word))


@inlined(uint64(_BITS, int64, int64))
def _load(data: Bitmap, at: int, size: int) -> Word:
    # A place that cannot be negative need not be looked at: all bytes are read in one go.
    word = uint64(0)
    for byte in range(uint64(size)):
        word |= uint64(data[uint64(at) + byte]) << (uint64(8) * byte)
    return word


@inlined(uint64(uint64, uint64))
def _lane(accumulator: Word, word: Word) -> Word:
    return _rotate(accumulator + word * PRIME_2, 31) * PRIME_1


@inlined(uint64(uint64, uint64))
def _merge_lane(digest: Word, lane: Word) -> Word:
    return (digest ^ _lane(uint64(0), lane)) * PRIME_1 + PRIME_4


@inlined(uint64(_BITS, int64, int64, uint64))
def _hash_stripes(data: Bitmap, begin: int, stripes_end: int, seed: Word) -> Word:
    """The four-lane loop of XXH64 over the 32-byte stripes of a long value."""
    lane_1 = seed + PRIME_1 + PRIME_2
    lane_2 = seed + PRIME_2
    lane_3 = seed
    lane_4 = seed - PRIME_1
    at = begin
    while at < stripes_end:
        lane_1 = _lane(lane_1, _load(data, at, 8))
        lane_2 = _lane(lane_2, _load(data, at + 8, 8))
        lane_3 = _lane(lane_3, _load(data, at + 16, 8))
        lane_4 = _lane(lane_4, _load(data, at + 24, 8))
        at += 32
    digest = _rotate(lane_1, 1) + _rotate(lane_2, 7) + _rotate(lane_3, 12) + _rotate(lane_4, 18)
    digest = _merge_lane(digest, lane_1)
    digest = _merge_lane(digest, lane_2)
    digest = _merge_lane(digest, lane_3)
    return _merge_lane(digest, lane_4)


@inlined(uint64(_BITS, int64, int64, uint64))
def hash_bytes(data: Bitmap, begin: int, end: int, seed: Word) -> Word:
    """XXH64 of data[begin:end]."""
    at = begin
    if end - begin >= 32:
        stripes_end = begin + (end - begin) // 32 * 32
        digest = _hash_stripes(data, begin, stripes_end, seed)
        at = stripes_end
    else:
        digest = seed + PRIME_5
    digest += uint64(end - begin)
    while at + 8 <= end:
        digest = _step_64(digest, _load(data, at, 8))
        at += 8
    if at + 4 <= end:
        digest = _step_32(digest, _load(data, at, 4))
        at += 4
    while at < end:
        digest = _rotate(digest ^ (uint64(data[at]) * PRIME_5), 11) * PRIME_1
        at += 1
    return _avalanche(digest)


@inlined(boolean(_BITS, int64))
def _is_valid(valid: Bitmap, position: int) -> bool:
    return (valid[position >> 3] >> (position & 7)) & 1 == 1


@loop(void(_read(int64), int64, _BITS, int64, uint64, uint64, _WORDS, _WORDS, _OUT, _OUT))
def fold_words(
    words: Integers,
    stride: int,
    valid: Bitmap,
    start: int,
    first_tag: Word,
    second_tag: Word,
    first: Digests,
    second: Digests,
    first_out: Digests,
    second_out: Digests,
) -> None:
    """Fold a column of 64-bit words, `stride` apart (2 takes the low half of a decimal128)."""
    if len(valid) == 0 and stride == 1:
        # No branch and no stride: the compiler makes vector instructions of it.
        here = words[start : start + len(first)]
        for row in range(len(first)):
            first_out[row] = hash_long(uint64(here[row]), first[row])
            second_out[row] = hash_long(uint64(here[row]), second[row])
        return
    for row in range(len(first)):
        if len(valid) and not _is_valid(valid, start + row):
            first_out[row] = hash_long(first_tag, first[row])
            second_out[row] = hash_long(second_tag, second[row])
        else:
            word = uint64(words[(start + row) * stride])
            first_out[row] = hash_long(word, first[row])
            second_out[row] = hash_long(word, second[row])


@loop(void(_read(int32), _WORDS, _WORDS, _BITS, int64, uint64, uint64, _WORDS, _WORDS, _OUT, _OUT))
def fold_codes(
    codes: Integers,
    first_words: Digests,
    second_words: Digests,
    valid: Bitmap,
    start: int,
    first_tag: Word,
    second_tag: Word,
    first: Digests,
    second: Digests,
    first_out: Digests,
    second_out: Digests,
) -> None:
    """Fold a dictionary-encoded column, given both digests of each dictionary value."""
    if len(valid) == 0:
        here = codes[start : start + len(first)]
        for row in range(len(first)):
            first_out[row] = hash_long(first_words[here[row]], first[row])
            second_out[row] = hash_long(second_words[here[row]], second[row])
        return
    for row in range(len(first)):
        if not _is_valid(valid, start + row):
            first_out[row] = hash_long(first_tag, first[row])
            second_out[row] = hash_long(second_tag, second[row])
        else:
            code = codes[start + row]
            first_out[row] = hash_long(first_words[code], first[row])
            second_out[row] = hash_long(second_words[code], second[row])


@loop(void(_read(int32), _BITS, int64, uint64, _OUT))
def hash_strings(offsets: Integers, data: Bitmap, start: int, seed: Word, digests: Digests) -> None:
    """Digest each string or binary of a column."""
    for row in range(len(digests)):
        begin, end = int64(offsets[start + row]), int64(offsets[start + row + 1])
        digests[row] = hash_bytes(data, begin, end, seed)


@loop(void(_read(int64), int64, uint64, _OUT))
def hash_wide_decimals(words: Integers, start: int, seed: Word, digests: Digests) -> None:
    """Digest each decimal128 as Java's BigInteger.toByteArray: the shortest big-endian form."""
    octets = np.empty(16, dtype=np.uint8)
    for row in range(len(digests)):
        low, high = uint64(words[2 * (start + row)]), uint64(words[2 * (start + row) + 1])
        for byte in range(8):
            octets[15 - byte] = np.uint8((low >> uint64(8 * byte)) & uint64(0xFF))
            octets[7 - byte] = np.uint8((high >> uint64(8 * byte)) & uint64(0xFF))
        sign = 0xFF if octets[0] & 0x80 else 0x00
        begin = 0
        # A leading byte that only repeats the sign is not part of the shortest form.
        while begin < 15 and octets[begin] == sign and (octets[begin + 1] & 0x80) == (sign & 0x80):
            begin += 1
        digests[row] = hash_bytes(octets, begin, 16, seed)


@loop(void(_WORDS, int64, boolean[::1], _WORDS, _WORDS, boolean, uint64[:, ::1]))
def add_to_buckets(
    placement: Digests,
    shift: int,
    chosen: NDArray[np.bool_],
    first: Digests,
    second: Digests,
    is_expected: bool,
    sums: Digests,
) -> None:
    """Count every chosen row in its bucket, and add its digests there, or take them away.

    A bucket holds four numbers: rows expected, entries there, and both sums of digests, of which
    entries take away what rows add. An empty `chosen` means all rows.
    """
    for row in range(len(placement)):
        if len(chosen) and not chosen[row]:
            continue
        bucket = placement[row] >> uint64(shift)
        if is_expected:
            sums[bucket, 0] += uint64(1)
            sums[bucket, 2] += first[row]
            sums[bucket, 3] += second[row]
        else:
            sums[bucket, 1] += uint64(1)
            sums[bucket, 2] -= first[row]
            sums[bucket, 3] -= second[row]


@loop(boolean[::1](_WORDS, int64, _BITS))
def rows_in_buckets(placement: Digests, shift: int, wanted: Bitmap) -> NDArray[np.bool_]:
    """Which rows fall into a bucket whose bit is set in `wanted`."""
    chosen = np.empty(len(placement), dtype=np.bool_)
    for row in range(len(placement)):
        bucket = placement[row] >> uint64(shift)
        chosen[row] = (wanted[bucket >> uint64(3)] >> np.uint8(bucket & uint64(7))) & 1 == 1
    return chosen
