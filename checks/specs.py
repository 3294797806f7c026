# SPDX-License-Identifier: Apache-2.0
"""What tasks do with the rows of a relation of columns: one scan for every check that needs it."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from checks.numbering import Relation
from checks.registry import INDEX, PHYSICAL
from checks.scan_spec import ScanSpec
from scrub.codec.digest import Salt


def scan_spec(relation: Relation, slots: frozenset[int], salt: Salt) -> ScanSpec:
    """What a native task does with this relation, for those of its slots still wanted."""
    return ScanSpec(
        columns=relation.columns,
        primary_key=relation.table.table.primary_key,
        bucket_bits=relation.table.bucket_bits,
        salt=salt,
        entries=INDEX.adds_up(relation, slots),
        physical=PHYSICAL.adds_up(relation),
        storage_options=relation.side.facts.storage_options,
    )


def is_looked_at(where: str | None) -> Column:
    """Whether an index's entry is part of the check; `where` speaks of columns it holds."""
    return F.coalesce(F.expr(where), F.lit(False)) if where else F.lit(True)
