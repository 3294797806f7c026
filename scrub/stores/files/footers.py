# SPDX-License-Identifier: Apache-2.0
"""What Parquet files say of themselves before their rows are read."""

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scrub.codec.arrow_types import from_arrow
from scrub.model.types import ColumnType, TypeName, widens
from scrub.stores.locations import open_file

_THREADS = 16


@dataclass(frozen=True, slots=True)
class Footer:
    """The schema, the row groups' sizes in rows and compressed bytes."""

    columns: Mapping[str, ColumnType | None]
    group_rows: tuple[int, ...]
    group_bytes: tuple[int, ...]

    @property
    def rows(self) -> int:
        return sum(self.group_rows)


def read_footers(uris: Sequence[str], options: Mapping[str, str]) -> list[Footer | Exception]:
    """Each footer, or why it cannot be read."""
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(lambda uri: _read_footer(uri, options), uris))


def _read_footer(uri: str, options: Mapping[str, str]) -> Footer | Exception:
    try:
        with open_file(uri, options) as opened:
            metadata = pq.read_metadata(opened)
        columns = _columns(metadata)
    except (OSError, pa.ArrowException) as error:
        return error
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    return Footer(
        columns=columns,
        group_rows=tuple(group.num_rows for group in groups),
        group_bytes=tuple(
            sum(group.column(i).total_compressed_size for i in range(group.num_columns))
            for group in groups
        ),
    )


def _columns(metadata: Any) -> dict[str, ColumnType | None]:
    schema = metadata.schema
    leaves = [schema.column(i) for i in range(metadata.num_columns)]
    # Arrow shows INT96 without a zone, but the writers of INT96 meant an instant.
    instants = {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
    return {
        field.name: ColumnType(TypeName.TIMESTAMP)
        if field.name in instants
        else from_arrow(field.type)
        for field in schema.to_arrow_schema()
    }


def merge_columns(footers: Sequence[Footer]) -> dict[str, ColumnType | None]:
    """The columns of all files, each in the type most files store, or one that widens it.

    A file that stores yet another type is left for the scan to name: one odd file must not make
    the whole relation unknown.
    """
    seen: dict[str, Counter[ColumnType | None]] = {}
    spelling: dict[str, str] = {}  # as Spark does, names are the same in any case of letters
    for footer in footers:
        for name, stored in footer.columns.items():
            first = spelling.setdefault(name.lower(), name)
            seen.setdefault(first, Counter())[stored] += 1
    return {name: _widest(types) for name, types in seen.items()}


def _widest(types: Counter[ColumnType | None]) -> ColumnType | None:
    (chosen, _), *others = types.most_common()
    for other, _ in others:
        if chosen is not None and other is not None and widens(chosen, other):
            chosen = other
    return chosen
