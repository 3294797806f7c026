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
from checks.failures import failures
from checks.keys.foreign_key_look import ForeignKeyLook
from checks.keys.gathered_keys import ParentRows, gather_keys
from checks.keys.held_keys import HeldKeys
from checks.numbering import Relation
from checks.parts import Part
from checks.source import Reading
from checks.table_look import TableLook
from scrub.codec.digest import Salt
from scrub.model.plan import CheckPlan, ConstraintPlan, Parent, TablePlan, Way
from scrub.model.progress import Progress
from scrub.model.table import Table

HELD_BYTES_MAX = 96 << 20
"""The keys of all parents together take at most so many bytes on their way: Spark Connect refuses
plans of more than 128 MiB, and the keys are part of the plan."""

Name = tuple[str, str]  # a table and a constraint of it
Identity = tuple[str, str, str]  # of a parent: its store, relation and snapshot


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
    """Gather the keys of all parents that the plan wants to be probed, each parent once."""
    wanted = {
        (table.table.name, one.constraint.name): _identity(one.parent)
        for table in reading.plan.tables
        for one in table.constraints
        if one.way is Way.SCAN and one.parent is not None
    }
    if not wanted:
        return HeldParents(reading.plan)
    parents = {
        _identity(one.parent): one.parent
        for table in reading.plan.tables
        for one in table.constraints
        if one.parent is not None and _identity(one.parent) in wanted.values()
    }
    held = _gathered(reading, parents)
    keys = {name: held[of] for name, of in wanted.items() if of in held}
    tables = tuple(_settled(table, keys) for table in reading.plan.tables)
    return HeldParents(replace(reading.plan, tables=tables), keys)


def _settled(table: TablePlan, keys: Mapping[Name, HeldKeys]) -> TablePlan:
    """The plan of a table in which what cannot be probed is checked in another way."""
    constraints = tuple(
        replace(one, way=Way.KEYS)
        if one.way is Way.SCAN
        and one.parent is not None
        and (table.table.name, one.constraint.name) not in keys
        else one
        for one in table.constraints
    )
    return replace(table, constraints=constraints)


def _identity(parent: Parent) -> Identity:
    """What makes two parents the same rows."""
    return parent.facts.store, parent.facts.relation, parent.facts.snapshot.label


def _gathered(reading: Reading, parents: Mapping[Identity, Parent]) -> dict[Identity, HeldKeys]:
    """The keys of parents; those that cannot travel, or are not all of them, are left out."""
    chosen = _that_fit(parents)
    names = ", ".join(parents[of].table.name for of in chosen)
    reading.settings.on_progress(Progress(phase=f"reading keys of {names}"))
    try:
        # These digests meet no others, so their salt is their own, and a resumed run's too.
        found = gather_keys(reading.jobs, list(chosen.values()), Salt.fresh(), HELD_KEYS_MAX)
    except failures():
        return {}  # the other way fails as well, and tells why
    whole = {
        of: gathered.held
        for of, gathered in zip(chosen, found, strict=True)
        if gathered.held is not None and gathered.are_whole
    }
    room, held = HELD_BYTES_MAX, {}
    for of, keys in whole.items():
        if keys.digests.nbytes <= room:
            held[of] = keys
            room -= keys.digests.nbytes
    return held


def _that_fit(parents: Mapping[Identity, Parent]) -> dict[Identity, ParentRows]:
    """The parents to read: as far as anybody knows, their keys can travel together."""
    room, chosen = HELD_BYTES_MAX, {}
    for of, parent in parents.items():
        rows = ParentRows(splits_of(parent.facts), parent_key(parent))
        size = (rows.rows.rows_known or 0) * rows.key_bytes
        if size <= room:
            chosen[of] = rows
            room -= size
    return chosen
