# SPDX-License-Identifier: Apache-2.0
"""A patch instead of a repair: the same plan, as files for whoever may write to the indexes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Unpack

from repair.patch.entries import entries_to_delete, entries_to_insert
from repair.patch.files import demand_free, file_name, whole_directory, write_entries
from repair.patch.sql import SqlPatch, patch_as_sql, reindex_as_sql
from repair.patch.targets import sql_target
from scrub import __version__
from scrub.app.repairing.repair import Repair, RunOptions, opened_repair
from scrub.errors import UsageError
from scrub.model.index_shape import shape_of
from scrub.model.patch import IndexPatch, Patch
from scrub.model.progress import Progress, ignore_progress
from scrub.model.repair import Action, ActionKind, RepairReport, RepairRequest
from scrub.model.table import Index, Table


def write_patch(
    request: RepairRequest, directory: Path, **options: Unpack[RunOptions]
) -> RepairReport:
    """Write what a repair would do; over a limit, or without anything to do, no file is written."""
    if request.recover_rows:
        raise UsageError(
            "a patch is for indexes, so --patch cannot be combined with --recover-rows",
            hint="leave one of the two out; a patch lists rows that were probably lost",
        )
    demand_free(directory)
    with opened_repair(request, **options) as repair:
        _demand_patchable(repair.table)
        report = repair.previewed(in_place=False)
        if report.over_limit or not report.plan.actions:
            return report
        options.get("on_progress", ignore_progress)(Progress(phase="writing the patch"))
        with whole_directory(directory) as draft:
            made_at = datetime.now(UTC)
            writer = _Writer(repair, report, draft, made_at)
            patch = Patch(directory=directory, made_at=made_at, indexes=writer.write_all())
            written = replace(report, patch=patch)
            writer.write_manifest(written)
        return written


def _demand_patchable(table: Table) -> None:
    """Pairs have no patch: whoever applies one could not judge bytes by their row."""
    if table.kv is not None:
        raise UsageError(
            f"table {table.name} is in key-value layout, of which no patch is written",
            hint="leave out --patch to see the changes, and make them with --execute",
        )


class _Writer:
    """Writes the files of one patch into a directory."""

    def __init__(self, repair: Repair, report: RepairReport, draft: Path, at: datetime) -> None:
        self._repair = repair
        self._report = report
        self._draft = draft
        self._title = f"made by scrub {__version__} at {at.isoformat(timespec='seconds')}"

    def write_all(self) -> tuple[IndexPatch, ...]:
        by_index: dict[str, list[Action]] = {}
        for action in self._report.plan.actions:
            by_index.setdefault(action.index, []).append(action)
        table = self._repair.table
        return tuple(self._write(table.index(name), found) for name, found in by_index.items())

    def write_manifest(self, report: RepairReport) -> None:
        from reports.repair_records import manifest_of

        text = manifest_of(report, self._repair.request)
        (self._draft / "patch.json").write_text(text, encoding="utf-8")

    def _write(self, index: Index, actions: Sequence[Action]) -> IndexPatch:
        patch = IndexPatch(
            index=index.name,
            store=index.store,
            relation=index.relation,
            snapshot=self._snapshot(index.name),
            counts=dict(Counter(action.kind.value for action in actions)),
        )
        title = f"Index {index.name} of table {self._repair.table.name}, {self._title}."
        if index.is_own:
            reindexed = [a for a in actions if a.kind is ActionKind.REINDEX]
            return self._with_sql(patch, reindex_as_sql(reindexed, title))
        shape = shape_of(self._repair.table, index)
        inserts, deletes = entries_to_insert(actions, shape), entries_to_delete(actions, shape)
        insert_file = file_name(index.name, "insert.parquet")
        delete_file = file_name(index.name, "delete.parquet")
        write_entries(self._draft / insert_file, inserts)
        write_entries(self._draft / delete_file, deletes)
        patch = replace(
            patch,
            columns=shape.columns,
            insert_file=insert_file,
            inserts=inserts.num_rows,
            delete_file=delete_file,
            deletes=deletes.num_rows,
        )
        store = self._repair.catalog.stores[index.store]
        target = sql_target(store, self._repair.table, index)
        if isinstance(target, str):
            return replace(patch, sql_reason=target)
        return self._with_sql(patch, patch_as_sql(actions, shape, target, title))

    def _with_sql(self, patch: IndexPatch, made: SqlPatch) -> IndexPatch:
        name = file_name(patch.index, "sql")
        (self._draft / name).write_text(made.text, encoding="utf-8")
        return replace(
            patch, sql_file=name, sql_changes=made.changes, left_out_of_sql=made.left_out
        )

    def _snapshot(self, index: str) -> str | None:
        before = self._report.before
        outcomes = before.outcomes if before is not None else ()
        return next((one.snapshot for one in outcomes if one.index == index), None)
