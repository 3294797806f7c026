# SPDX-License-Identifier: Apache-2.0
"""What a gate decides by: policy, waivers, baseline, what must have been looked at, and the day."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime

from scrub.model.constraint import constraints_of
from scrub.model.definition import Definition
from scrub.model.gate import (
    WAIVERS_FILE,
    Baseline,
    GatePolicy,
    KnownDefect,
    Requirement,
    Waiver,
)
from scrub.model.request import CheckRequest
from scrub.model.table import Table


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """Everything but the result. Without any of it, every defect is new, and nothing is required.

    That is how an index is judged before it becomes public.
    """

    policy: GatePolicy = field(default_factory=GatePolicy)
    waivers: tuple[Waiver, ...] = ()
    baseline: Baseline | None = None
    required: tuple[Requirement, ...] = ()
    definitions: Mapping[str, Definition] = field(default_factory=dict)  # of the catalog, by table
    today: date = field(default_factory=_today)
    of_pairs: frozenset[str] = frozenset()  # the tables that are kept as key-value pairs
    names_only: bool = False  # values are redacted, so contents are compared by names of columns
    catalog_file: str = "scrub.yaml"
    waivers_file: str = WAIVERS_FILE

    @property
    def salt(self) -> str:
        return self.baseline.salt if self.baseline else ""

    def is_current(self, known: KnownDefect) -> bool:
        """Whether a line of the baseline is of the definition that the catalog has now."""
        assert self.baseline is not None
        then = self.baseline.definitions.get(known.table)
        now = self.definitions.get(known.table)
        if then is None or now is None:
            return False
        place = (known.index, known.constraint)
        return then.of(*place) is not None and then.of(*place) == now.of(*place)


def requirements(
    policy: GatePolicy, tables: Iterable[Table], indexes: Sequence[str] | None = None
) -> tuple[Requirement, ...]:
    """What must have been looked at in these tables: what the policy says, or every index.

    A check that is required without a name is required of every index or constraint.

    `indexes` are those that a build is about, whatever the policy says.
    """
    return tuple(dict.fromkeys(_requirements(policy, tuple(tables), indexes)))


def with_required_checks(request: CheckRequest, policy: GatePolicy) -> CheckRequest:
    """The request and the checks that the policy requires, unless somebody named what to check."""
    if request.checks or request.indexes or request.constraints:
        return request
    required = dict.fromkeys((one.table, one.check) for one in policy.require or ())
    return replace(request, checks_beside=tuple(required))


def _requirements(
    policy: GatePolicy, tables: tuple[Table, ...], indexes: Sequence[str] | None
) -> Iterator[Requirement]:
    wanted = policy.require if indexes is None else None
    for table in tables:
        for one in wanted or (Requirement(check="index"),):
            if one.table not in (None, table.name):
                continue
            of_table = replace(one, table=table.name)
            if one.check == "index" and one.index is None:
                for index in table.indexes:
                    if indexes is None or index.name in indexes:
                        yield replace(of_table, index=index.name)
            elif one.check == "constraint" and one.constraint is None:
                for constraint in constraints_of(table):
                    yield replace(of_table, constraint=constraint.name)
            else:
                yield of_table
