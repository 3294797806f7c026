# SPDX-License-Identifier: Apache-2.0
"""Which tables and indexes a request means."""

from collections.abc import Sequence

from scrub.catalog import Catalog
from scrub.catalog.bad_expression import BadExpression, UnreadableExpression
from scrub.catalog.expressions import check_expression
from scrub.catalog.spelling import did_you_mean
from scrub.errors import UsageError
from scrub.model.constraint import Constraint, constraints_of
from scrub.model.request import CheckRequest
from scrub.model.table import Index, Table


def known_checks(names: Sequence[str], option: str) -> tuple[str, ...]:
    """Names of checks, each once; one that there is not is answered with the closest."""
    from checks.registry import CHECKS

    known = [check.name for check in CHECKS]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known, "checks")
            raise UsageError(f"{option}: there is no check {name}", hint=hint)
    return tuple(dict.fromkeys(names))


def select_tables(catalog: Catalog, request: CheckRequest) -> tuple[Table, ...]:
    """The tables named, or all; an unknown name is answered with what there is."""
    names = dict.fromkeys(request.tables) or catalog.tables
    tables = tuple(catalog.table(name) for name in names)
    _require_indexes(tables, request)
    _require_constraints(tables, request)
    _require_where(tables, request.where)
    _require_as_of(tables, request)
    return tables


def select_indexes(table: Table, request: CheckRequest) -> tuple[Index, ...]:
    """The indexes of one table that the request means."""
    if not request.indexes:
        return table.indexes
    return tuple(
        i for i in table.indexes if {i.name, f"{table.name}.{i.name}"} & {*request.indexes}
    )


def _require_indexes(tables: tuple[Table, ...], request: CheckRequest) -> None:
    known = [n for t in tables for i in t.indexes for n in (i.name, f"{t.name}.{i.name}")]
    for name in request.indexes:
        if name not in known:
            of = ", ".join(table.name for table in tables)
            raise UsageError(
                f"there is no index {name} of {of}", hint=did_you_mean(name, known, "indexes")
            )


def select_constraints(table: Table, request: CheckRequest) -> tuple[Constraint, ...]:
    """The constraints of one table that the request means."""
    found = constraints_of(table)
    if not request.constraints:
        return found
    return tuple(c for c in found if {c.name, f"{table.name}.{c.name}"} & {*request.constraints})


def _require_constraints(tables: tuple[Table, ...], request: CheckRequest) -> None:
    known = [n for t in tables for c in constraints_of(t) for n in (c.name, f"{t.name}.{c.name}")]
    for name in request.constraints:
        if name not in known:
            of = ", ".join(table.name for table in tables)
            raise UsageError(
                f"there is no constraint {name} of {of}",
                hint=did_you_mean(name, dict.fromkeys(known), "constraints"),
            )


def _require_where(tables: tuple[Table, ...], where: str | None) -> None:
    if where is None:
        return
    for table in tables:
        try:
            check_expression(where, table.types)
        except BadExpression as error:
            about = f"it applies to the rows of {table.name}"
            if error.hint and not isinstance(error, UnreadableExpression):
                about = f"{error.hint}\n{about}"
            raise UsageError(f"--where {where!r} {error}", hint=about) from error


def _require_as_of(tables: tuple[Table, ...], request: CheckRequest) -> None:
    if request.as_of and request.settle_seconds is not None:
        raise UsageError(
            "--settle looks again at a later snapshot, and --as-of fixes one",
            hint="use one of the two",
        )
    known = [table.name for table in tables] + [i.name for t in tables for i in t.indexes]
    known += [key.references for table in tables for key in table.foreign_keys]
    for as_of in request.as_of:
        if as_of.relation is not None and as_of.relation not in known:
            raise UsageError(
                f"--as-of names {as_of.relation}, which is not part of this check",
                hint=did_you_mean(as_of.relation, known, "relations"),
            )
