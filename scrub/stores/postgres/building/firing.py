# SPDX-License-Identifier: Apache-2.0
"""What a trigger function looks at before anything else: what it fires for, and how that is now.

It acts with the rights of its owner, so it must not touch a row of any other relation: not even
read one, for to convert a value of a stranger's type is to call the stranger's code. The table is
known by its number, its partitions through it; after a restore, which numbers everything anew, by
its name and the types of its columns.

Columns are known by their numbers too. While nothing has moved, the names in the function are those
of the table, and plain statements serve. When columns or the table were renamed, or a column was
made wider, the statements are put together from the names of the moment. Whatever cannot be
followed, such as a column that is gone, is an error that says so and what to do.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrub.model.command_line import command_line
from scrub.stores.postgres.connections import SEARCH_PATH
from scrub.stores.postgres.entry_parts import SourceColumn
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import literal

FORM = 2
"""Of the functions; those before had no number, looked at nothing, and let everybody use them."""

_NOTE = "-- scrub: "
_EQUAL = "OPERATOR(pg_catalog.=)"

_SETTINGS = f"SET search_path = {SEARCH_PATH} SET row_security = off"
"""Of the functions: names are found nowhere else, and no policy of the table's owner is run."""

MAY_READ = f"""(
    SELECT NOT c.relrowsecurity
        AND pg_catalog.has_table_privilege(session_user, c.oid, 'SELECT')
        AND CASE WHEN pg_catalog.current_setting('role') {_EQUAL} 'none' THEN true
            ELSE pg_catalog.has_table_privilege(
                pg_catalog.current_setting('role')::pg_catalog.name, c.oid, 'SELECT') END
    FROM pg_catalog.pg_class AS c WHERE c.oid {_EQUAL} own)"""
"""Whether whoever writes may read the table: the function itself cannot see who called it, but the
role of the session, and the one that it has taken on."""

# A column may become wider without its values becoming others.
_WIDENED = f"""
    (a.atttypid {_EQUAL} ANY ('{{int2,int4,int8}}'::pg_catalog.regtype[]::pg_catalog.oid[])
     AND c.type {_EQUAL} ANY ('{{int2,int4,int8}}'::pg_catalog.regtype[]::pg_catalog.oid[]))
    OR (a.atttypid {_EQUAL} ANY ('{{text,varchar}}'::pg_catalog.regtype[]::pg_catalog.oid[])
        AND c.type {_EQUAL} ANY ('{{text,varchar}}'::pg_catalog.regtype[]::pg_catalog.oid[]))
"""


def _note_of(entry: EntrySql) -> str:
    """What a function says of itself, for those who look whether it still fits."""
    said = {
        "form": FORM,
        "index": entry.index,
        "table": [entry.table_number, entry.table],
        "owner": entry.table_owner,
        "columns": [[of.name, of.number, of.type] for of in entry.sources],
        "entry": [[part.name, part.value] for part in entry.parts],
    }
    return f"{_NOTE}{json.dumps(said)}"


def note_in(source: str) -> Mapping[str, Any] | None:
    """What a function said of itself; None for those that are older."""
    lines = (line for line in source.splitlines() if line.startswith(_NOTE))
    found = next(lines, None)
    said: Mapping[str, Any] | None = None if found is None else json.loads(found[len(_NOTE) :])
    return said


