# SPDX-License-Identifier: Apache-2.0
"""Finding out what made a job fail, and setting just that aside so that the rest can go on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from checks.columns.diagnosis import Collect, expressions_of, raising_row, reading_fails
from checks.failures import Failure, part_not_read, reason_for, session_has_ended
from checks.numbering import Relation, Slot
from checks.parts import Part
from checks.unread import Unread
from scrub.codec.digest import Salt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Culprits:
    """Looks for the cause of a failure from the likeliest to the most laborious."""

    unread: Unread
    salt: Salt
    collect: Collect
    rows_of: Callable[[Relation], "DataFrame"]
    redact: bool

    def set_aside(self, error: Failure, parts: Sequence[Part], slots: Sequence[Slot]) -> bool:
        """Whether something was found and set aside, so that trying again makes sense."""
        if session_has_ended(error):
            return False  # to blame is nothing of the data
        return (
            self.unread.set_aside(part_not_read(error, parts))
            or self._unreadable_relation(parts)
            or self._raising_expression(parts, slots)
        )

    def _unreadable_relation(self, parts: Sequence[Part]) -> bool:
        for relation in {part.relation.number: part.relation for part in parts}.values():
            if relation.is_native:
                continue
            if error := reading_fails(partial(self.rows_of, relation), self.collect):
                self.unread.relations[relation.number] = reason_for(error, self.redact)
                for slot in relation.slots:
                    self.unread.slots.setdefault(slot.number, "")
                return True
        return False

    def _raising_expression(self, parts: Sequence[Part], slots: Sequence[Slot]) -> bool:
        tables = {part.relation.number: part.relation for part in parts if part.relation.is_table}
        for slot in slots:
            if not slot.index.expressions:
                continue
            for relation in tables.values():
                if slot not in relation.slots:
                    continue  # where tasks open the files, Spark may evaluate expressions: to join
                raised = raising_row(
                    self.rows_of(relation),
                    slot.table.table,
                    expressions_of(slot),
                    self.salt,
                    self.collect,
                )
                if raised is not None:
                    told = f"an expression of {slot.label} {raised.told}"
                    self.unread.slots[slot.number] = told
                    return True
        return False
