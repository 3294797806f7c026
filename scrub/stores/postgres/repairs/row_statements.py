# SPDX-License-Identifier: Apache-2.0
"""The statements that change rows of an index table; each says where its rows are afterwards."""

from collections.abc import Collection, Sequence

import pyarrow as pa

from scrub.model.entry_shape import MARK
from scrub.model.journal import Image
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.quoting import identifier_beside_parameters as _name
from scrub.stores.postgres.repairs.index_table import (
    PLACE,
    IndexTable,
    Place,
    arrays_of,
    lists_of,
    lists_of_places,
)


def update_columns(
    brief: Brief,
    table: IndexTable,
    names: Collection[str],
    places: Sequence[Place],
    entries: pa.Table,
    dead: Sequence[bool],
) -> list[tuple[int, Place]]:
    """Give rows the values of entries in some columns; the number of each, and where it is now."""
    columns = [column for column in table.shape.columns if column.name in names]
    arrays, listed = arrays_of(columns, table.columns)
    sets = [f"{_name(c.name)} = k.{_name(c.name)}::{table.type_of(c.name)}" for c in columns]
    parameters = lists_of(entries.select([column.name for column in columns]))
    arrays, listed = (f", {arrays}", f", {listed}") if columns else ("", "")
    if table.is_marked:
        sets.append(f"{_name(MARK)} = k.{_name(MARK)}")
        arrays, listed = f"{arrays}, %s::boolean[]", f"{listed}, {_name(MARK)}"
        parameters.append(list(dead))
    if not sets:  # equal for us, as 0 and -0 are: nothing to write
        return list(enumerate(places))
    rows = brief.execute(
        f"UPDATE {table.sql} AS t SET {', '.join(sets)} "
        f"FROM unnest(%s::bigint[], %s::tid[], %s::integer[]{arrays}) "
        f"AS k(__scrub_relation, __scrub_place, __scrub_number{listed}) "
        "WHERE t.tableoid = k.__scrub_relation AND t.ctid = k.__scrub_place "
        f"RETURNING k.__scrub_number, {PLACE}",
        [*lists_of_places(places), list(range(len(places))), *parameters],
    ).fetchall()
    return [(row[0], (row[1], row[2])) for row in rows]


def update_texts(
    brief: Brief, table: IndexTable, names: Sequence[str], place: Place, image: Image
) -> list[Place]:
    """Give a row the very texts that some of its columns had."""
    if not names:
        return [place]
    sets = [f"{_name(name)} = %s::{table.type_of(name)}" for name in names]
    return _places(
        brief,
        f"UPDATE {table.sql} AS t SET {', '.join(sets)} "
        "WHERE t.tableoid = %s::oid AND t.ctid = %s::tid "
        f"RETURNING {PLACE}",
        [*(image[name] for name in names), *place],
    )


def delete_rows(brief: Brief, table: IndexTable, places: Sequence[Place]) -> int:
    """How many were deleted."""
    done = brief.execute(
        f"DELETE FROM {table.sql} AS t USING unnest(%s::bigint[], %s::tid[]) "
        "AS p(relation, place) WHERE t.tableoid = p.relation AND t.ctid = p.place",
        lists_of_places(places),
    )
    return int(done.rowcount)


def insert_entries(
    brief: Brief,
    table: IndexTable,
    entries: pa.Table,
    dead: Sequence[bool],
    computed: Collection[str],
) -> list[Place]:
    """In the order of the key, as every writer of ours does, against deadlocks."""
    columns = [column for column in table.shape.columns if column.name not in computed]
    arrays, names = arrays_of(columns, table.columns)
    values = [f"k.{_name(c.name)}::{table.type_of(c.name)}" for c in columns]
    targets = [_name(column.name) for column in columns]
    parameters = lists_of(entries.select([column.name for column in columns]))
    if table.is_marked:
        arrays, names = f"{arrays}, %s::boolean[]", f"{names}, {_name(MARK)}"
        values.append(f"k.{_name(MARK)}")
        targets.append(_name(MARK))
        parameters.append(list(dead))
    keys = {column.name for column in (*table.shape.indexed, *table.shape.suffix)}
    order = [str(n + 1) for n, column in enumerate(columns) if column.name in keys] or ["1"]
    return _places(
        brief,
        f"INSERT INTO {table.sql} AS t ({', '.join(targets)}) OVERRIDING SYSTEM VALUE "
        f"SELECT {', '.join(values)} FROM unnest({arrays}) AS k({names}) "
        f"ORDER BY {', '.join(order)} RETURNING {PLACE}",
        parameters,
    )


def insert_image(
    brief: Brief, table: IndexTable, image: Image, computed: Collection[str]
) -> list[Place]:
    """A row as it was, in the columns that take a value."""
    columns = [
        column
        for column in table.columns.values()
        if column.name in image and column.name not in computed
    ]
    # Read by the input functions of the types: the driver sends texts without one.
    values = ", ".join(f"%s::{table.type_of(column.name)}" for column in columns)
    return _places(
        brief,
        f"INSERT INTO {table.sql} AS t "
        f"({', '.join(_name(column.name) for column in columns)}) OVERRIDING SYSTEM VALUE "
        f"VALUES ({values}) RETURNING {PLACE}",
        [image[column.name] for column in columns],
    )


def _places(brief: Brief, statement: str, values: Sequence[object]) -> list[Place]:
    return [(row[0], row[1]) for row in brief.execute(statement, values).fetchall()]
