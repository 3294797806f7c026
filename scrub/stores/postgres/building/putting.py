# SPDX-License-Identifier: Apache-2.0
"""What a trigger function puts: the entries of rows as they are now, not as an event saw them."""

from collections.abc import Sequence

from scrub.stores.postgres.building.firing import refused
from scrub.stores.postgres.building.row_reading import RowReading
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import literal


def putting(reading: RowReading, puts: str, last: Sequence[str], next_: Sequence[str]) -> str:
    """Put what the rows of the new key and of the old one have by now.

    The old one is seldom there; if it is, its entry may be what was just deleted.
    """
    entry = reading.entry
    same = " AND ".join(
        f"{a} {key.equality} {b}" for a, b, key in zip(last, next_, entry.primary_key, strict=True)
    )
    moving = "\n".join(f"{b} := {a};" for a, b in zip(last, next_, strict=True))
    return f"""
    IF TG_OP OPERATOR(pg_catalog.<>) 'INSERT' THEN
        {reading.key_of("OLD", last)}
    END IF;
    FOR step IN 1..2 LOOP
        IF step OPERATOR(pg_catalog.=) 1 THEN
            CONTINUE WHEN TG_OP OPERATOR(pg_catalog.=) 'DELETE';
            {reading.key_of("NEW", next_)}
        ELSE
            EXIT WHEN TG_OP OPERATOR(pg_catalog.=) 'INSERT'
                OR (TG_OP OPERATOR(pg_catalog.=) 'UPDATE' AND {same});
            {moving}
        END IF;
        {reading.entry_now(next_, "n")}
        IF rows OPERATOR(pg_catalog.=) 0 THEN
            CONTINUE;
        END IF;
        {_demand_known(entry)}
        {puts}
    END LOOP;"""


def _demand_known(entry: EntrySql) -> str:
    """A column that was NOT NULL when the index was built may have lost that since."""
    known = [part for part in entry.indexed + entry.suffix if not part.nullable]
    named = f"{entry.table_name} {entry.index} --execute"
    hint = (
        "The column was NOT NULL when the index was built; build it again: scrub backfill drop "
        f"{named}, then scrub backfill run {named}"
    )
    message = literal(f"scrub: index {entry.index} has no place for NULL in an indexed column")
    return f"""IF {" OR ".join(f"n.{part.name} IS NULL" for part in known) or "false"} THEN
            {refused(message, hint)}
        END IF;"""


def variables(letter: str, entry: EntrySql) -> list[str]:
    """Variables for a primary key; with the block's name, so that no column is meant."""
    return [f"scrub.{letter}{n}" for n in range(len(entry.primary_key))]


def declared(letter: str, entry: EntrySql) -> str:
    return "\n    ".join(f"{letter}{n} {key.type};" for n, key in enumerate(entry.primary_key))
