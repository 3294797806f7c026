# SPDX-License-Identifier: Apache-2.0
"""Reads ids and column names in the description of a table of pairs."""

from collections.abc import Mapping

from yaml.nodes import Node

from scrub.catalog import document
from scrub.catalog.document import Mistakes, line_of
from scrub.catalog.section import Section
from scrub.catalog.spelling import did_you_mean

_NUMBER_MAX = 2**32 - 1  # as in the bytes


def id_number(section: Section, key: str, default: int, *, least: int = 1) -> int:
    """The id under a key; the default if it is absent or a mistake."""
    text = section.text(key)
    if text is None:
        return default
    what = f"'{key}' of {section.what}"
    if not (text.isascii() and text.isdigit()):
        section.add(key, f"{what} is a number, not '{text}'")
        return default
    number = int(text) if len(text) <= len(str(_NUMBER_MAX)) else _NUMBER_MAX + 1
    if not least <= number <= _NUMBER_MAX:
        section.add(
            key, f"{what} cannot be {text}", f"write a number from {least} to {_NUMBER_MAX}"
        )
        return default
    return number


def column_id_of(
    node: Node, what: str, ids: Mapping[str, int], mistakes: Mistakes
) -> tuple[str, int] | None:
    """The name and the id of a known column; None, with a mistake recorded, otherwise."""
    name = document.text(node, what, mistakes)
    if name is None:
        return None
    if name not in ids:
        hint = did_you_mean(name, ids, "columns")
        mistakes.add(line_of(node), f"{what}: there is no column '{name}'", hint)
        return None
    return name, ids[name]
