# SPDX-License-Identifier: Apache-2.0
"""The digest of rows: two 64-bit numbers a row that both engines compute alike.

Digest version 1. A row is a sequence of columns, primary key first. Each column gives one 64-bit
word: integers, booleans, dates and times their value; floats the bits of the double, with one NaN
and one zero; decimals their unscaled value; strings, binaries and decimals of more than 18 digits
their XXH64 under the digest's own salt; NULL a tag that is another one in each digest, so that no
value can stand for NULL in both. The words are chained by
XXH64, each step seeded with the result of the one before, from two starts that depend on two
independent salts. A chain is finalised after each column, so sums of digests do not cancel, and the
order of columns matters.

`scrub.spark.digest` writes the same definition in Spark SQL; tests hold the two together.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scrub.codec.lazily import xxh64
from scrub.codec.words import PRIMES, Bitmap, Digests
from scrub.model.types import ColumnType, TypeName

DIGEST_VERSION = 1
SPARK_SEED = 42  # where Spark's xxhash64() starts every chain
DECIMAL_DIGITS_IN_WORD = 18  # decimals up to here are hashed by their unscaled 64-bit value

_WORD = 1 << 64
_NO_NULLS = np.empty(0, dtype=np.uint8)


@dataclass(frozen=True)  # no slots: what is derived from the numbers is kept
class Salt:
    """Two signed 64-bit numbers that make one run's digests unlike any other's."""

    first: int
    second: int

    @classmethod
    def fresh(cls) -> "Salt":
        return cls(secrets.randbits(64) - (1 << 63), secrets.randbits(64) - (1 << 63))

    @cached_property
    def null_tags(self) -> tuple[int, int]:
        """The words that stand for NULL, as signed numbers; no stored value can aim at them."""
        first, second = self.first % _WORD, self.second % _WORD
        return _signed(_hash_word(first, second)), _signed(_hash_word(second, first))

    @cached_property
    def starts(self) -> tuple[np.uint64, np.uint64]:
        """Where the two chains begin: Spark's seed, with the salt folded in."""
        return (
            np.uint64(_hash_word(self.first % _WORD, SPARK_SEED)),
            np.uint64(_hash_word(self.second % _WORD, SPARK_SEED)),
        )


@dataclass(frozen=True, slots=True)
class RowDigests:
    """The two running digests of every row of a batch."""

    first: Digests
    second: Digests

    @classmethod
    def start(cls, rows: int, salt: Salt) -> "RowDigests":
        first, second = salt.starts
        return cls(np.full(rows, first), np.full(rows, second))

    def fold(self, columns: Sequence[pa.Array], salt: Salt) -> "RowDigests":
        """The digests after some more columns; the ones here stay as they were."""
        result = self
        for column in columns:
            result = _fold_column(column, salt, result)
        return result


def is_told_by_first_digest(types: Sequence[ColumnType]) -> bool:
    """Whether keys of these columns that have one first digest are surely equal.

    One column that gives a 64-bit word: XXH64 maps words to digests one to one.
    """
    if len(types) != 1:
        return False
    name, precision = types[0].name, types[0].precision
    hashed = name in (TypeName.STRING, TypeName.BINARY)
    return not hashed and not (name is TypeName.DECIMAL and precision > DECIMAL_DIGITS_IN_WORD)


def _hash_word(word: int, seed: int) -> int:
    """XXH64 of eight bytes in plain Python, for the few words that are made once a run."""
    mask = _WORD - 1

    def rotate(value: int, bits: int) -> int:
        return (value << bits | value >> (64 - bits)) & mask

    one, two, three, four, five = PRIMES
    digest = (seed + five + 8) & mask
    digest ^= rotate(word * two & mask, 31) * one & mask
    digest = (rotate(digest, 27) * one + four) & mask
    digest = (digest ^ digest >> 33) * two & mask
    digest = (digest ^ digest >> 29) * three & mask
    return digest ^ digest >> 32


def _signed(word: int) -> int:
    return word - _WORD if word >= _WORD >> 1 else word


