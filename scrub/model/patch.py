# SPDX-License-Identifier: Apache-2.0
"""A patch: what would bring indexes in order, as files for whoever may write to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from scrub.model.table import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPatch:
    """The files of one index; an index of the database's own has only SQL."""

    index: str
    store: str
    relation: str
    snapshot: str | None  # of the index, when it was checked
    counts: Mapping[str, int]  # changes by kind of action
    columns: tuple[Column, ...] = ()
    insert_file: str | None = None
    inserts: int = 0
    delete_file: str | None = None
    deletes: int = 0
    sql_file: str | None = None
    sql_changes: int = 0
    sql_reason: str | None = None  # why there is no SQL
    left_out_of_sql: Mapping[str, str] = field(default_factory=dict)  # by defect, why


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """The files of one table, in one directory that is whole or not there."""

    directory: Path
    made_at: datetime
    indexes: tuple[IndexPatch, ...]
