# SPDX-License-Identifier: Apache-2.0
"""The stage that looks for rows that share a key of a unique index.

Table and index may agree on such rows, and both be wrong.
"""

from checks.failures import failures
from checks.name import add_sharing, worth_another_try
from checks.numbering import Slot
from checks.run_state import Run
from scrub.spark.collecting import translated


def look_for_shared_keys(run: Run) -> None:
    """Look at every unique index that was not given up, whether it differs or not."""
    for slot in run.left([slot for slot in run.source.slots if slot.index.unique]):
        run.report(f"looking for shared keys of {slot.label}")
        if slot.of_table in run.source.unread.relations:
            continue
        while run.left([slot]):
            try:
                with translated():
                    _find(run, slot)
                break
            except failures() as error:
                if not worth_another_try(run, error, [slot]):
                    run.give_up([slot], error)


def _find(run: Run, slot: Slot) -> None:
    with run.source.sharing(slot) as sharing:
        if sharing is not None:
            add_sharing(run, slot, sharing)
