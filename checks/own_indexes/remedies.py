# SPDX-License-Identifier: Apache-2.0
"""What to do about an index of the database: statements to be run, with quoted names; pure."""

from collections.abc import Collection

from scrub.model.defect import DefectKind
from scrub.stores.postgres.own_indexes.collations import OutgrownCollation
from scrub.stores.postgres.own_indexes.description import OwnIndex
from scrub.stores.postgres.reindexing import reindex_statement


def of_defects(native: OwnIndex, kinds: Collection[DefectKind]) -> str:
    """Building anew mends every kind but one: a unique index of rows that clash cannot be built."""
    if DefectKind.UNIQUE_VIOLATION not in kinds:
        return _reindex(native)
    first = f"change or merge the rows that share a key of {native.sql}"
    return first if set(kinds) == {DefectKind.UNIQUE_VIOLATION} else f"{first}; {_reindex(native)}"


def of_unusable(native: OwnIndex) -> str:
    """An index that is not valid or not ready is mostly left over from a build that failed."""
    if native.is_partitioned:
        return (
            "create the index on the partitions that lack it, then "
            f"ALTER INDEX {native.sql} ATTACH PARTITION each of them;"
        )
    return f"{_reindex(native)} or, if nobody needs it, DROP INDEX CONCURRENTLY {native.sql};"


def after_collation(native: OwnIndex, collation: OutgrownCollation) -> str:
    """The version is refreshed last: it says that every index with the collation is built anew."""
    return f"{_reindex(native)} after all indexes with this collation, {collation.refresh};"


def _reindex(native: OwnIndex) -> str:
    return f"{reindex_statement(native.sql)};"
