# SPDX-License-Identifier: Apache-2.0
"""The `reflects:` of an index: which version of its table it shows."""

from datetime import UTC, datetime

from yaml.nodes import MappingNode, ScalarNode

from scrub.catalog.section import Section
from scrub.model.table import Reflects

_INTEGER = "tag:yaml.org,2002:int"
_KEYS = ("version", "time", "column")
_FORMS = "write {version: 12}, {time: 2026-01-31T08:00:00Z} or {column: NAME}"


def read_reflects(index: Section) -> Reflects | None:
    """The version or moment an index shows; a plain number is a version, plain text a time."""
    node = index.node("reflects")
    what = f"'reflects' of {index.what}"
    if node is None:
        return None
    if isinstance(node, ScalarNode):
        if node.tag == _INTEGER:
            return Reflects(version=_version(index, "reflects", what))
        return Reflects(time=_time(index, "reflects", what))
    if not isinstance(node, MappingNode):
        index.add("reflects", f"{what} must be one version, time or column", _FORMS)
        return None
    section = Section(node, index.line_of("reflects"), what, _KEYS, index.mistakes)
    given = [key for key in _KEYS if section.node(key) is not None]
    if len(given) != 1:
        index.add("reflects", f"{what} must be one version, time or column", _FORMS)
        return None
    return Reflects(
        version=_version(section, "version", what) if "version" in given else None,
        time=_time(section, "time", what) if "time" in given else None,
        column=section.text("column"),
    )


def _version(section: Section, key: str, what: str) -> int | None:
    text = section.text(key) or ""
    if text.isascii() and text.isdigit():
        return int(text)
    section.add(key, f"{what}: '{text}' is not a version", "a version is a whole number")
    return None


def _time(section: Section, key: str, what: str) -> str | None:
    """A moment in ISO form; without a zone it is meant in UTC, never in the machine's zone."""
    text = section.text(key) or ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        section.add(key, f"{what}: '{text}' is not a time", "e.g. 2026-01-31T08:00:00Z")
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()
