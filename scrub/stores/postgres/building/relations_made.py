# SPDX-License-Identifier: Apache-2.0
"""The relations of a build: the index table, what writers record, and rows under suspicion."""

from collections.abc import Iterator

from scrub.errors import StoreUnavailable
from scrub.model.build import Method
from scrub.model.entry_shape import MARK
from scrub.stores.postgres.building.firing import quoted_body
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.index_names import IndexNames
from scrub.stores.postgres.quoting import identifier, literal

NUMBER = "scrub_number"
"""Counts the records of a temporary index in the order their keys came up."""

EQUAL_NULLS_VERSION = 150000


def is_identified_late(entry: EntrySql, method: Method) -> bool:
    """Whether entries are loaded before a unique index of them is made, which is faster.

    In a merge nobody but the builder writes there before, and it reads no row twice: entries that
    name their row are never the same. Those of a unique index may clash for a while.
    """
    return method is Method.MERGE and not entry.unique


def creating(entry: EntrySql, server_version: int, method: Method) -> Iterator[str]:
    """What makes the index table and, for a merge, the temporary one."""
    if entry.needs_equal_nulls and server_version < EQUAL_NULLS_VERSION:
        raise StoreUnavailable(
            f"index {entry.index}: an indexed column may be NULL, and PostgreSQL before 15 has no "
            "unique index in which NULLs are equal",
            hint="declare the column NOT NULL, or add `nulls: skip` and NOT NULL, or upgrade",
        )
    yield from _entries(entry, entry.relation)
    if is_identified_late(entry, method):
        yield f"ALTER TABLE {entry.relation} REPLICA IDENTITY FULL"
    else:
        yield from _identifying(entry, entry.relation, entry.relation_name)
    # Finds the tombstones when they are no longer needed; it holds nothing else.
    yield f"CREATE INDEX ON {entry.relation} ({identifier(MARK)}) WHERE {identifier(MARK)}"
    if method is Method.MERGE:
        yield from _entries(entry, entry.temporary)
        yield from _identifying(entry, entry.temporary, entry.name_with("recorded"))
        number = identifier(NUMBER)
        yield (
            f"ALTER TABLE {entry.temporary} "
            f"ADD COLUMN {number} bigint GENERATED ALWAYS AS IDENTITY UNIQUE"
        )
    if entry.unique:
        keys = ", ".join(f"({key.name})::{key.type} AS {key.name}" for key in entry.primary_key)
        # Without any index, so that writers never wait for one another here.
        yield f"CREATE TABLE {entry.suspects} AS SELECT {keys} FROM {entry.table} WITH NO DATA"
        yield f"ALTER TABLE {entry.suspects} REPLICA IDENTITY FULL"


def identifying_late(entry: EntrySql) -> Iterator[str]:
    """What lets writers find the entries that were loaded."""
    yield from _identifying(entry, entry.relation, entry.relation_name)


def _entries(entry: EntrySql, relation: str) -> Iterator[str]:
    """An empty relation of entries. Its types and collations are those of the table's columns."""
    columns = ", ".join(
        f"x.{name} AS {name}" for name in (identifier(s.name) for s in entry.sources)
    )
    # As functions will see the row: what they could not find is found out here.
    row = f"(SELECT {columns} FROM {entry.table} AS x) AS r"
    yield f"CREATE TABLE {relation} AS SELECT {entry.typed_values} FROM {row} WITH NO DATA"
    known = [part.name for part in entry.indexed + entry.suffix if not part.nullable]
    for column in known:
        yield f"ALTER TABLE {relation} ALTER COLUMN {column} SET NOT NULL"
    yield f"ALTER TABLE {relation} ADD COLUMN {identifier(MARK)} boolean NOT NULL DEFAULT false"


def unique_indexes(entry: EntrySql) -> list[str]:
    """What the indexes are called by which entries are found, in the index table and beside it."""
    return [
        _unique_name(name, number)
        for name in (entry.relation_name, entry.name_with("recorded"))
        for number in range(len(entry.arbiters))
    ]


def _unique_name(name: str, number: int) -> str:
    return _cut(name, f"_key{number}" if number else "_key")


def _identifying(entry: EntrySql, relation: str, name: str) -> Iterator[str]:
    """Unique indexes by which an entry is the one that it is."""
    for number, arbiter in enumerate(entry.arbiters):
        unique = identifier(_unique_name(name, number))
        nulls = " NULLS NOT DISTINCT" if entry.needs_equal_nulls else ""
        where = f" WHERE {arbiter.condition}" if arbiter.condition else ""
        columns = ", ".join(arbiter.columns)
        yield f"CREATE UNIQUE INDEX {unique} ON {relation} ({columns}){nulls}{where}"
    if entry.needs_equal_nulls or entry.arbiters[0].condition:
        # Else a publication of all tables would make every write to the table fail.
        yield f"ALTER TABLE {relation} REPLICA IDENTITY FULL"
    else:
        unique = identifier(_unique_name(name, 0))
        yield f"ALTER TABLE {relation} ADD PRIMARY KEY USING INDEX {unique}"
        yield f"ALTER TABLE {relation} REPLICA IDENTITY DEFAULT"


def _cut(name: str, ending: str) -> str:
    room = 63 - len(ending.encode())
    return name.encode()[:room].decode(errors="ignore") + ending


def dropping(entry: IndexNames) -> Iterator[str]:
    """What removes every relation of a build."""
    yield from dropping_helpers(entry)
    yield f"DROP TABLE IF EXISTS {entry.relation}"


def dropping_helpers(entry: IndexNames) -> Iterator[str]:
    """What removes all but the index table.

    Something else of such a name, which somebody made meanwhile, neither goes nor is in the way.
    """
    helpers = ", ".join(f"pg_catalog.to_regclass({literal(name)})" for name in entry.helpers)
    own = f"""(SELECT i.relowner FROM pg_catalog.pg_class AS i
        WHERE i.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass({literal(entry.relation)}))"""
    body = f"""
DECLARE
    helper pg_catalog.regclass;
BEGIN
    FOR helper IN
        SELECT c.oid FROM pg_catalog.pg_class AS c
        WHERE c.oid OPERATOR(pg_catalog.=) ANY (ARRAY[{helpers}]::pg_catalog.oid[])
          AND c.relkind OPERATOR(pg_catalog.=) 'r'
          AND c.relowner OPERATOR(pg_catalog.=) coalesce({own}, c.relowner)
    LOOP
        EXECUTE pg_catalog.format('DROP TABLE %s', helper);
    END LOOP;
END"""
    yield f"DO {quoted_body(body)}"


def finishing(entry: EntrySql) -> Iterator[str]:
    """What makes the index table an ordinary one; its tombstones must be gone."""
    yield from dropping_helpers(entry)
    yield f"ALTER TABLE {entry.relation} DROP COLUMN {identifier(MARK)}"
