# SPDX-License-Identifier: Apache-2.0
"""What the catalog says of a relation's columns and the relation does not have."""

from collections.abc import Iterator, Mapping

from scrub.catalog.spelling import did_you_mean
from scrub.model.relation import RelationFacts
from scrub.model.types import ColumnType, widens


def missing_or_other(
    facts: RelationFacts, wanted: Mapping[str, ColumnType | None], what: str
) -> Iterator[str]:
    """A line for each wanted column that is not there, or not in a type that fits."""
    for name, wanted_type in wanted.items():
        if name not in facts.columns:
            hint = did_you_mean(name, facts.columns, "columns")
            yield f"{what}: relation {facts.relation} has no column {name}; {hint}"
            continue
        stored = facts.columns[name]
        if stored is None:
            yield f"{what}: column {name} of {facts.relation} has a type scrub cannot compare"
        elif wanted_type is not None and not widens(stored, wanted_type):
            yield (
                f"{what}: column {name} of {facts.relation} is stored as {stored}, "
                f"the catalog says {wanted_type}"
            )
