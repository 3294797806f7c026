# SPDX-License-Identifier: Apache-2.0
"""A result that a check wrote before, read back whole; whatever it does not tell is refused."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn

from scrub.app.repairing.earlier_result import defect_of
from scrub.errors import UsageError
from scrub.model.command_line import command_line
from scrub.model.defect import Defect, DefectKind
from scrub.model.definition import Definition
from scrub.model.result import CheckOutcome, RunResult, Status, TableResult

_MISTAKES = (KeyError, TypeError, ValueError, AttributeError)
_SCHEMA_VERSION = 1
_CLOCKS_DIFFER = timedelta(minutes=10)


def read_run(path: Path, catalog: Path) -> RunResult:
    """The result in a file of `--format jsonl`; one that is cut off is refused."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path} is not a result of scrub check", hint=_again(path, catalog)
        ) from error
    return _Reader(path, catalog).read(text)


def demand_recent(
    path: Path, result: RunResult, max_age: timedelta, now: datetime, catalog: Path
) -> None:
    """Refuse a result that says how things were too long ago."""
    age = now - result.started_at
    if age > max_age:
        raise UsageError(
            f"{path}:1: the result is of {_instant(result)}, which is longer ago than "
            f"{_duration(max_age)} (max_age)",
            hint="allow older ones in the catalog, with `gate: {max_age: ...}`; or "
            + _again(path, catalog),
        )
    if age < -_CLOCKS_DIFFER:
        raise UsageError(
            f"{path}:1: the result is of {_instant(result)}, which is in the future",
            hint="set the clocks of both machines, and check again",
        )


def demand_definitions(
    path: Path, result: RunResult, definitions: Mapping[str, Definition], catalog: Path
) -> None:
    """Refuse a result of tables, indexes or constraints that the catalog does not have so."""
    for table, then in result.definitions.items():
        now = definitions.get(table)
        differing = ["the table"] if now is None or now.table != then.table else []
        if now is not None:
            for noun, of_then, of_now in (
                ("index", then.indexes, now.indexes),
                ("constraint", then.constraints, now.constraints),
            ):
                differing += [
                    f"{noun} {name}" for name, of in of_then.items() if of_now.get(name) != of
                ]
        if differing:
            raise UsageError(
                f"{path}:1: the result is of another catalog than {catalog}: {differing[0]} of "
                f"{table} is not defined like that"
                if now is not None
                else f"{path}:1: the result is of another catalog than {catalog}, which has no "
                f"table {table}",
                hint=f"give the catalog that it was made with, or {_again(path, catalog)}",
            )
    for outcome in result.tables:
        if outcome.table not in result.definitions:
            raise UsageError(
                f"{path}:1: the result does not say how table {outcome.table} is defined",
                hint=_again(path, catalog),
            )


def _again(path: Path, catalog: Path, *more: str) -> str:
    output = ("--format", "jsonl", "--output", str(path))
    return "run it again: " + command_line("check database", *output, *more, catalog=catalog)


@dataclass(slots=True)
class _Reader:
    path: Path
    catalog: Path
    checks: list[tuple[str, str, CheckOutcome]] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)

    def read(self, text: str) -> RunResult:
        records = list(self._records(text))
        if not records:
            self._refuse(1, "the result is empty")
        number, run = records[0]
        if run.get("type") != "run":
            self._refuse(number, "this is not the first line of a result of scrub check")
        version = run.get("schema_version")
        if version != _SCHEMA_VERSION:
            self._refuse(number, f"a result of schema version {version} is not known")
        for number, record in records[1:]:
            try:
                self._take(record)
            except _MISTAKES:
                self._refuse(number, "this line is not a check or a defect of a result")
        return self._result(run, records[-1][0])

    def _records(self, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            if not isinstance(record, dict):
                self._refuse(number, "the result is cut off or damaged: this line is no record")
            yield number, record

    def _take(self, record: Mapping[str, Any]) -> None:
        if record["type"] == "check":
            self.checks.append((record["table"], record["table_snapshot"], _outcome(record)))
        elif record["type"] == "defect":
            defect = defect_of(record)
            if defect.id != record["id"]:
                raise ValueError("the id is of another defect")
            self.defects.append(defect)
        else:
            raise ValueError("a line of another type")

    def _result(self, run: Mapping[str, Any], last: int) -> RunResult:
        try:
            checks, shown = int(run["checks_total"]), int(run["defects_shown"])
            total = int(run["defects_total"])
            definitions = {
                str(table): Definition.of_record(of) for table, of in run["definitions"].items()
            }
            result = RunResult(
                run_id=str(run["run_id"]),
                started_at=datetime.fromisoformat(run["started_at"]),
                seconds=float(run["seconds"]),
                tables=self._tables(),
                defects=tuple(self.defects),
                definitions=definitions,
                where=run["where"],
                redacted=run["redacted"] is True,
            )
            if result.started_at.tzinfo is None:
                raise ValueError("a time without a zone")
        except _MISTAKES:
            self._refuse(1, "this is not the first line of a result of this release")
        if (len(self.checks), len(self.defects)) != (checks, shown):
            held = f"{len(self.checks):,} of {checks:,} checks"
            held += f" and {len(self.defects):,} of {shown:,} defects"
            self._refuse(last, f"the result is cut off: it holds {held}")
        if max(total, result.defects_total) > shown:
            message = f"the result holds {shown:,} of {result.defects_total:,} defects"
            limit = ("--limit", str(result.defects_total))
            hint = f"a gate needs all of them: {_again(self.path, self.catalog, *limit)}"
            raise UsageError(f"{self.path}:1: {message}", hint=hint)
        return result

    def _tables(self) -> tuple[TableResult, ...]:
        names = dict.fromkeys((table, snapshot) for table, snapshot, _ in self.checks)
        return tuple(
            TableResult(
                table=table,
                snapshot=snapshot,
                checks=tuple(of for name, _, of in self.checks if name == table),
            )
            for table, snapshot in names
        )

    def _refuse(self, line: int, message: str) -> NoReturn:
        raise UsageError(f"{self.path}:{line}: {message}", hint=_again(self.path, self.catalog))


def _outcome(record: Mapping[str, Any]) -> CheckOutcome:
    return CheckOutcome(
        check=str(record["check"]),
        index=record["index"],
        constraint=record["constraint"],
        status=Status(record["status"]),
        reason=record["reason"],
        error=record["error"] is True,
        rows=record["rows"],
        entries=record["entries"],
        transient=int(record["transient"]),
        undecided=int(record["undecided"]),
        unnamed=int(record["unnamed"]),
        counts={DefectKind(kind): int(number) for kind, number in record["counts"].items()},
        snapshot=record["snapshot"],
        engine=record["engine"],
        strategy=record["strategy"],
        notes=tuple(map(str, record["notes"])),
        remedies=tuple(map(str, record["remedies"])),
        ignored=tuple(map(str, record["ignored_columns"])),
        not_looked_for=tuple(map(DefectKind, record.get("not_looked_for", ()))),
    )


def _instant(result: RunResult) -> str:
    return f"{result.started_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _duration(age: timedelta) -> str:
    if age % timedelta(days=1) == timedelta(0) and age > timedelta(days=1):
        return f"{age.days} days"
    return f"{age / timedelta(hours=1):g} hours"
