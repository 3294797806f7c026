# SPDX-License-Identifier: Apache-2.0
"""Which names tables, indexes, columns and relations may have."""

from posixpath import normpath

RESERVED_PREFIX = "__scrub"


def problem_of(name: str) -> str | None:
    """Why something cannot be called this; None if it can."""
    if not name.strip():
        return "is empty"
    if name != name.strip():
        return "begins or ends with a blank"
    if not name.isprintable():
        return "holds a character that cannot be shown"
    if name.startswith("-"):
        return "begins with '-' and would be taken for an option"
    if name.lower().startswith(RESERVED_PREFIX):
        return f"begins with '{RESERVED_PREFIX}', which is kept for columns that scrub adds"
    return None


def leaves_its_store(relation: str) -> bool:
    """Whether a relation's path leads out of the directory its store stands for."""
    return relation.startswith("/") or normpath(relation).split("/")[0] == ".."
