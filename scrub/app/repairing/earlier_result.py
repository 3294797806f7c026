# SPDX-License-Identifier: Apache-2.0
"""Defects of an earlier check, read back from its JSON or JSON lines."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrub.errors import UsageError
from scrub.model.defect import Defect, DefectKind

_ENTRIES = ("primary_key", "index_key", "expected", "actual")
_MAY_BE_ABSENT = (
    "index",
    "key_hex",
    "value_hex",
    "column",
    "file",
    "constraint",
    "stored_type",
    "row_digest",
)
_REDACTED = ("[redacted]", "[redacted, differs]")


@dataclass(frozen=True, slots=True)
class EarlierCheck:
    """One check, without its defects."""

    table: str
    index: str | None
    status: str | None
    reason: str | None
    is_incomplete: bool
    counts: Mapping[DefectKind, int]
    unnamed: int = 0


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """What a file tells: defects, how large tables and indexes were, and what it leaves out."""

    path: Path
    defects: tuple[Defect, ...]
    sizes: Mapping[tuple[str, str | None], int]  # by table and index
    checks: tuple[EarlierCheck, ...] = ()  # none of --all-defects, which has defects only

    def counted(
        self, table: str, indexes: Collection[str] = (), kinds: Collection[DefectKind] = ()
    ) -> int:
        """How many defects its checks counted, whether or not it holds them; empty: all."""
        return sum(
            number
            for check in self._checks_of(table, indexes)
            for kind, number in check.counts.items()
            if not kinds or kind in kinds
        )

    def looked_at(self, table: str) -> tuple[str, ...]:
        """The indexes of a table that it tells of."""
        checked = [c.index for c in self.checks if c.table == table and c.index]
        told = [d.index for d in self.defects if d.table == table and d.index]
        return tuple(dict.fromkeys([*checked, *told]))

    def sizes_of(self, table: str) -> dict[str | None, int]:
        return {index: size for (name, index), size in self.sizes.items() if name == table}

    def unnamed(
        self, table: str, indexes: Collection[str] = ()
    ) -> Iterator[tuple[str | None, int, str | None]]:
        """Indexes that were known to differ: how much at least, and why it has no names."""
        for check in self._checks_of(table, indexes):
            yield check.index, check.unnamed, check.reason

    def not_looked_at(self, table: str, indexes: Collection[str] = ()) -> str | None:
        """Why it does not tell all defects that the table had; None if nothing says so."""
        found = self._checks_of(table, indexes)
        if self.checks and not found:
            of = f"index {', '.join(indexes)} of table {table}" if indexes else f"table {table}"
            return f"{self.path} has no check of {of}"
        reasons = [check.reason for check in found if check.is_incomplete]
        if reasons:
            return f"the check in {self.path} was incomplete: {reasons[0] or 'it does not say why'}"
        if found and all(check.status == "not_applicable" for check in found):
            return f"no check in {self.path} applied: {found[0].reason or 'it does not say why'}"
        return None

    def _checks_of(self, table: str, indexes: Collection[str]) -> list[EarlierCheck]:
        of_table = [check for check in self.checks if check.table == table]
        return [check for check in of_table if not indexes or check.index in indexes]


def read_result(path: Path) -> EarlierResult:
    """The result in a file; everything in it is looked at again before anything is written."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _no_result(path, "it is no text") from error
    try:
        document = json.loads(text)
        records = _of_document(document) if "defects" in document else iter([document])
    except (ValueError, TypeError):  # also of a number with too many digits
        records = _of_lines(path, text)
    except RecursionError as error:
        raise _no_result(path, "it is nested too deeply") from error
    try:
        listed = list(records)
    except (KeyError, TypeError, AttributeError) as error:
        raise _no_result(path, str(error)) from error
    return _result(path, listed)


def _no_result(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path} is not a result of scrub check: {why}",
        hint="give a result of scrub check --format json or jsonl, or of --all-defects",
    )


def _of_document(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for table in document.get("tables", ()):
        for check in table.get("checks", ()):
            yield {"type": "check", "table": table["table"], **check}
    for defect in document["defects"]:
        yield {"type": "defect", **defect}


def _of_lines(path: Path, text: str) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise UsageError(
                f"{path}, line {number}: this is no JSON",
                hint="give a result of scrub check --format json or jsonl, or of --all-defects",
            ) from error
        yield record


def _result(path: Path, records: list[Mapping[str, Any]]) -> EarlierResult:
    sizes: dict[tuple[str, str | None], int] = {}
    defects: list[Defect] = []
    checks: list[EarlierCheck] = []
    for record in records:
        try:
            match record.get("type"):
                case "check":
                    checks.append(_check(record))
                    for place in ((record["table"], record.get("index")), (record["table"], None)):
                        if record.get("rows") is not None:
                            known = sizes.get(place, 0)
                            entries = int(record.get("entries") or 0) if place[1] else 0
                            sizes[place] = max(known, int(record["rows"]), entries)
                case "defect":
                    defects.append(defect_of(record))
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            raise _no_result(path, str(error)) from error
    if any(map(_is_redacted, defects)):
        raise UsageError(
            f"{path} was written with --redact, so it does not say what entries should be",
            hint="check again without --redact",
        )
    return EarlierResult(path, tuple(defects), sizes, tuple(checks))


def _check(record: Mapping[str, Any]) -> EarlierCheck:
    reason = record.get("reason")
    counts = record.get("counts") or {}
    return EarlierCheck(
        table=str(record["table"]),
        index=record.get("index"),
        status=record.get("status"),
        reason=None if reason is None else str(reason),
        is_incomplete=record.get("incomplete") is True,
        counts={DefectKind(kind): int(number) for kind, number in counts.items()},
        unnamed=int(record.get("unnamed") or 0),
    )


def _is_redacted(defect: Defect) -> bool:
    values = [*(defect.expected or {}).values(), *(defect.actual or {}).values()]
    return any(value in _REDACTED for value in values)


def defect_of(record: Mapping[str, Any]) -> Defect:
    """The defect of a record; raises KeyError, TypeError, ValueError or AttributeError."""
    for name in _ENTRIES:
        entry = record.get(name)
        if entry is None:
            continue
        if any(isinstance(value, dict | list) for value in entry.values()):
            raise TypeError(f"{name} of a defect holds more than plain values")
    for name in ("table", "kind"):
        if not isinstance(record[name], str):
            raise TypeError(f"{name} of a defect is no text")
    return Defect(
        kind=DefectKind(record["kind"]),
        table=record["table"],
        snapshot=record.get("snapshot") or "",
        detail=record.get("detail") or "",
        **{name: record.get(name) for name in (*_ENTRIES, *_MAY_BE_ABSENT)},
    )
