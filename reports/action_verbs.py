# SPDX-License-Identifier: Apache-2.0
"""What repairs do, in words."""

from collections.abc import Mapping

from scrub.model.repair import ActionKind

_VERBS: Mapping[ActionKind, str] = {
    ActionKind.PUT: "put the missing entry",
    ActionKind.DELETE: "delete the entry",
    ActionKind.REPLACE: "replace the stored columns",
    ActionKind.KEEP_ONE: "remove all copies but one",
    ActionKind.REINDEX: "rebuild the index",
    ActionKind.RECOVER: "put the lost row back",
}


def verb(index: str, kind: ActionKind) -> str:
    """A pair of the table itself, which has no index, keeps its values."""
    is_spelling = not index and kind is not ActionKind.RECOVER
    return "write its values in their canonical encoding" if is_spelling else _VERBS[kind]
