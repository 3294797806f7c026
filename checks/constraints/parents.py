# SPDX-License-Identifier: Apache-2.0
"""The stage before the scan: the keys of parents, held so that tasks can probe them.

The plan expects it of parents that seem to be small enough. If there are too many keys, or not all
of them can be read, the constraint is checked in another way: the plan that comes back says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from checks.columns.table_check_run import TableCheckRun
from checks.constraints.key_looks import key_of, parent_key, splits_of
from checks.constraints.plan import HELD_KEYS_MAX
from checks.constraints.rows import RowConstraint
from checks.failures import FAILURES
from checks.keys.foreign_key_look import ForeignKeyLook
from checks.keys.gathered_keys import gather_keys
from checks.keys.held_keys import HeldKeys
from checks.numbering import Relation
from checks.parts import Part
from checks.source import Reading
from checks.table_look import TableLook
from scrub.codec.digest import Salt
from scrub.model.plan import CheckPlan, ConstraintPlan, TablePlan, Way
from scrub.model.progress import Progress
from scrub.model.table import Table

Name = tuple[str, str]  # a table and a constraint of it


@dataclass(frozen=True, slots=True)
class HeldParents:
    """A plan whose foreign keys can be checked as it says, and what tasks are given for that."""

    plan: CheckPlan
    keys: Mapping[Name, HeldKeys] = field(default_factory=dict)

    def riding(
        self, reading: Reading, relations: tuple[Relation, ...], parts: tuple[Part, ...]
    ) -> dict[str, TableCheckRun]:
        """The constraints that the scan of their table serves, by the name of each."""
        found = {}
        for relation in relations:
            if not relation.is_table:
                continue
            for one in relation.table.constraints:
                if one.way is Way.SCAN:
                    table = relation.table.table
                    check = RowConstraint(table, one.constraint, self._probe(table, one))
                    found[check.name] = TableCheckRun(check, reading, (relation,), parts)
        return found

    def _probe(self, table: Table, one: ConstraintPlan) -> TableLook | None:
        if one.parent is None:
            return None
        return ForeignKeyLook(
            constraint=one.constraint.name,
            columns=key_of(table, one.constraint),
            parent=one.parent.table.name,
            keys=self.keys[table.name, one.constraint.name],
        )


def hold_parents(reading: Reading) -> HeldParents:
    """Gather the keys of all parents that the plan wants to be probed."""
    keys: dict[Name, HeldKeys] = {}
    tables = tuple(_held(reading, table, keys) for table in reading.plan.tables)
    return HeldParents(replace(reading.plan, tables=tables), keys)


def _held(reading: Reading, table: TablePlan, keys: dict[Name, HeldKeys]) -> TablePlan:
    settled: list[ConstraintPlan] = []
    for one in table.constraints:
        if one.way is not Way.SCAN or one.parent is None:
            settled.append(one)
            continue
        label = f"{table.table.name}.{one.constraint.name}"
        reading.settings.on_progress(Progress(phase=f"{label}: reading {one.parent.table.name}"))
        held = _gathered(reading, one)
        if held is not None:
            keys[table.table.name, one.constraint.name] = held
        settled.append(one if held is not None else replace(one, way=Way.KEYS))
    return replace(table, constraints=tuple(settled))


def _gathered(reading: Reading, one: ConstraintPlan) -> HeldKeys | None:
    """The keys of a parent; None if they cannot travel, or are not all of them."""
    assert one.parent is not None
    parent, key = splits_of(one.parent.facts), parent_key(one.parent)
    try:
        # These digests meet no others, so their salt is their own, and a resumed run's too.
        found = gather_keys(reading.spark, reading.jobs, parent, key, Salt.fresh(), HELD_KEYS_MAX)
    except FAILURES:
        return None  # the other way fails as well, and tells why
    return found.held if found.are_whole else None
