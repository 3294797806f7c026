# SPDX-License-Identifier: Apache-2.0
"""Random tables with constraints of all sorts, and rows that violate many of them."""

import math
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.checks.constraints.oracle import (
    CheckTrial,
    ConstraintTrial,
    ForeignKeyTrial,
    ParentTrial,
)
from tests.checks.trials import ARROW, NAMES, POOLS, Row

SECTIONS = 8
"""Each table holds as many small ones, told apart by the column `section` of most of its keys."""
INTEGERS = ["tinyint", "smallint", "int", "bigint"]

Types = dict[str, str]


def collect_trials(count: int, per_run: int) -> list[ConstraintTrial]:
    """As many trials as hypothesis draws; as many run together, since each Spark job costs."""
    collected: list[ConstraintTrial] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        collected.append(data.draw(constraint_trials(len(collected) % per_run)))

    draw()
    return collected[:count]


@st.composite
def constraint_trials(draw: st.DrawFn, number: int) -> ConstraintTrial:
    """A table with at least one constraint of each sort."""
    names = draw(st.permutations(NAMES))[: draw(st.integers(3, 6))]
    types = {"section": "bigint"} | {
        name: draw(st.sampled_from(list(ARROW) + INTEGERS)) for name in names
    }
    primary_key = ["section", *names[: draw(st.integers(1, 2))]]
    others = [name for name in names if name not in primary_key]
    unique = {f"unique {n}": draw(keys(names)) for n in range(draw(st.integers(1, 2)))}
    parents = [draw(keys(names)) for _ in range(draw(st.integers(1, 2)))]
    trial = ConstraintTrial(
        types=types,
        primary_key=primary_key,
        rows=[],
        never_null=[name for name in others if draw(st.booleans())],
        checks={f"check {n}": draw(checks(names, types)) for n in range(draw(st.integers(1, 3)))},
        unique=unique,
    )
    for n, key in enumerate(parents):
        parent = draw(parent_trials(f"t{number}_parent{n}", {c: types[c] for c in key}))
        trial.foreign_keys[f"refers {n}"] = ForeignKeyTrial(key, parent)
    if draw(st.booleans()):
        trial.foreign_keys["refers to itself"] = draw(self_reference(trial))
    for section in range(SECTIONS):
        trial.rows += draw(rows_of(section, trial))
    return trial


@st.composite
def keys(draw: st.DrawFn, names: list[str]) -> list[str]:
    """The columns of a key; most have the section, without which nearly all rows clash."""
    chosen = draw(st.permutations(names))[: draw(st.integers(1, 2))]
    return chosen if draw(st.integers(0, 4)) == 0 else ["section", *chosen]


@st.composite
def self_reference(draw: st.DrawFn, trial: ConstraintTrial) -> ForeignKeyTrial:
    """Further columns that refer to rows of the same section, and are seldom wrong."""
    columns = ["section"]
    for number, of in enumerate(trial.primary_key[1:]):
        column = f"same as {number}"
        trial.types[column] = draw(st.sampled_from(_of_one_sort(trial.types[of])))
        columns.append(column)
    return ForeignKeyTrial(columns, None)


@st.composite
def parent_trials(draw: st.DrawFn, name: str, child_types: Types) -> ParentTrial:
    """A parent with some of the keys that children may refer to; maybe with copies, or empty."""
    types = {
        f"key {number}": draw(st.sampled_from(_of_one_sort(kind)))
        for number, kind in enumerate(child_types.values())
    }
    pools = [
        list(range(SECTIONS)) if column == "section" else _both(child_types[column], kind)
        for column, kind in zip(child_types, types.values(), strict=True)
    ]
    row = st.tuples(*map(st.sampled_from, pools)).map(lambda v: dict(zip(types, v, strict=True)))
    rows = draw(st.lists(row, max_size=20))
    if rows and draw(st.booleans()):
        rows.append(dict.fromkeys(types) | {next(iter(types)): None})
    return ParentTrial(name, types, rows)


@st.composite
def checks(draw: st.DrawFn, names: list[str], types: Types) -> CheckTrial:
    """A condition that is false, NULL and true for some values each; Spark evaluates a part."""
    one, other = (draw(conditions(draw(st.sampled_from(names)), types)) for _ in range(2))
    match draw(st.sampled_from(["one", "not", "and", "or"])):
        case "not":
            return CheckTrial(f"NOT ({one.sql})", lambda r: _negated(one.value(r)))
        case "and":
            sql = f"({one.sql}) AND ({other.sql})"
            return CheckTrial(sql, lambda r: _all(one.value(r), other.value(r)))
        case "or":
            sql = f"({one.sql}) OR ({other.sql})"
            return CheckTrial(
                sql, lambda r: _negated(_all(_negated(one.value(r)), _negated(other.value(r))))
            )
        case _:
            return one


