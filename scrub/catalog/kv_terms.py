# SPDX-License-Identifier: Apache-2.0
"""The numbers and columns that the parts of a table of pairs are described with."""

from collections.abc import Mapping

from yaml.nodes import Node

from scrub.catalog import document
from scrub.catalog.document import Mistakes, line_of
from scrub.catalog.section import Section
from scrub.catalog.spelling import did_you_mean

_NUMBER_MAX = 2**32 - 1  # as in the bytes


def number_of(section: Section, key: str, default: int, *, least: int = 1) -> int:
    """An id; the default if there is none, or if what is there is a mistake."""
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
    """The name and the id of a column that is there; None, and a mistake, otherwise."""
    name = document.text(node, what, mistakes)
    if name is None:
        return None
    if name not in ids:
        hint = did_you_mean(name, ids, "columns")
        mistakes.add(line_of(node), f"{what}: there is no column '{name}'", hint)
        return None
    return name, ids[name]
