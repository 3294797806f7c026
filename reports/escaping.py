# SPDX-License-Identifier: Apache-2.0
"""Makes data safe to show: no value can move the cursor or become part of a document's markup."""

import math
import re

from reports.truncation import told_length, whole_from, whole_until
from scrub.model.defect import Value

# Everything CommonMark, GitHub's tables, mentions and formulas, or HTML would take for markup.
# An underscore inside a word is none, and names stay easy to search for.
_MARKUP = re.compile(r"[&<>|`*\[\]\\~@#!$]|(?<![^\W_])_|_(?![^\W_])|:(?=//)")
_PLAIN_NAME = re.compile(r"\w+")
# GitHub and Azure Pipelines execute such a command wherever it is in a line of a log.
_LOG_COMMAND = re.compile(r"##(?=\w*\[)")
_LINE_COMMAND = re.compile(r"^(\s*):(?=:)")


def printable(text: str) -> str:
    """The text with every control, invisible, reordering or broken character spelled out.

    So is one character of what a CI system would take for a command in its log.
    """
    if not text.isprintable():
        text = "".join(char if char.isprintable() else _spelled_out(char) for char in text)
    return _LOG_COMMAND.sub(r"#\\x23", text)


def printable_line(text: str) -> str:
    """The same for a line of a log, which is a command for GitHub if it begins with `::`."""
    return printable(_LINE_COMMAND.sub(r"\1\\x3a", text))


def json_without_commands(text: str) -> str:
    """A JSON document that says the same, and in which nothing is a command of a CI system."""
    return _LOG_COMMAND.sub(r"#\\u0023", text)


def value_literal(value: Value) -> str:
    """A value as people write it; strings are quoted, so that NULL and 'NULL' stay apart."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + printable(value.replace("\\", "\\\\").replace("'", "\\'")) + "'"
        case _:
            return str(json_ready(value))


def part_of_literal(value: str, start: int, end: int) -> str:
    """Some characters of a long string, and how many it has; dots outside the quotes are ours."""
    start, end = whole_from(value, start), whole_until(value, end)
    before = "..." if start else ""
    after = told_length(len(value)) if end < len(value) else f" ({len(value):,} characters)"
    return f"{before}{value_literal(value[start:end])}{after}"


def column_name(name: str) -> str:
    """A column's name, quoted as Spark does where it is not a plain word."""
    if _PLAIN_NAME.fullmatch(name) and name.isprintable():
        return name
    return "`" + printable(name.replace("`", "``")) + "`"


def markdown(text: str) -> str:
    """Printable text that no Markdown renderer reads as markup; entities survive table cells."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", printable(text))


def json_ready(value: Value) -> Value:
    """The value itself, or text for the numbers that JSON cannot hold."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _spelled_out(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
