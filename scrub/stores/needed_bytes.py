# SPDX-License-Identifier: Apache-2.0
"""About how many bytes have to be read of a relation, if only some columns are wanted."""

from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from scrub.model.relation import RelationFacts, Split, SplitKind
from scrub.stores.locations import open_file

_SAMPLED_FILES = 3


def needed_bytes(facts: RelationFacts, columns: Collection[str]) -> int:
    """The compressed size of these columns, by the share they have of a few files.

    Of a relation that is no Parquet, and of files that do not tell, everything counts.
    """
    total = sum(split.bytes for split in facts.splits)
    if not _files(facts):
        return max(total, facts.bytes or 0)
    return round(total * needed_share(facts, columns))


def needed_share(facts: RelationFacts, columns: Collection[str]) -> float:
    """The share that these columns have of all bytes."""
    files = _files(facts)
    if not files:
        return 1.0
    step = max(len(files) // _SAMPLED_FILES, 1)
    shares = [_share(split, columns, facts.storage_options) for split in files[::step]]
    return sum(shares) / len(shares)


def _files(facts: RelationFacts) -> list[Split]:
    return list({s.uri: s for s in facts.splits if s.kind is SplitKind.PARQUET}.values())


def _share(split: Split, columns: Collection[str], options: Mapping[str, str]) -> float:
    try:
        with open_file(split.uri, options) as opened:
            metadata = pq.read_metadata(opened)
    except (OSError, pa.ArrowException):
        return 1.0
    wanted = {name.lower() for name in columns}
    needed = every = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for position in range(group.num_columns):
            chunk = group.column(position)
            every += chunk.total_compressed_size
            if chunk.path_in_schema.partition(".")[0].lower() in wanted:
                needed += chunk.total_compressed_size
    return needed / every if every else 1.0
