# SPDX-License-Identifier: Apache-2.0
"""Random trials with a column that no index holds, by which conditions choose rows.

Many rows are there twice and differ in this column, so that a condition chooses one of the two.
"""

from hypothesis import strategies as st

from tests.checks.trials import (
    POOLS,
    Condition,
    IndexTrial,
    Trial,
    expected_entries,
    trials,
)

COLUMN = "no index holds me"
SOME = Condition(f"`{COLUMN}` > 1", lambda row: (row[COLUMN] or 0) > 1)
SOME_FOR_SPARK = Condition(  # not on the allow-list
    f"hex(`{COLUMN}`) IN ('2', '3', '4')", lambda row: row[COLUMN] in (2, 3, 4)
)


@st.composite
def chosen_trials(draw: st.DrawFn) -> Trial:
    """A trial whose rows have a value in that column: NULL, or 0 to 4."""
    trial = draw(trials())
    values = st.none() | st.integers(0, 4)
    trial.types[COLUMN] = "int"
    trial.rows = [row | {COLUMN: draw(values)} for row in trial.rows]
    for index in trial.indexes:
        if index.entries and index.stored:
            draw(with_another_value(trial, index))
    for _ in range(draw(st.integers(0, 4)) if trial.rows else 0):
        draw(with_a_copy(trial))
    return trial


@st.composite
def with_another_value(draw: st.DrawFn, trial: Trial, index: IndexTrial) -> None:
    """Change what an entry stores."""
    at = draw(st.integers(0, len(index.entries) - 1))
    entry, stored = list(index.entries[at]), draw(st.sampled_from(index.stored))
    position = index.columns(trial.primary_key).index(stored)
    entry[position] = draw(st.none() | st.sampled_from(POOLS[trial.types[stored]]))
    index.entries[at] = tuple(entry)


@st.composite
def with_a_copy(draw: st.DrawFn, trial: Trial) -> None:
    """A second row with a primary key, which may differ in all the rest; indexes may know it."""
    row = dict(draw(st.sampled_from(trial.rows)))
    row[COLUMN] = draw(st.none() | st.integers(0, 4))
    others = [name for name in trial.types if name not in (*trial.primary_key, COLUMN)]
    if others and draw(st.booleans()):
        name = draw(st.sampled_from(others))
        row[name] = draw(st.none() | st.sampled_from(POOLS[trial.types[name]]))
    trial.rows.append(row)
    alone = Trial(trial.types, trial.primary_key, [row], [])
    for index in trial.indexes:
        index.entries += expected_entries(alone, index) * draw(st.sampled_from([0, 1, 1, 2]))
