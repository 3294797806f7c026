# SPDX-License-Identifier: Apache-2.0
"""The triggers that call an index's functions: for every row that is written, and for TRUNCATE.

They fire ALWAYS, so that writes of a replication role are seen too. Triggers for rows are passed on
to partitions by the server; those for TRUNCATE are not, so each partition has its own.
"""

from collections.abc import Iterator, Sequence

from scrub.model.build import Duties, Duty
from scrub.model.entry_shape import MARK
from scrub.stores.postgres.building.entry_sql import EntrySql
from scrub.stores.postgres.quoting import identifier
from scrub.stores.postgres.relations import ServerRelation

_TOMBSTONES = (Duty.TOMBSTONE, Duty.PUT_AND_TOMBSTONE, Duty.RECORD)


def creating_triggers(
    entry: EntrySql, table: ServerRelation, leaves: Sequence[ServerRelation]
) -> Iterator[str]:
    """Triggers on the table and on whatever of it can be truncated by itself."""
    keep, truncate = _names(entry)
    yield (
        f"CREATE TRIGGER {keep} AFTER INSERT OR UPDATE OR DELETE ON {table.sql} "
        f"FOR EACH ROW EXECUTE FUNCTION {entry.keeper}()"
    )
    for relation in {relation.oid: relation for relation in (table, *leaves)}.values():
        yield f"ALTER TABLE {relation.sql} ENABLE ALWAYS TRIGGER {keep}"
    for leaf in leaves:
        yield (
            f"CREATE TRIGGER {truncate} BEFORE TRUNCATE ON {leaf.sql} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {entry.emptier}()"
        )
        yield f"ALTER TABLE {leaf.sql} ENABLE ALWAYS TRIGGER {truncate}"


def dropping_triggers(
    entry: EntrySql, table: ServerRelation, leaves: Sequence[ServerRelation]
) -> Iterator[str]:
    keep, truncate = _names(entry)
    yield f"DROP TRIGGER IF EXISTS {keep} ON {table.sql}"
    for leaf in leaves:
        yield f"DROP TRIGGER IF EXISTS {truncate} ON {leaf.sql}"
    yield f"DROP FUNCTION IF EXISTS {entry.keeper}()"
    yield f"DROP FUNCTION IF EXISTS {entry.emptier}()"


def _names(entry: EntrySql) -> tuple[str, str]:
    return identifier(entry.name_with("keep")), identifier(entry.name_with("truncate"))


def emptying(entry: EntrySql, duties: Duties, is_whole: bool) -> str:
    """The function for TRUNCATE of the whole table, or of one partition.

    Whoever truncates has locked the table against the builder too, so nobody can still bring back
    entries of the rows that go.
    """
    targets = [
        (relation, duty)
        for relation, duty in ((entry.temporary, duties.temporary), (entry.relation, duties.index))
        if duty is not Duty.NOTHING or relation == entry.relation
    ]
    if is_whole:
        body = f"TRUNCATE {', '.join(relation for relation, _ in targets)};"
    else:
        body = "\n".join(_leaving(entry, relation, duty) for relation, duty in targets)
    return f"""
CREATE OR REPLACE FUNCTION {entry.emptier}() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = {entry.search_path}
AS $emptying$ BEGIN {body} RETURN NULL; END $emptying$"""


def _leaving(entry: EntrySql, relation: str, duty: Duty) -> str:
    """The entries of a partition's rows go with it."""
    # Only when it runs is it known which partition it is.
    rows = f"SELECT {entry.values} FROM ONLY %s AS r WHERE {entry.covered}"
    indexed = " AND ".join(
        f"t.{part.name} IS NOT DISTINCT FROM e.{part.name}" for part in entry.indexed
    )
    owner = entry.same_owner("t", "e")
    if duty in _TOMBSTONES:
        # Of two rows with one key, either may have the entry: so what is there is marked first.
        statements = [
            f"UPDATE {relation} AS t SET {identifier(MARK)} = true FROM ({rows}) AS e "
            f"WHERE {owner} AND {indexed}",
            *(
                f"INSERT INTO {relation} AS t ({', '.join(entry.names)}, {identifier(MARK)}) "
                f"SELECT {arbiter.distinct}e.*, true FROM ({rows}) AS e "
                f"WHERE {arbiter.condition or 'true'} ON CONFLICT {arbiter.target} DO NOTHING"
                for arbiter in entry.arbiters
            ),
        ]
    else:
        statements = [
            f"DELETE FROM {relation} AS t USING ({rows}) AS e WHERE {owner} AND {indexed}"
        ]
    return "\n".join(
        f"EXECUTE format({_format_text(statement)}, TG_RELID::regclass);"
        for statement in statements
    )


def _format_text(statement: str) -> str:
    """A statement as the first argument of format(), in which only our own %s is a place."""
    text = statement.replace("%", "%%").replace("ONLY %%s AS r", "ONLY %s AS r")
    return "$statement$" + text + "$statement$"
