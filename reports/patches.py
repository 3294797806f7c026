# SPDX-License-Identifier: Apache-2.0
"""The files of a patch and what is in them, for people and for programs."""

from collections.abc import Iterator
from typing import Any

from reports.escaping import printable
from reports.quantities import counted
from scrub.model.patch import IndexPatch, Patch


def index_record(patch: IndexPatch) -> dict[str, Any]:
    """The files of one index."""
    return {
        "index": patch.index,
        "store": patch.store,
        "relation": patch.relation,
        "snapshot": patch.snapshot,
        "changes": dict(patch.counts),
        "columns": [{"name": c.name, "type": str(c.type)} for c in patch.columns],
        "insert": _file(patch.insert_file, patch.inserts, "entries"),
        "delete": _file(patch.delete_file, patch.deletes, "entries"),
        "sql": _file(patch.sql_file, patch.sql_changes, "changes"),
        "sql_reason": patch.sql_reason,
        "left_out_of_sql": [
            {"defect": defect, "reason": why} for defect, why in patch.left_out_of_sql.items()
        ],
    }


def _file(name: str | None, number: int, what: str) -> dict[str, Any] | None:
    return None if name is None else {"file": name, what: number}


def patch_record(patch: Patch) -> dict[str, Any]:
    """The patch as part of a report."""
    return {
        "directory": str(patch.directory),
        "indexes": [index_record(index) for index in patch.indexes],
    }


def patch_as_text(patch: Patch) -> str:
    """The files and what is in them."""
    lines = [line for index in patch.indexes for line in _lines(index)]
    return "\n".join([*(f"  - {printable(line)}" for line in lines), "  - patch.json: what it is"])


def how_to_apply(patch: Patch) -> str:
    """What whoever may write to the indexes does with the files."""
    sql = [index.sql_file for index in patch.indexes if index.sql_file]
    by_hand = any(index.insert_file for index in patch.indexes)
    ways = [f"run {' and '.join(sql)} in the database"] if sql else []
    if by_hand:
        ways.append(
            "delete the entries of *.delete.parquet and then insert those of *.insert.parquet, "
            "while there are no writers to the index"
        )
    return f"To apply it, {', or '.join(ways)}"


def _lines(patch: IndexPatch) -> Iterator[str]:
    if patch.insert_file:
        yield f"{patch.insert_file}: {counted(patch.inserts, 'entry', 'entries')} to insert"
        yield f"{patch.delete_file}: {counted(patch.deletes, 'entry', 'entries')} to delete"
    if patch.sql_file:
        without = len(patch.left_out_of_sql)
        more = f"; {counted(without, 'change')} cannot be written in SQL" if without else ""
        yield f"{patch.sql_file}: {counted(patch.sql_changes, 'change')} in one transaction{more}"
    elif patch.sql_reason:
        yield f"no SQL for {patch.index}: {patch.sql_reason}"
