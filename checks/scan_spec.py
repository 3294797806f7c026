# SPDX-License-Identifier: Apache-2.0
"""What a task does with the rows of one relation: plain values that travel to executors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from checks.table_look import EVERY_ROW, RowChoice, TableLook
from scrub.model.predicate import Node
from scrub.model.table import Column, EntryColumn
from scrub.model.types import ColumnType

if TYPE_CHECKING:
    from scrub.codec.digest import RowDigests, Salt

EXPECTED, ACTUAL = 1, -1
"""The sign of a side: rows of the table add to a bucket what entries of the index take away."""


class KeySet(Protocol):
    """Some primary keys, known by the digests that a run's own salt gives them."""

    def has_digests(self, keys: "RowDigests") -> NDArray[np.bool_]:
        """Which keys are among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySpec:
    """How a relation's rows become the entries of one index, as digests see them."""

    slot: int  # the number of the index within the run
    sign: int
    beside_primary_key: tuple[Node, ...]
    conditions: tuple[Node, ...]  # all must be true for a row to count
    among: KeySet | None = None  # rows with another primary key do not count


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanSpec:
    """One relation: what to read of it, where its rows belong, and what they stand for."""

    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    bucket_bits: int
    salt: "Salt"
    entries: tuple[EntrySpec, ...]
    looks: Mapping[str, TableLook] = field(default_factory=dict)  # by check
    looked_at: RowChoice = EVERY_ROW  # what they look at
    among: KeySet | None = None  # rows with another primary key need not be gathered
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)


def entry_type(column: EntryColumn) -> ColumnType:
    """The type of an entry's column, which a plan has resolved."""
    assert column.type is not None, "the plan resolves the types of expressions"
    return column.type