@dataclass(frozen=True, slots=True)
class Firing:
    """The beginning of a function of one index."""

    entry: EntrySql
    when: str  # "AFTER ROW"
    on_others: str = ""  # what to do for another relation; nothing: refuse

    DECLARED = """
        own pg_catalog.oid;
        named pg_catalog.oid;
        moved boolean := false;
        names pg_catalog.text[];
        problem pg_catalog.text;
    """

    def look(self) -> str:
        """Sets `own`, the table by its number now; `moved`, and then `names` as they are now."""
        number, entry = self._number, self.entry
        return f"""
    named := pg_catalog.to_regclass({literal(entry.table)});
    IF pg_catalog.concat(TG_WHEN, ' ', TG_LEVEL) {_EQUAL} {literal(self.when)} THEN
        IF {self._is_of(number)} THEN
            own := {number};
        ELSIF named IS NOT NULL AND {self._is_of("named")} THEN
            own := named;
        END IF;
    END IF;
    IF own IS NULL THEN
        {self.on_others or self._refuse_stranger}
    END IF;
    IF pg_catalog.row_security_active(own) THEN
        {self._refuse_hidden}
    END IF;
    IF own {_EQUAL} {number} THEN
        moved := named IS NULL OR named OPERATOR(pg_catalog.<>) own OR NOT {self._as_noted};
        IF moved THEN
            {self._follow}
        END IF;
    ELSE
        {self._compare}
    END IF;
    IF problem IS NOT NULL THEN
        {self._refuse_moved}
    END IF;"""

    @property
    def _number(self) -> str:
        return f"{self.entry.table_number}::pg_catalog.oid"

    def _is_of(self, table: str) -> str:
        """Whether it fires for this table or a part of it."""
        itself = f"TG_RELID {_EQUAL} {table}"
        if not self.entry.is_partitioned:
            return itself
        return (
            f"({itself} OR EXISTS (SELECT FROM pg_catalog.pg_partition_ancestors(TG_RELID) "
            f"AS a(relid) WHERE a.relid {_EQUAL} {table}))"
        )

    @property
    def _as_noted(self) -> str:
        """Whether every column still has the number, the name and the type that it had."""
        columns = self.entry.sources
        numbers = ",".join(str(of.number) for of in columns)
        each = " OR ".join(
            f"(a.attnum {_EQUAL} {of.number} AND a.attname {_EQUAL} {_name(of)} "
            f"AND a.atttypid {_EQUAL} {of.type_number}::pg_catalog.oid)"
            for of in columns
        )
        return (
            f"(SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute AS a "
            f"WHERE a.attrelid {_EQUAL} {self._number} "
            f"AND a.attnum {_EQUAL} ANY ('{{{numbers}}}'::pg_catalog.int2[]) "
            f"AND NOT a.attisdropped AND ({each})) {_EQUAL} {len(columns)}"
        )

    @property
    def _follow(self) -> str:
        """The names of the columns now, by their numbers; or what keeps them from being followed.

        A name that another column has by now is not followed: it may be that one that is meant.
        """
        return f"""
            SELECT pg_catalog.array_agg(a.attname::pg_catalog.text ORDER BY c.n),
                   pg_catalog.string_agg(CASE
                       WHEN a.attname IS NULL
                       THEN pg_catalog.format('column %s is gone', c.name)
                       WHEN a.attname OPERATOR(pg_catalog.<>) c.name AND EXISTS (
                           SELECT FROM pg_catalog.pg_attribute AS b WHERE b.attrelid {_EQUAL} own
                           AND b.attname {_EQUAL} c.name AND NOT b.attisdropped)
                       THEN pg_catalog.format('another column is now called %s', c.name)
                       WHEN a.atttypid OPERATOR(pg_catalog.<>) c.type AND NOT ({_WIDENED})
                       THEN pg_catalog.format('column %s now has type %s', a.attname,
                                              pg_catalog.format_type(a.atttypid, a.atttypmod))
                   END, '; ')
            INTO names, problem
            FROM (VALUES {self._listed(with_number=True)}) AS c(n, number, name, type)
            LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid {_EQUAL} own
                  AND a.attnum {_EQUAL} c.number AND NOT a.attisdropped;"""

    @property
    def _compare(self) -> str:
        """Of a table that was made anew, nothing but names can be compared."""
        return f"""
        SELECT pg_catalog.string_agg(
            pg_catalog.format('there is no column %s of type %s', c.name, c.type), '; ')
        INTO problem
        FROM (VALUES {self._listed(with_number=False)}) AS c(n, name, type)
        WHERE NOT EXISTS (
            SELECT FROM pg_catalog.pg_attribute AS a
            JOIN pg_catalog.pg_type AS t ON t.oid {_EQUAL} a.atttypid
            JOIN pg_catalog.pg_namespace AS n ON n.oid {_EQUAL} t.typnamespace
            WHERE a.attrelid {_EQUAL} own AND a.attname {_EQUAL} c.name AND NOT a.attisdropped
              AND c.type {_EQUAL} CASE
                  WHEN n.nspname {_EQUAL} 'pg_catalog' THEN pg_catalog.format_type(t.oid, -1)
                  ELSE pg_catalog.format('%I.%I', n.nspname, t.typname) END);"""

    def _listed(self, with_number: bool) -> str:
        def one(n: int, of: SourceColumn) -> str:
            if with_number:
                number = f"{of.number}::pg_catalog.int2"
                return f"({n}, {number}, {_name(of)}, {of.type_number}::pg_catalog.oid)"
            return f"({n}, {_name(of)}, {literal(of.type)}::pg_catalog.text)"

        return ", ".join(one(n, of) for n, of in enumerate(self.entry.sources))

    @property
    def _refuse_stranger(self) -> str:
        entry, of = self.entry, literal(f"scrub: this function is for index {self.entry.index} of")
        told = f"{of}, ' ', {literal(entry.table)}, ', not for ', TG_RELID::pg_catalog.regclass"
        return refused(
            f"pg_catalog.concat({told})",
            "Drop this trigger. If the relation is the same table, recreated, run:  "
            f"{_command('renew', self.entry)}",
        )

    @property
    def _refuse_moved(self) -> str:
        kept = literal(f"scrub: index {self.entry.index} of")
        return refused(
            f"pg_catalog.concat({kept}, ' ', own::pg_catalog.regclass, "
            "' cannot be kept any more: ', problem)",
            "Correct the catalog of scrub, if it is the description that has to follow, and run: "
            f"{_command('renew', self.entry)}; else remove the index with: "
            + _command("drop", self.entry),
        )

    @property
    def _refuse_hidden(self) -> str:
        """Rows that are there would seem gone; and policies are code of the table's owner."""
        kept = f"scrub: index {self.entry.index} cannot be kept: row security hides rows of "
        return refused(
            f"pg_catalog.concat({literal(kept)}, own::pg_catalog.regclass)",
            "ALTER TABLE ... NO FORCE ROW LEVEL SECURITY, or give the owner of the index's "
            "functions BYPASSRLS",
        )


