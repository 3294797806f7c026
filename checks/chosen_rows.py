# SPDX-License-Identifier: Apache-2.0
"""The stage before the scan that learns which entries belong to the rows that `--where` chooses."""

from checks.choose import Chosen
from checks.failures import failures
from checks.run_state import Run
from scrub.model.request import Strategy
from scrub.spark.collecting import translated

TOO_MANY = "everything was joined, since --where chooses too many rows to look their keys up"


def learn_chosen_rows(run: Run) -> Chosen:
    """Learn it for indexes that tasks add up; returns those that have to be joined as a whole.

    A join brings entries together with their rows anyway.
    """
    slots = [
        slot
        for slot in run.left(run.source.slots)
        if slot.plan.by_rows and slot.number not in run.comparing
    ]
    if not slots or run.plan.strategy is Strategy.MERGE:
        return {}
    run.report("reading the keys of chosen rows")
    try:
        with translated():
            too_many = run.source.choose_by_rows(slots)
    except failures() as error:
        run.give_up(slots, error)
        return {}
    for number in too_many:
        run.found[number].notes.append(TOO_MANY)
    return too_many
