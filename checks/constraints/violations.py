# SPDX-License-Identifier: Apache-2.0
"""What a look at one constraint gives: numbers, and a way to name the rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from checks.constraints.rows import dressed
from checks.findings import SlotFindings
from checks.keys.findings import is_repeated, is_shared, refers_to_nothing
from checks.numbering import Relation
from scrub.codec.json_values import from_text, key_value
from scrub.model.constraint import DEFECT_KINDS, Constraint, ConstraintKind
from scrub.model.defect import Defect, Value
from scrub.model.table import Column

Texts = Sequence[str | None]


def _nothing(limit: int | None) -> Iterator[Defect]:  # noqa: ARG001
    return iter(())


@dataclass(slots=True)
class Violations:
    """How a constraint is kept; `name` gives at most so many violations, or all of them."""

    constraint: Constraint
    found: SlotFindings = field(default_factory=SlotFindings)
    name: Callable[[int | None], Iterator[Defect]] = _nothing

    def count(self, number: int) -> None:
        """Note so many violations."""
        if number:
            kind = DEFECT_KINDS[self.constraint.kind]
            self.found.counts[kind] = self.found.counts.get(kind, 0) + number

    def give_up(self, reason: str) -> None:
        """Note why the constraint could not be checked, or not everywhere."""
        before = self.found.incomplete
        self.found.incomplete = f"{before}; {reason}" if before else reason


def bare_violation(
    relation: Relation,
    constraint: Constraint,
    primary_key: Mapping[str, Value],
    detail: str,
    column: str | None = None,
) -> Defect:
    """A violation without the constraint's name and the values it is judged by; see `dressed`."""
    return Defect(
        kind=DEFECT_KINDS[constraint.kind],
        table=relation.table.table.name,
        index=None,
        primary_key={name: key_value(value) for name, value in primary_key.items()},
        index_key=None,
        expected=None,
        actual=None,
        snapshot=relation.table.snapshot,
        detail=detail,
        column=column,
    )


@dataclass(frozen=True, slots=True)
class KeyDefects:
    """Rows that violate a constraint of keys, in the words of the model."""

    relation: Relation
    constraint: Constraint

    @property
    def key(self) -> tuple[Column, ...]:
        table = self.relation.table.table
        return tuple(map(table.column, self.constraint.columns))

    def defect(self, primary_key: Texts, key: Texts, copies: int) -> Defect:
        """One violation; values come as canonical texts."""
        table = self.relation.table.table
        of_row = _values(tuple(map(table.column, table.primary_key)), primary_key)
        bare = bare_violation(self.relation, self.constraint, of_row, self._detail(key, copies))
        shown = {} if self.constraint.kind is ConstraintKind.PRIMARY_KEY else _values(self.key, key)
        return dressed(bare, self.constraint, shown)

    def _detail(self, key: Texts, copies: int) -> str:
        match self.constraint.kind:
            case ConstraintKind.PRIMARY_KEY:
                return is_repeated(copies)
            case ConstraintKind.UNIQUE:
                return is_shared(self.key, key)
            case _:
                return refers_to_nothing(self.key, key, self.constraint.references or "")


def _values(columns: Sequence[Column], texts: Texts) -> dict[str, Value]:
    return {c.name: from_text(text, c.type) for c, text in zip(columns, texts, strict=True)}
