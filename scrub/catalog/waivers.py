# SPDX-License-Identifier: Apache-2.0
"""The file of waivers: who accepts which defects, why, and until when."""

import os
import re
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path

from yaml.nodes import Node

from scrub.catalog import document
from scrub.catalog.defect_choice import KEYS as CHOICE_KEYS
from scrub.catalog.defect_choice import read_choice
from scrub.catalog.document import Mistakes, line_of
from scrub.catalog.load import Catalog
from scrub.catalog.section import Section
from scrub.errors import CatalogError
from scrub.model.gate import WAIVERS_FILE, Waiver

VERSION = 1
DEFECTS_MAX = 100_000  # as many as a baseline holds
_KEYS = ("version", "waivers")
_WAIVER_KEYS = ("id", "content", *CHOICE_KEYS, "at_most", "reason", "until", "by")
_ID = re.compile(r"[0-9a-f]{16}")
_CONTENT = re.compile(r"[0-9a-f]{16}(\.[0-9a-f]{16})?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_COUNT = re.compile(r"[1-9]\d{0,8}", re.ASCII)


def waivers_path(catalog: Catalog) -> Path:
    """The file that `waivers:` of the catalog names, or the usual one beside it."""
    return catalog.path.parent / (catalog.waivers or WAIVERS_FILE)


def load_waivers(catalog: Catalog, today: date | None = None) -> tuple[Waiver, ...]:
    """All waivers, those that have expired included; CatalogError lists every mistake.

    The usual file need not be there; one that the catalog names must be.
    """
    path = waivers_path(catalog)
    if catalog.waivers is None and not os.path.lexists(path):
        return ()
    hint = "write it, or take `waivers:` out of the catalog"
    text = document.read_text(path, "file of waivers", hint=hint)
    mistakes = Mistakes()
    root = document.compose(text, mistakes, "the file of waivers")
    found = [] if root is None else _read(root, catalog, today or today_in_utc(), mistakes)
    if mistakes.found:
        raise CatalogError(path, mistakes.in_order())
    return tuple(dict.fromkeys(found))  # an alias of YAML repeats a waiver, line and all


def today_in_utc() -> date:
    return datetime.now(UTC).date()


def _read(root: Node, catalog: Catalog, today: date, mistakes: Mistakes) -> list[Waiver]:
    section = Section(root, 1, "the file of waivers", _KEYS, mistakes)
    section.require("version", f"write version: {VERSION}")
    version = section.text("version")
    if version not in (None, str(VERSION)):
        hint = f"this release reads version: {VERSION}"
        section.add("version", f"a file of waivers of version {version} is not known", hint)
    return [_waiver(item, catalog, today, mistakes) for item in section.items("waivers")]


def _waiver(item: Node, catalog: Catalog, today: date, mistakes: Mistakes) -> Waiver:
    section = Section(item, line_of(item), "the waiver", _WAIVER_KEYS, mistakes)
    section.require("reason", "say why these defects are acceptable: reason: TEXT")
    section.require("by", "say who answers for it: by: NAME")
    section.require("until", "say when it ends, at most a year away: until: YYYY-MM-DD")
    choice = read_choice(section, catalog.tables)
    return Waiver(
        reason=section.text("reason") or "",
        by=section.text("by") or "",
        until=_until(section, today) or today,
        id=_id(section),
        content=_content(section),
        **asdict(choice),
        at_most=_at_most(section),
        line=line_of(item),
    )


def _id(section: Section) -> str | None:
    text = section.text("id")
    if text is None:
        if section.node("table") is None:
            hint = "name one defect (id: ...), or several (table: NAME, at_most: N)"
            section.mistakes.add(section.line, "the waiver names no defect", hint)
        return None
    for key in (*CHOICE_KEYS, "at_most"):
        if section.node(key) is not None:
            section.add(key, f"a waiver with an id has no '{key}'", "leave it out")
    if not _ID.fullmatch(text):
        section.add(
            "id",
            f"'{text}' is not the id of a defect",
            "copy it from a report: 16 of the characters 0-9 and a-f",
        )
    return text


def _content(section: Section) -> str | None:
    text = section.text("content")
    if text is not None and section.node("id") is None:
        section.add("content", "a waiver of several defects has no 'content'", "leave it out")
    if text is not None and not _CONTENT.fullmatch(text):
        hint = "copy it from a report of scrub gate"
        section.add("content", f"'{text}' is not the content of a defect", hint)
    return text


def _at_most(section: Section) -> int | None:
    text = section.text("at_most")
    if text is None:
        if section.node("id") is None and section.node("table") is not None:
            hint = "say how many defects it may waive: at_most: N"
            section.mistakes.add(section.line, "the waiver has no 'at_most'", hint)
        return None
    if not _COUNT.fullmatch(text):
        section.add("at_most", f"'{text}' is not a number of defects", "write at_most: 5")
        return None
    if int(text) > DEFECTS_MAX:
        hint = "build the index again instead (docs/backfill.md)"
        section.add("at_most", f"a waiver is of at most {DEFECTS_MAX:,} defects", hint)
    return int(text)


def _until(section: Section, today: date) -> date | None:
    text = section.text("until")
    if text is None:
        return None
    try:
        until = date.fromisoformat(text if _DATE.fullmatch(text) else "")
    except ValueError:
        section.add("until", f"'{text}' is not a date", "write until: YYYY-MM-DD")
        return None
    if until > (latest := _a_year_from(today)):
        hint = f"write {latest} or earlier, and renew it then"
        section.add("until", f"a waiver ends at most a year from now, not {text}", hint)
    return until


def _a_year_from(today: date) -> date:
    try:
        return today.replace(year=today.year + 1)
    except ValueError:  # the 29th of February
        return today.replace(year=today.year + 1, day=28)
