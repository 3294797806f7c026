# SPDX-License-Identifier: Apache-2.0
"""Defects that are left to people, each with the reason and what they can do."""

from collections.abc import Mapping

from scrub.model.defect import Defect, DefectKind
from scrub.model.repair import Action, Refusal
from scrub.stores.repairing import Reason

REFUSED: Mapping[DefectKind, Reason] = {
    DefectKind.UNIQUE_VIOLATION: (
        "two rows of the table share the key, and only their owner knows which one is wrong",
        "correct one of the rows; its entry then follows",
    ),
    DefectKind.DUPLICATE_KEY: (
        "the table has the row more than once, and the table is right by definition",
        "remove the copies from the table",
    ),
    DefectKind.NULL_VIOLATION: (
        "the table lacks a value, and no index can supply it",
        "give the column a value, or say `nullable: true` in the catalog",
    ),
    DefectKind.CHECK_VIOLATION: (
        "the row breaks a rule of the catalog, and only its owner knows what it should hold",
        "correct the row, or the rule under `checks:` in the catalog",
    ),
    DefectKind.FOREIGN_KEY_VIOLATION: (
        "the row that it refers to is absent, and no index can supply it",
        "correct the row, or restore the one that it refers to",
    ),
    DefectKind.INVALID_ENCODING: (
        "the bytes cannot be read, so what they should be is unknown",
        "restore the row or the file from a backup",
    ),
    DefectKind.INVALID_COMPOSITE: (
        "key and value of a column disagree, and neither is known to be right",
        "write the row again from its source",
    ),
    DefectKind.NONCANONICAL: (
        "the bytes read well, but rewriting pairs is not offered for this store",
        "write the row again with the system that owns it",
    ),
    DefectKind.MISSING_FAMILY: (
        "the pair of family 0 is absent, and its values are unknown",
        "restore the row from a backup",
    ),
    DefectKind.UNEXPECTED_KEY: (
        "the key belongs to no index of the catalog, so it may still be needed",
        "add the index to the catalog, or remove the pair by hand",
    ),
    DefectKind.KEY_ORDER: (
        "pairs stand in another order than their keys; what they say may be right",
        "write the relation again in the order of its keys",
    ),
}
"""Kinds that are left to people, with the reason and what they can do."""


def refuse(about: Defect | Action, why: Reason) -> Refusal:
    """The refusal of a defect, or of the action that was planned about it."""
    defect, kind = (
        (about.id, about.kind) if isinstance(about, Defect) else (about.defect, about.defect_kind)
    )
    return Refusal(
        defect=defect,
        defect_kind=kind,
        table=about.table,
        index=about.index,
        primary_key=about.primary_key,
        reason=why[0],
        remedy=why[1],
    )
