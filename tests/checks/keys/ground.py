# SPDX-License-Identifier: Apache-2.0
"""Small relations for tests of keys, and keys whose first digests are the same."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Never

import pyarrow as pa
import pyarrow.parquet as pq

from checks.in_process import InProcess
from checks.jobs import Jobs
from checks.keys.split_rows import Key, SplitRows
from scrub.codec import xxh64
from scrub.codec.arrow_types import to_arrow
from scrub.codec.digest import RowDigests, Salt
from scrub.model.relation import Split
from scrub.model.table import Column
from scrub.model.types import parse_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def unasked_for() -> Never:
    raise AssertionError("Spark was asked for")


IN_THIS_PROCESS = Jobs(unasked_for, InProcess())
"""Jobs whose tasks run here; nobody may ask them for Spark."""


def jobs_on(spark: "SparkSession") -> Jobs:
    """Jobs whose tasks run on Spark."""
    return Jobs(lambda: spark)


SALT = Salt(first=-77, second=123_456_789_012)
WORD = 1 << 64
PRIMES = [int(getattr(xxh64, f"PRIME_{number}")) for number in range(1, 6)]


def key_of(**types: str) -> Key:
    """Columns by name and type."""
    return tuple(Column(name=name, type=parse_type(text)) for name, text in types.items())


def table_of(columns: Key, rows: list[tuple[Any, ...]]) -> pa.Table:
    """Rows in the catalog's types."""
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(v, to_arrow(c.type)) for v, c in zip(values, columns, strict=True)]
    return pa.Table.from_arrays(arrays, [column.name for column in columns])


def splits_of(
    directory: Path, table: pa.Table, files: int = 2, *, counted: bool = True
) -> SplitRows:
    """The rows in several files; stores do not always know how many rows a file has."""
    directory.mkdir()
    size = -(-len(table) // files) or 1
    splits = []
    for number in range(files):
        path, part = directory / f"{number}.parquet", table.slice(number * size, size)
        pq.write_table(part, path)
        rows = len(part) if counted else None
        splits.append(Split(uri=str(path), bytes=path.stat().st_size, rows=rows))
    return SplitRows(splits=tuple(splits))


def cut_off(rows: SplitRows, number: int) -> None:
    """Damage a file of the relation so that it cannot be read, but has its size."""
    path = Path(rows.splits[number].uri)
    path.write_bytes(bytes(path.stat().st_size))


def colliding(key: tuple[int, int], other: int, salt: Salt = SALT) -> tuple[int, int]:
    """A key that begins with `other` and has the first digest of `key`, both of two bigints.

    The digest of a word is a bijection: what the second word must be can be computed backwards.
    """
    wanted = int(_first(salt, *key))
    found = other, _signed(word_of(wanted, seed=int(_first(salt, other))))
    assert int(_first(salt, *found)) == wanted
    assert found != key
    return found


def _first(salt: Salt, *values: int) -> Any:
    arrays = [pa.array([value], pa.int64()) for value in values]
    return RowDigests.start(1, salt).fold(arrays, salt).first[0]


def word_of(digest: int, seed: int) -> int:
    """The eight bytes of which XXH64 makes this digest."""
    one, two, three, four, five = PRIMES
    digest ^= digest >> 32
    digest = digest * pow(three, -1, WORD) % WORD
    digest ^= digest >> 29 ^ digest >> 58
    digest = digest * pow(two, -1, WORD) % WORD
    digest ^= digest >> 33
    digest = (digest - four) * pow(one, -1, WORD) % WORD
    mixed = _rotated_back(digest, 27) ^ (seed + five + 8) % WORD
    return _rotated_back(mixed * pow(one, -1, WORD) % WORD, 31) * pow(two, -1, WORD) % WORD


def _rotated_back(word: int, bits: int) -> int:
    return (word >> bits | word << (64 - bits)) % WORD


def _signed(word: int) -> int:
    return word - WORD if word >> 63 else word
