# SPDX-License-Identifier: Apache-2.0
"""The `stores:` of a catalog. Values that come from the environment appear in no message."""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from yaml.nodes import Node

from scrub.catalog import document, names
from scrub.catalog.document import Mistakes, NamedNode
from scrub.catalog.section import Section
from scrub.model.table import Store

_KEYS = {
    "delta": ("kind", "path", "options"),
    "postgres": ("kind", "url", "schema", "options"),
    "spark": ("kind", "format", "path", "options"),
}
_KINDS = tuple(_KEYS)
_FILE_FORMATS = ("parquet", "orc", "csv", "json")
_WITHOUT_PATH = ("jdbc", "table")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_VARIABLE = re.compile(r"\$\{([^}]*)\}?")
_VARIABLE_NAME = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


class StoreReader:
    """Reads stores, given what their settings may refer to."""

    def __init__(
        self,
        directory: Path,
        environment: Mapping[str, str],
        mistakes: Mistakes,
        unset_allowed: bool = False,
    ) -> None:
        self._directory = directory
        self._environment = environment
        self._mistakes = mistakes
        self._unset_allowed = unset_allowed
        self._unset: list[str] = []  # of the store that is being read

    def read(self, node: Node, line: int) -> dict[str, Store]:
        """All stores by name, including those with mistakes, so that references to them resolve."""
        stores = {}
        for entry in document.named_nodes(node, line, "'stores'", self._mistakes):
            if problem := names.problem_of(entry.name):
                self._mistakes.add(entry.line, f"the name of store '{entry.name}' {problem}")
            self._unset.clear()
            store = self._store(entry)
            stores[entry.name] = replace(store, unset=tuple(dict.fromkeys(self._unset)))
        return stores

    def _store(self, entry: NamedNode) -> Store:
        what = f"store '{entry.name}'"
        kind = document.peek(entry.value, "kind")
        keys = _KEYS.get(kind or "", _KEYS["spark"])
        section = Section(entry.value, entry.line, what, keys, self._mistakes)
        section.require("kind", f"write kind: {' or '.join(_KINDS)}")
        kind = section.choice("kind", _KINDS) or ""
        if kind == "postgres":
            return self._database(entry.name, section)
        file_format = self._format(section) if kind == "spark" else None
        location = self._expanded(section, "path")
        self._check_path(section, kind, file_format)
        return Store(
            name=entry.name,
            kind=kind,
            path=None if location is None else self._resolved(location),
            format=file_format,
            options=self._options(section),
        )

    def _database(self, name: str, section: Section) -> Store:
        """Without a url, libpq takes everything from PG* variables."""
        options = self._options(section)
        if any(option.lower() == "timezone" for option in options):
            message = f"{section.what} has an option TimeZone, which is not the store's to say"
            section.add("options", message, "write time_zone: for the catalog, or for a table")
        return Store(
            name=name,
            kind="postgres",
            url=self._expanded(section, "url"),
            schema=self._expanded(section, "schema"),
            options=options,
        )

    def _format(self, section: Section) -> str | None:
        known = _FILE_FORMATS + _WITHOUT_PATH
        section.require("format", f"write one of {', '.join(known)}")
        file_format = self._expanded(section, "format")
        if file_format is not None and file_format not in known and not self._unset:
            # As written: what an environment variable holds is not for showing.
            message = f"{section.what} cannot be of format '{section.text('format')}'"
            section.add("format", message, f"write one of {', '.join(known)}")
        return file_format

    def _check_path(self, section: Section, kind: str, file_format: str | None) -> None:
        if kind == "delta" or file_format in _FILE_FORMATS:
            section.require("path", "write the directory that holds its tables, e.g. path: ./lake")
        elif section.node("path") is not None and file_format in _WITHOUT_PATH:
            section.add("path", f"{section.what} has a path, which its format does not use")

    def _options(self, section: Section) -> dict[str, str]:
        return {
            entry.name: self._expand(value, entry.line)
            for entry, value in section.texts("options", "option")
        }

    def _expanded(self, section: Section, key: str) -> str | None:
        text = section.text(key)
        if text is None:
            return None
        expanded = self._expand(text, section.line_of(key))
        if not expanded.strip():
            section.add(key, f"'{key}' of {section.what} is empty once {text} is filled in")
        return expanded

    def _expand(self, text: str, line: int) -> str:
        def value(found: re.Match[str]) -> str:
            if not _VARIABLE_NAME.fullmatch(found[0]):
                # Not repeated: it may be a part of a password.
                message = "a ${ is not followed by the name of a variable and a }"
                self._mistakes.add(line, message, "write ${NAME}")
            elif found[1] not in self._environment and self._unset_allowed:
                self._unset.append(found[1])
            elif found[1] not in self._environment:
                hint = f"set it: export {found[1]}=..."
                self._mistakes.add(line, f"the environment variable {found[1]} is not set", hint)
            return self._environment.get(found[1], found[0])

        return _VARIABLE.sub(value, text)

    def _resolved(self, location: str) -> str:
        if _SCHEME.match(location):
            return location
        return os.path.normpath(self._directory / Path(location).expanduser())