def _command(verb: str, entry: EntrySql, catalog: Path | None = None) -> str:
    """A command for an index; whom the database tells of it has a catalog elsewhere, or none."""
    named = (entry.table_name, entry.index)
    return command_line(f"backfill {verb}", *named, "--execute", catalog=catalog)


def build_again(entry: EntrySql, catalog: Path | None = None) -> str:
    """What to do about an index that its table has grown out of."""
    drop, run = (_command(verb, entry, catalog) for verb in ("drop", "run"))
    return f"build the index again: {drop}, then {run}"


def refused(message: str, hint: str) -> str:
    """An error for whoever writes; the message is SQL."""
    return (
        "RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state', "
        f"MESSAGE = {message}, HINT = {literal(hint)};"
    )


def _name(of: SourceColumn) -> str:
    return f"{literal(of.name)}::pg_catalog.name"


def trigger_function(create: str, name: str, entry: EntrySql, body: str) -> str:
    """A function of an index, which acts with the rights of its owner, and its note."""
    return f"""
{create} FUNCTION {name}() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER {_SETTINGS}
AS {quoted_body(f"{_note_of(entry)}{body}")}"""


def quoted_body(body: str) -> str:
    """A body between dollars that it does not hold."""
    tag = "$keep$"
    while tag in body:
        tag = f"{tag[:-1]}_$"
    return f"{tag}{body}{tag}"
