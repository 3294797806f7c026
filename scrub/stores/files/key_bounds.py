# SPDX-License-Identifier: Apache-2.0
"""Which files, row groups and rows can contain given keys.

Files and row groups whose bounds in the log or footer exclude every key are skipped. Only bounds of
integers, strings and bytes are used: all writers order these alike. For other types, the file is
read.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]

_BOUNDED = (int, str, bytes)
_HASH_BITS = 16
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2 ** 64 by the golden ratio: bits mix well


class KeyBounds:
    """Keys, column by column, and tests of what cannot contain any of them."""

    def __init__(self, keys: pa.Table) -> None:
        self._columns = {name: keys.column(name) for name in keys.column_names}
        # 0.0 and -0.0 are one key, but two hashes: floats rule nothing out.
        self._sieves = {
            name: _Sieve(column.combine_chunks().unique())
            for name, column in self._columns.items()
            if not pa.types.is_floating(column.type)
        }
        self._sorted: dict[str, list[Any]] = {}
        for name, column in self._columns.items():
            values = column.unique().to_pylist() if _is_bounded(column.type) else [None]
            if None not in values:
                self._sorted[name] = sorted(values)

    def may_hold(self, lowest: Mapping[str, Any], highest: Mapping[str, Any]) -> bool:
        """Whether values between the bounds can be among the keys, in every column."""
        return all(
            _meets(values, lowest.get(name), highest.get(name))
            for name, values in self._sorted.items()
        )

    def row_groups(self, metadata: Any) -> list[int]:
        """The row groups of a Parquet file that can hold one of the keys."""
        leaves = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
        wanted = {name: leaves[name] for name in self._sorted if name in leaves}
        chosen = []
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            bounds = {n: group.column(leaf).statistics for n, leaf in wanted.items()}
            known = {n: s for n, s in bounds.items() if s is not None and s.has_min_max}
            lowest = {n: s.min for n, s in known.items()}
            if self.may_hold(lowest, {n: s.max for n, s in known.items()}):
                chosen.append(number)
        return chosen

    def candidates(self, batch: pa.RecordBatch) -> Numbers:
        """The numbers of rows whose every column has a value that some key has there."""
        left: Numbers | None = None
        for name, sieve in self._sieves.items():
            column = batch.column(name)
            if left is None:
                left = sieve.passing(column)
            elif left.size:
                left = left[sieve.passing(column.take(pa.array(left)))]
        return np.arange(batch.num_rows) if left is None else left


class _Sieve:
    """Some values of a column; says which rows have one of them.

    Integers, the commonest keys, are sorted out by a few bits of a hash first: that takes a fifth
    of the time that looking all of them up takes.
    """

    def __init__(self, values: pa.Array) -> None:
        self._values = values
        self._marked: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None
        if pa.types.is_integer(values.type):
            self._marked = np.zeros(1 << _HASH_BITS, np.bool_)
            self._marked[_hashes(_with_zero(values))] = True

    def passing(self, column: pa.Array) -> Numbers:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if self._marked is None:
            return self._looked_up(column)
        left: Numbers = np.flatnonzero(self._marked.take(_hashes(_with_zero(column))))
        return left[self._looked_up(column.take(pa.array(left)))] if left.size else left

    def _looked_up(self, column: pa.Array) -> Numbers:
        found = pc.is_in(column, value_set=self._values)
        numbers: Numbers = np.flatnonzero(found.to_numpy(zero_copy_only=False))
        return numbers


def _with_zero(column: pa.Array) -> pa.Array:
    """Zero for NULL: the two are told apart when they are looked up."""
    return column.fill_null(0) if column.null_count else column


def _hashes(values: pa.Array) -> Numbers:
    """A few bits of each integer, which all of its own bits have a say in."""
    integers = values.to_numpy().astype(np.int64, copy=False).view(np.uint64)
    # As signed integers, numpy takes them for places as they are.
    hashes: Numbers = ((integers * _HASH_FACTOR) >> np.uint64(64 - _HASH_BITS)).view(np.int64)
    return hashes


def _is_bounded(arrow: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(arrow) or pa.types.is_string(arrow) or pa.types.is_binary(arrow)
    )


def _meets(values: Sequence[Any], lowest: Any, highest: Any) -> bool:
    if not values or not (isinstance(lowest, _BOUNDED) and isinstance(highest, _BOUNDED)):
        return True
    if type(lowest) is not type(values[0]) or type(highest) is not type(values[0]):
        return True
    place = bisect_left(values, lowest)
    return place < len(values) and bool(values[place] <= highest)
