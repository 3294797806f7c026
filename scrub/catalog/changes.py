# SPDX-License-Identifier: Apache-2.0
"""The `changes:` of a table: where a stream hears what happens to its rows."""

import re
from collections.abc import Mapping

from scrub.catalog import document
from scrub.catalog.document import Mistakes
from scrub.catalog.section import Section
from scrub.catalog.spelling import did_you_mean
from scrub.model.table import ChangeFeed, Store, Table

_POSTGRES = "postgres"
_PLANNED = ("files", "delta", "spark")
_KEYS = {_POSTGRES: ("kind", "slot", "publication")}
_EVERY_KEY = ("kind", "slot", "publication", "path", "envelope", "order", "disorder", "format")
_NAME_BYTES_MAX = 63
_PREFIX = "scrub_"


def read_changes(section: Section, table: str, store: Store | None) -> ChangeFeed | None:
    """What the table says of its changes; None if nothing, or if that cannot be used."""
    node = section.node("changes")
    if node is None:
        section.refuse_empty("changes", "write changes: {kind: postgres}")
        return None
    what = f"'changes' of {section.what}"
    line = section.line_of("changes")
    kind = document.peek(node, "kind")
    keys = _KEYS[_POSTGRES] if kind in (None, _POSTGRES) else _EVERY_KEY
    own = Section(node, line, what, keys, section.mistakes)
    own.require("kind", "write kind: postgres")
    if not _is_known(own, kind):
        return None
    if store is not None and store.kind != _POSTGRES:
        own.add(
            "kind",
            f"{what}: table '{table}' is in store '{store.name}' of kind {store.kind}, which has "
            "no replication slots",
            "leave `changes:` out; indexes in Delta of tables in Delta follow them with scrub "
            "index follow",
        )
    return ChangeFeed(
        kind=_POSTGRES,
        slot=_slot(own, table),
        publication=_publication(own, table),
        line=own.line_of("slot"),
    )


def _is_known(own: Section, kind: str | None) -> bool:
    if kind in _PLANNED:
        own.add("kind", f"{own.what} of kind '{kind}' are not supported yet", "write postgres")
        return False
    if kind is not None and kind != _POSTGRES:
        hint = did_you_mean(kind, (_POSTGRES,), "kinds")
        own.add("kind", f"'kind' of {own.what} cannot be '{kind}'", hint)
        return False
    return kind is not None


def _slot(own: Section, table: str) -> str:
    name = own.text("slot")
    if name is None:
        letters = re.sub(r"[^a-z0-9_]", "_", table.lower())
        return f"{_PREFIX}{letters}"[:_NAME_BYTES_MAX]
    if not re.fullmatch(rf"[a-z0-9_]{{1,{_NAME_BYTES_MAX}}}", name):
        own.add(
            "slot",
            f"'slot' of {own.what} cannot be '{name}'",
            f"write up to {_NAME_BYTES_MAX} lower case letters, digits and underscores",
        )
    return name


def _publication(own: Section, table: str) -> str:
    name = own.text("publication")
    if name is None:
        return f"{_PREFIX}{table}".encode()[:_NAME_BYTES_MAX].decode(errors="ignore")
    if not name or "\0" in name or len(name.encode()) > _NAME_BYTES_MAX:
        hint = f"write a name of at most {_NAME_BYTES_MAX} bytes"
        own.add("publication", f"'publication' of {own.what} cannot be '{name}'", hint)
    return name


def refuse_shared_slots(
    tables: Mapping[str, Table], stores: Mapping[str, Store], mistakes: Mistakes
) -> None:
    """Record a mistake for each table whose slot is that of another: it would miss changes."""
    owners: dict[tuple[str, str], str] = {}
    for table in tables.values():
        if table.changes is None:
            continue
        # A server has one slot of a name, whatever the database.
        store = stores.get(table.store)
        place = (store.url if store is not None else None) or table.store
        owner = owners.setdefault((place, table.changes.slot), table.name)
        if owner != table.name:
            mistakes.add(
                table.changes.line,
                f"tables '{owner}' and '{table.name}' have the same slot "
                f"'{table.changes.slot}', and each would miss what the other reads",
                "give each table a slot of its own",
            )
