# SPDX-License-Identifier: Apache-2.0
"""Constraints that a database declares, as far as a catalog can say them; the rest with reasons."""

from collections.abc import Mapping, Sequence

from scrub.app.catalog_init.from_directory import Draft
from scrub.catalog.bad_expression import BadExpression
from scrub.catalog.expressions import check_condition
from scrub.catalog.write import TableDeclarations
from scrub.model.constraint import RESERVED_NAMES
from scrub.model.table import ForeignKey, UniqueKey
from scrub.stores.postgres.introspection import Declared, DeclaredKey

_RESERVED = "every table uses its name for another constraint"


def declared_constraints(
    draft: Draft, of: Declared, drafts: Mapping[str, Draft]
) -> TableDeclarations:
    """The constraints of one table; `drafts` are all tables of the catalog, by name."""
    checks, checks_left_out = _checks(draft, of.checks)
    left_out = {key.name: f"{key.definition} (rows that exclude others)" for key in of.exclusions}
    unique, foreign_keys, remarks = [], [], {}
    for key in of.unique:
        if why := _unsaid(key, draft):
            left_out[key.name] = f"{key.definition} ({why})"
            continue
        unique.append(UniqueKey(name=key.name, columns=key.columns))
        types = {column.name: column for column in draft.relation.columns}
        if key.nulls_count and any(types[name].nullable for name in key.columns):
            remarks[key.name] = "in the database NULLs clash, too"
    for key in of.foreign_keys:
        if why := _unsaid(key, draft) or _unsaid_of_parent(key, draft, drafts):
            left_out[key.name] = f"{key.definition} ({why})"
            continue
        foreign_keys.append(_foreign_key(key, drafts))
        if key.nulls_count and len(key.columns) > 1:
            remarks[key.name] = "in the database it is MATCH FULL: all or none may be NULL"
    return TableDeclarations(
        checks=checks,
        checks_left_out=checks_left_out,
        unique=tuple(unique),
        foreign_keys=tuple(foreign_keys),
        keys_left_out=left_out,
        remarks=remarks,
    )


def _checks(draft: Draft, declared: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The checks that a catalog can have, and the others with the reason."""
    checks, left_out = {}, {}
    for name, text in declared.items():
        try:
            check_condition(text, draft.relation.types)
        except BadExpression as error:
            left_out[name] = f"{text} ({error})"
            continue
        if name in RESERVED_NAMES:
            left_out[name] = f"{text} ({_RESERVED})"
        else:
            checks[name] = text
    return checks, left_out


def _unsaid(key: DeclaredKey, draft: Draft) -> str:
    """Why a catalog cannot say it; empty if it can."""
    lacking = [name for name in key.columns if name not in draft.relation.types]
    if lacking:
        return f"the catalog does not have {', '.join(lacking)}"
    if key.is_period:
        return "it is about ranges that overlap"
    return _RESERVED if key.name in RESERVED_NAMES else ""


def _unsaid_of_parent(key: DeclaredKey, draft: Draft, drafts: Mapping[str, Draft]) -> str:
    if key.references is None:
        return "the table it refers to is in another schema"
    parent = drafts.get(key.references)
    if parent is None:
        return f"{key.references} is no table of the catalog"
    if sorted(key.referred) != sorted(parent.key.columns):
        return f"it does not refer to the primary key of {key.references}"
    for name, of_parent in zip(key.columns, key.referred, strict=True):
        own, wanted = draft.relation.types[name], parent.relation.types[of_parent]
        if own != wanted and not (own.is_integer and wanted.is_integer):
            return f"{name} is {own}, {of_parent} of {key.references} is {wanted}"
    return ""


def _foreign_key(key: DeclaredKey, drafts: Mapping[str, Draft]) -> ForeignKey:
    """The columns in the order of the primary key that they refer to."""
    parent = drafts[str(key.references)]
    columns: Sequence[str] = [key.columns[key.referred.index(name)] for name in parent.key.columns]
    return ForeignKey(name=key.name, columns=tuple(columns), references=parent.relation.name)
