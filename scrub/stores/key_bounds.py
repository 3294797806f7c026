# SPDX-License-Identifier: Apache-2.0
"""Which files and row groups can hold some keys, by the bounds that logs and footers give.

Only integers, strings and bytes are bounded: their order is the same for everyone who writes
bounds. Whatever else a column holds, its file is read.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_BOUNDED = (int, str, bytes)


class KeyBounds:
    """Keys, column by column, and what can be ruled out because of them."""

    def __init__(self, keys: pa.Table) -> None:
        self._columns = {name: keys.column(name) for name in keys.column_names}
        # 0.0 and -0.0 are one key, but two hashes: floats rule nothing out.
        self._wanted = {
            name: column.combine_chunks().unique()
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

    def mask(self, batch: pa.RecordBatch) -> pa.Array:
        """Rows whose every column has a value that some key has there."""
        chosen: pa.Array | None = None
        for name, wanted in self._wanted.items():
            found = pc.is_in(batch.column(name), value_set=wanted)
            chosen = found if chosen is None else pc.and_(chosen, found)
        return pa.repeat(True, batch.num_rows) if chosen is None else chosen


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
