# SPDX-License-Identifier: Apache-2.0
"""The triggers that call an index's functions: for every row that is written, and for TRUNCATE.

They fire ALWAYS, so that writes of a replication role are seen too. Triggers for rows are passed on
to partitions by the server; those for TRUNCATE are not, so each partition has its own.
"""

from collections.abc import Iterator, Sequence

from scrub.model.build import Duties, Duty
from scrub.model.entry_shape import MARK
from scrub.stores.postgres.building.firing import Firing, trigger_function
from scrub.stores.postgres.building.row_reading import NAMES_NOW, RowReading, as_text
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.index_names import IndexNames
from scrub.stores.postgres.quoting import identifier, literal
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
    entry: IndexNames, table: ServerRelation, leaves: Sequence[ServerRelation]
) -> Iterator[str]:
    keep, truncate = _names(entry)
    yield f"DROP TRIGGER IF EXISTS {keep} ON {table.sql}"
    for leaf in leaves:
        yield f"DROP TRIGGER IF EXISTS {truncate} ON {leaf.sql}"
    yield f"DROP FUNCTION IF EXISTS {entry.keeper}()"
    yield f"DROP FUNCTION IF EXISTS {entry.emptier}()"


def _names(entry: IndexNames) -> tuple[str, str]:
    return identifier(entry.name_with("keep")), identifier(entry.name_with("truncate"))


def emptying(entry: EntrySql, duties: Duties, create: str) -> str:
    """The function for TRUNCATE of the whole table, or of one partition.

    Whoever truncates has locked the table against the builder too, so nobody can still bring back
    entries of the rows that go.
    """
    targets = [
        (relation, duty)
        for relation, duty in ((entry.temporary, duties.temporary), (entry.relation, duties.index))
        if duty is not Duty.NOTHING or relation == entry.relation
    ]
    if not entry.is_partitioned:
        body = f"TRUNCATE {', '.join(relation for relation, _ in targets)};"
    else:
        body = "\n".join(_leaving(entry, relation, duty) for relation, duty in targets)
    names = ", ".join(f"{literal(of.name)}::pg_catalog.text" for of in entry.sources)
    look = Firing(entry, "BEFORE STATEMENT", on_others=_DETACHED).look()
    return trigger_function(
        create,
        entry.emptier,
        entry,
        f"""
DECLARE
    {Firing.DECLARED}
BEGIN
    {look}
    IF NOT moved THEN
        names := ARRAY[{names}];
    END IF;
    {body}
    RETURN NULL;
END""",
    )


# A partition that was detached keeps this trigger; nothing of the index is in it.
_DETACHED = """
        RAISE WARNING 'scrub: % is not a part of the table that this trigger was made for',
            TG_RELID::pg_catalog.regclass;
        RETURN NULL;"""


def _leaving(entry: EntrySql, relation: str, duty: Duty) -> str:
    """The entries of a partition's rows go with it."""
    rows = RowReading(entry).entries_in_place()
    same = " AND ".join(part.same("t", "e") for part in entry.indexed)
    matching = as_text(f"{entry.same_owner('t', 'e')} AND {same}")
    target = as_text(relation)
    names = as_text(", ".join(entry.names))
    mark = identifier(MARK)
    if duty in _TOMBSTONES:
        # Of two rows with one key, either may have the entry: so what is there is marked first.
        statements = [
            f"UPDATE {target} AS t SET {mark} = true FROM ({rows}) AS e WHERE {matching}",
            *(
                f"INSERT INTO {target} AS t ({names}, {mark}) "
                f"SELECT {as_text(arbiter.distinct)}e.*, true FROM ({rows}) AS e "
                f"WHERE {as_text(arbiter.condition or 'true')} "
                f"ON CONFLICT {as_text(arbiter.target)} DO NOTHING"
                for arbiter in entry.arbiters
            ),
        ]
    else:
        statements = [f"DELETE FROM {target} AS t USING ({rows}) AS e WHERE {matching}"]
    # Only when it runs is it known which partition it is.
    named = NAMES_NOW.format(relation="TG_RELID")
    return "\n".join(
        f"EXECUTE pg_catalog.format({literal(statement)}, {named});" for statement in statements
    )
