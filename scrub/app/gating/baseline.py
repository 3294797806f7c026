# SPDX-License-Identifier: Apache-2.0
"""The file of known defects: a header, then one sorted line a defect, and nothing of the data."""

import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

from scrub.errors import UsageError
from scrub.model.command_line import DEFAULT_CATALOG, command_line
from scrub.model.defect import DefectKind
from scrub.model.definition import Definition
from scrub.model.gate import BASELINE_FILE, Baseline, KnownDefect
from scrub.whole_files import write_whole

SCHEMA_VERSION = 1
KNOWN_MAX = 100_000
_CONFLICT = re.compile(r"<{7}|={7}|>{7}|\|{7}")


def new_salt() -> str:
    return secrets.token_hex(16)


def read_baseline(path: Path, catalog: Path = DEFAULT_CATALOG) -> Baseline | None:
    """What the file knows; None if there is no such file. A file that is not whole is refused."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        hint = _restore(_accept_all(path, catalog))
        raise UsageError(f"the baseline {path} is not UTF-8 text", hint=hint) from error
    except OSError as error:
        hint = "allow reading it, or name another file with --baseline FILE"
        raise UsageError(
            f"the baseline {path} cannot be read: {error.strerror}", hint=hint
        ) from error
    return _Reader(path, _accept_all(path, catalog)).read(text)


def _accept_all(path: Path, catalog: Path) -> str:
    is_usual = path == catalog.parent / BASELINE_FILE
    named = () if is_usual else ("--baseline", str(path))
    command = command_line("gate", "--write-baseline", *named, catalog=catalog)
    return f"make all defects known that are there now: {command}"


def _restore(accept_all: str) -> str:
    return f"restore the file from version control; or delete it, and {accept_all}"


def write_baseline(path: Path, baseline: Baseline) -> bool:
    """Write the file, whole or not at all; whether it is another one than before."""
    if len(baseline.known) > KNOWN_MAX:
        raise UsageError(
            f"the baseline would hold {len(baseline.known):,} defects, and it holds at most "
            f"{KNOWN_MAX:,}",
            hint="with so many defects, build the index again instead of remembering them all",
        )
    text = "".join(f"{line}\n" for line in _lines(baseline))
    try:
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            return False
        write_whole(path, text)
    except OSError as error:
        raise UsageError(
            f"the baseline {path} cannot be written: {error.strerror}",
            hint="allow writing there, or name another file with --baseline FILE",
        ) from error
    return True


def merged(
    before: Baseline, seen: Iterable[KnownDefect], definitions: Mapping[str, Definition]
) -> Baseline:
    """What was known before and what was seen now; lines of other definitions are dropped.

    A defect that has changed replaces what was known of its id.
    """
    now = list(dict.fromkeys(seen))
    ids = {known.id for known in now}
    kept = [known for known in before.known if known.id not in ids]
    return replace(before, known=tuple(kept + now), definitions=dict(definitions))


def _lines(baseline: Baseline) -> Iterator[str]:
    definitions = sorted(baseline.definitions.items())
    yield _json(
        {
            "type": "baseline",
            "schema_version": SCHEMA_VERSION,
            "salt": baseline.salt,
            "defects": len(baseline.known),
            "definitions": {table: of.as_record() for table, of in definitions},
        }
    )
    for known in sorted(baseline.known, key=_order):
        yield _json(
            {
                "id": known.id,
                "content": known.content,
                "kind": known.kind,
                "table": known.table,
                "index": known.index,
                "constraint": known.constraint,
                "since": known.since.isoformat(),
            }
        )


def _order(known: KnownDefect) -> tuple[str, ...]:
    place = (known.table, known.index or "", known.constraint or "")
    return (*place, known.kind, known.id, known.content)


def _json(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=True)


class _Reader:
    """Reads one file; every complaint names its line."""

    def __init__(self, path: Path, accept_all: str) -> None:
        self.path = path
        self.accept_all = accept_all
        self.restore = _restore(accept_all)

    def read(self, text: str) -> Baseline:
        lines = text.split("\n")
        if not text.strip():
            self._refuse(1, "the baseline is empty", self.restore)
        header = self._record(1, lines[0])
        baseline, expected = self._header(header)
        known = []
        numbers: dict[tuple[str, str], int] = {}
        for number, line in enumerate(lines[1:], start=2):
            if not line.strip():
                continue
            one = self._known(number, self._record(number, line))
            first = numbers.setdefault((one.id, one.content), number)
            if first != number:
                told = f"the baseline was merged or edited: line {first} says the same"
                self._refuse(number, told, self.restore)
            known.append(one)
        if len(known) != expected or lines[-1]:
            held = f"it holds {len(known):,} of {expected:,} defects"
            # Git merges two branches that each add a line, and their equal headers, without a word.
            how = "merged" if len(known) > expected else "cut off"
            self._refuse(len(lines), f"the baseline was {how} or edited: {held}", self.restore)
        return replace(baseline, known=tuple(known))

    def _header(self, header: Mapping[str, Any]) -> tuple[Baseline, int]:
        if header.get("type") != "baseline":
            self._refuse(1, "this is not the header of a baseline", self.restore)
        version = header.get("schema_version")
        if version != SCHEMA_VERSION:
            hint = f"this release reads version {SCHEMA_VERSION}; {self.restore}"
            self._refuse(1, f"a baseline of schema version {version} is not known", hint)
        try:
            definitions = {
                str(table): Definition.of_record(of) for table, of in header["definitions"].items()
            }
            salt, expected = header["salt"], header["defects"]
            if not (isinstance(salt, str) and salt and isinstance(expected, int)):
                raise TypeError("salt or defects")
        except (KeyError, TypeError, ValueError, AttributeError):
            self._refuse(1, "the header of the baseline is not complete", self.restore)
        return Baseline(salt=salt, definitions=definitions), expected

    def _record(self, number: int, line: str) -> Mapping[str, Any]:
        if _CONFLICT.match(line):
            hint = f"take the file of one side, and {self.accept_all}"
            self._refuse(number, "a merge conflict is left in the baseline", hint)
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            self._refuse(
                number, "the baseline is cut off or damaged: this is no record", self.restore
            )
        return record

    def _known(self, number: int, record: Mapping[str, Any]) -> KnownDefect:
        try:
            texts = {name: record[name] for name in ("id", "content", "table", "kind", "since")}
            maybe = {name: record[name] for name in ("index", "constraint")}
            if not all(isinstance(text, str) for text in texts.values()) or not all(
                text is None or isinstance(text, str) for text in maybe.values()
            ):
                raise TypeError("a field is no text")
            kind, since = DefectKind(texts.pop("kind")), date.fromisoformat(texts.pop("since"))
        except (KeyError, TypeError, ValueError):
            self._refuse(number, "this line of the baseline is not a known defect", self.restore)
        return KnownDefect(**texts, **maybe, kind=kind, since=since)

    def _refuse(self, line: int, message: str, hint: str) -> NoReturn:
        raise UsageError(f"{self.path}:{line}: {message}", hint=hint)