@st.composite
def conditions(draw: st.DrawFn, column: str, types: Types) -> CheckTrial:
    """A condition about one column."""
    quoted, kind = "`" + column.replace("`", "``") + "`", types[column]

    def on(sql: str, holds: Any) -> CheckTrial:
        return CheckTrial(sql, lambda r: None if r[column] is None else holds(r[column]))

    choices = [
        CheckTrial(f"{quoted} IS NOT NULL", lambda r: r[column] is not None),
        CheckTrial(f"{quoted} IS NULL", lambda r: r[column] is None),
    ]
    if kind in INTEGERS:
        choices += [
            on(f"{quoted} >= 0", lambda v: v >= 0),
            on(f"{quoted} IN (0, 1, 7)", lambda v: v in (0, 1, 7)),
            on(f"abs(cast({quoted} AS decimal(20,0))) > 1", lambda v: abs(v) > 1),
        ]
    elif kind.startswith("decimal"):
        choices += [
            on(f"{quoted} > 0", lambda v: v > 0),
            on(f"abs({quoted}) <= 1", lambda v: abs(v) <= 1),
        ]
    elif kind in ("float", "double"):  # NaN is greater than any other value, and equals itself
        choices.append(on(f"{quoted} > 0", lambda v: math.isnan(v) or v > 0))
        choices.append(on(f"{quoted} = {quoted}", lambda v: True))  # noqa: ARG005
    elif kind == "string":
        choices += [
            on(f"{quoted} > 'A'", lambda v: v.encode() > b"A"),
            on(f"{quoted} NOT IN ('a', 'b')", lambda v: v not in ("a", "b")),
            on(f"length({quoted}) < 2", lambda v: len(v) < 2),
            on(f"lower({quoted}) = {quoted}", lambda v: v.lower() == v),
        ]
    elif kind == "boolean":
        choices.append(on(quoted, lambda v: v))
    elif kind == "date":
        choices.append(on(f"{quoted} >= DATE '1999-12-31'", lambda v: v.year >= 1999))
    elif kind in ("timestamp", "timestamp_ntz"):
        choices.append(on(f"year({quoted}) > 1970", lambda v: v.year > 1970))
    elif kind == "binary":
        choices.append(on(f"length({quoted}) > 0", lambda v: len(v) > 0))
    return draw(st.sampled_from(choices))


@st.composite
def rows_of(draw: st.DrawFn, section: int, trial: ConstraintTrial) -> list[Row]:
    """Rows of one section, most of them with a primary key of their own."""
    values = {name: _often(kind) for name, kind in trial.types.items()}
    row = st.fixed_dictionaries(values | {"section": st.just(section)})
    by_key = lambda r: tuple(repr(r[c]) for c in trial.primary_key)  # noqa: E731
    rows: list[Row] = draw(st.lists(row, max_size=10, unique_by=by_key))
    if rows and draw(st.integers(0, 2)) == 0:
        twin = draw(st.sampled_from(rows))
        other = draw(row)
        # A copy, or another row with the same primary key.
        rows.append(draw(st.sampled_from([twin, other | {c: twin[c] for c in trial.primary_key}])))
    if rows and "refers to itself" in trial.foreign_keys:
        columns = trial.foreign_keys["refers to itself"].columns
        for one in rows:
            referred = draw(st.sampled_from(rows))
            for column, of in zip(columns, trial.primary_key, strict=True):
                if column != "section" and draw(st.integers(0, 4)):
                    one[column] = _fitting(referred[of], trial.types[column])
    return draw(st.permutations(rows))


def _often(kind: str) -> st.SearchStrategy[Any]:
    """A value of a type; NULL now and then."""
    return st.sampled_from([*POOLS[kind] * 3, None])


def _of_one_sort(kind: str) -> list[str]:
    """The types that a foreign key may have if it refers to this one."""
    return INTEGERS if kind in INTEGERS else [kind]


def _both(kind: str, other: str) -> list[Any]:
    """Values that fit two types."""
    return [v for v in POOLS[kind] if _fitting(v, other) is not None]


def _fitting(value: Any, kind: str) -> Any:
    """The value, or None if it is an integer that is too large for the type."""
    if kind not in INTEGERS or value is None:
        return value
    return (
        value
        if -(2 ** (ARROW[kind].bit_width - 1)) <= value < 2 ** (ARROW[kind].bit_width - 1)
        else None
    )


def _negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def _all(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True