def _validity(array: pa.Array) -> Bitmap:
    bitmap = array.buffers()[0]
    return _NO_NULLS if array.null_count == 0 else np.frombuffer(bitmap, dtype=np.uint8)


def _fold_column(array: pa.Array, salt: Salt, before: RowDigests) -> RowDigests:
    after = RowDigests(np.empty_like(before.first), np.empty_like(before.second))
    tags = [np.uint64(tag % _WORD) for tag in salt.null_tags]
    running = (*tags, before.first, before.second, after.first, after.second)
    if pa.types.is_dictionary(array.type):
        codes = array.indices.cast(pa.int32())
        numbers = _buffer(codes, 1, np.int32)
        words = _text_words(array.dictionary, salt)
        xxh64.fold_codes(numbers, *words, _validity(codes), codes.offset, *running)
    elif _is_text(array.type) or _is_wide_decimal(array.type):
        positions = np.arange(len(array), dtype=np.int32)
        bits = np.packbits(array.is_valid().to_numpy(zero_copy_only=False), bitorder="little")
        valid = bits if array.null_count else _NO_NULLS
        xxh64.fold_codes(positions, *_text_words(array, salt), valid, 0, *running)
    else:
        numbers, stride, array = _words(array)
        xxh64.fold_words(numbers, stride, _validity(array), array.offset, *running)
    return after


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_binary(arrow))


def _is_wide_decimal(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(arrow)) and arrow.precision > DECIMAL_DIGITS_IN_WORD


def _buffer(array: pa.Array, position: int, dtype: object) -> NDArray[np.generic]:
    buffer = array.buffers()[position]
    # An array without values may come without buffers.
    return np.frombuffer(buffer if buffer is not None else b"", dtype=dtype)  # type: ignore[call-overload, no-any-return]


def _text_words(array: pa.Array, salt: Salt) -> tuple[Digests, Digests]:
    """Both digests of each value, each under its own chain's start; NULLs give any number."""
    first_words = np.zeros(len(array), dtype=np.uint64)
    second_words = np.zeros(len(array), dtype=np.uint64)
    for start, words in zip(salt.starts, (first_words, second_words), strict=True):
        if _is_wide_decimal(array.type):
            xxh64.hash_wide_decimals(_buffer(array, 1, np.int64), array.offset, start, words)
        elif len(array):
            offsets, data = _buffer(array, 1, np.int32), _buffer(array, 2, np.uint8)
            xxh64.hash_strings(offsets, data, array.offset, start, words)
    return first_words, second_words


def _words(array: pa.Array) -> tuple[NDArray[np.generic], int, pa.Array]:
    """A fixed-width column as 64-bit words, how far apart they are, and the array they are of."""
    if pa.types.is_decimal(array.type):
        return _buffer(array, 1, np.int64), 2, array
    if pa.types.is_floating(array.type):
        values = pc.cast(array, pa.float64()).to_numpy(zero_copy_only=False)
        values = np.where(np.isnan(values), np.nan, values + 0.0)  # one NaN; -0.0 becomes 0.0
        words = pa.array(values.view(np.int64), mask=~array.is_valid().to_numpy(False))
        return _buffer(words, 1, np.int64), 1, words
    if pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    if pa.types.is_timestamp(array.type):
        array = array.view(pa.int64())
    words = pc.cast(array, pa.int64())
    return _buffer(words, 1, np.int64), 1, words


def verify_digest() -> None:
    """Raise if this machine computes other digests than the one that planned the run."""
    salt = Salt(first=1, second=-2)
    columns = [
        pa.array([7, None], pa.int64()),
        pa.array(["é", None]),
        pa.array([None, -0.0], pa.float64()),
    ]
    digests = RowDigests.start(2, salt).fold(columns, salt)
    found = (*digests.first.tolist(), *digests.second.tolist())
    if found != TEST_VECTOR:
        raise RuntimeError(f"digest version {DIGEST_VERSION} gives {found}, not {TEST_VECTOR}")


TEST_VECTOR = (
    6725207901911379539,
    2685210265379542774,
    17451880308220484966,
    10680280976620675410,
)
