# SPDX-License-Identifier: Apache-2.0
"""Whether what keeps an index still fits the table, and serves nobody else.

Functions say of themselves what they were made for. Those of earlier versions of scrub say nothing:
they look at nothing before they act, and everybody may use them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scrub.stores.postgres.building.firing import FORM, note_in
from scrub.stores.postgres.connections import Connection
from scrub.stores.postgres.index_names import IndexNames
from scrub.stores.postgres.relations import ServerRelation
from scrub.stores.postgres.sources import Sources, read_sources

_FUNCTIONS = """
    SELECT p.prosrc, ARRAY(
        SELECT CASE WHEN g.grantee = 0 THEN 'everybody'
                    ELSE pg_catalog.pg_get_userbyid(g.grantee)::pg_catalog.text END
        FROM pg_catalog.aclexplode(
            coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) AS g
        WHERE g.grantee NOT IN (p.proowner, c.relowner) ORDER BY g.grantee),
        pg_catalog.pg_get_userbyid(p.proowner)
    FROM pg_catalog.pg_proc p
    JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    CROSS JOIN pg_catalog.pg_class c
    WHERE n.nspname = %s AND p.proname = ANY(%s) AND p.pronargs = 0 AND c.oid = %s
"""
_TRIGGER = """
    SELECT tgenabled::pg_catalog.text FROM pg_catalog.pg_trigger WHERE tgrelid = %s AND tgname = %s
"""
_ALWAYS = "A"


@dataclass(frozen=True, slots=True)
class Standing:
    """What is to be said of an index's functions and triggers; nothing, if all is well."""

    index: str
    to_renew: tuple[str, ...] = ()  # what new functions would change
    to_check: tuple[str, ...] = ()  # what only another build, or a repair, would change


def standing_of(connection: Connection, relation: ServerRelation, names: IndexNames) -> Standing:
    wanted = [names.name_with("keep"), names.name_with("truncate")]
    rows = connection.execute(_FUNCTIONS, (names.schema, wanted, relation.oid)).fetchall()
    if len(rows) < len(wanted):
        return Standing(names.index, to_check=("the functions that keep it are gone",))
    notes = [note_in(row[0]) for row in rows]
    to_renew = list(_about_rights({role for row in rows for role in row[1]}))
    to_renew += sorted({told for row in rows for told in _about_owner(row, relation)})
    if any(note is None or note["form"] < FORM for note in notes):
        to_renew.append("its functions are of an older form, which any role could misuse")
    moved: list[str] = []
    lost: list[str] = []
    known = next((note for note in notes if note is not None), None)
    if known is not None:
        moved, lost = _compared(known, relation, read_sources(connection, relation))
    state = connection.execute(_TRIGGER, (relation.oid, wanted[0])).fetchone()
    if state is None or state[0] != _ALWAYS:
        gone = "gone" if state is None else "disabled"
        lost.append(f"the trigger that keeps it is {gone}: what was written since may be missing")
    return Standing(names.index, (*to_renew, *moved), tuple(lost))


def standing_if_kept(
    connection: Connection, relation: ServerRelation, names: IndexNames
) -> Standing | None:
    """The same for an index that may be kept by others: None if no function of scrub's is there."""
    wanted = [names.name_with("keep"), names.name_with("truncate")]
    found = connection.execute(_FUNCTIONS, (names.schema, wanted, relation.oid)).fetchone()
    return standing_of(connection, relation, names) if found else None


def _about_rights(roles: set[str]) -> Iterator[str]:
    if roles:
        yield f"its functions may be used by {', '.join(sorted(roles))}"


def _about_owner(row: Sequence[Any], relation: ServerRelation) -> Iterator[str]:
    """Functions do not change hands with the table; those of a role that was named stay its."""
    source, _, owner = row
    was = (note_in(source) or {}).get("owner")
    if owner == was and was != relation.owner:
        yield f"its functions belong to {owner}, who owned the table, and could replace them"


def _compared(
    note: Mapping[str, Any], relation: ServerRelation, sources: Sources
) -> tuple[list[str], list[str]]:
    """What was renamed, and what is gone or of another type."""
    number, table = note["table"]
    if number != relation.oid:
        return [f"{relation.label} was recreated since"], []
    moved = [f"the table was called {table}"] if table != relation.sql else []
    lost = []
    by_number = {column.number: column for column in sources.columns.values()}
    for name, of_number, of_type in note["columns"]:
        now = by_number.get(of_number)
        if now is None:
            lost.append(f"column {name} is gone")
            continue
        if now.name != name:
            moved.append(f"column {name} is now called {now.name}")
        if now.type != of_type:
            lost.append(f"column {now.name} was of type {of_type} and is now of type {now.type}")
    return moved, lost
