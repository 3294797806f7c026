# SPDX-License-Identifier: Apache-2.0
"""The contents of a catalog as tables for people, without anything that may be a secret."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scrub.catalog.load import Catalog
from scrub.model.table import UTC, EntryColumn, Index, Nulls, Table


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows of text under headers."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def describe_catalog(catalog: Catalog) -> Iterator[Listing]:
    """The stores, the tables and all indexes. Only the names of options are shown."""
    yield Listing(
        ("store", "kind", "place", "options"),
        tuple(
            (
                store.name,
                f"{store.kind} ({catalog.as_written[name, 'format']})"
                if store.format
                else store.kind,
                catalog.as_written.get((name, "path"), ""),
                ", ".join(store.options),
            )
            for name, store in catalog.stores.items()
        ),
    )
    in_zones = any(table.time_zone != UTC for table in catalog.tables.values())
    yield Listing(
        (
            *("table", "store", "relation", "columns", "primary key", "indexes"),
            *(("time zone",) if in_zones else ()),
        ),
        tuple(
            (
                table.name,
                table.store,
                table.relation,
                str(len(table.columns)),
                ", ".join(table.primary_key),
                ", ".join(map(_name, table.indexes)),
                *((table.time_zone,) if in_zones else ()),
            )
            for table in catalog.tables.values()
        ),
    )


def describe_table(table: Table) -> Iterator[Listing]:
    """The columns, indexes, changes and constraints of one table."""
    yield Listing(
        ("column", "type", "nullable", "primary key"),
        tuple(
            (
                column.name,
                str(column.type),
                "yes" if column.nullable else "no",
                "yes" if column.name in table.primary_key else "",
            )
            for column in table.columns
        ),
    )
    if table.indexes:
        headers = ("index", "store", "relation", "key", "primary key", "storing", "covers")
        yield Listing(headers, tuple(map(_index, table.indexes)))
    if (changes := table.changes) is not None:
        feed = (changes.kind, changes.slot, changes.publication)
        yield Listing(("changes", "slot", "publication"), (feed,))
    constraints = [
        *((f"check {name}", text) for name, text in table.checks.items()),
        *((f"unique {key.name}", ", ".join(key.columns)) for key in table.unique),
        *(
            (f"foreign key {key.name}", f"{', '.join(key.columns)} in {key.references}")
            for key in table.foreign_keys
        ),
    ]
    if constraints:
        yield Listing(("constraint", "says"), tuple(constraints))


def _index(index: Index) -> tuple[str, ...]:
    return (
        _name(index, ["unique"] if index.unique else []),
        index.store,
        index.relation,
        _columns(index.key),
        _columns(index.suffix),
        _columns(index.stored),
        _coverage(index),
    )


def _name(index: Index, more: Sequence[str] = ()) -> str:
    """The name of an index, marked if it is the database's own."""
    marks = [*(["own"] if index.is_own else []), *more]
    return f"{index.name} ({', '.join(marks)})" if marks else index.name


def _columns(columns: tuple[EntryColumn, ...]) -> str:
    return ", ".join(
        (f"{column.source} as {column.name}" if column.is_expression else column.name)
        + (" desc" if column.descending else "")
        for column in columns
    )


def _coverage(index: Index) -> str:
    if index.is_own:
        return "what the database says"
    parts = [f"where {index.where}"] if index.where else []
    if index.nulls is Nulls.SKIP:
        parts.append("no NULL in the key")
    if reflects := index.reflects:
        if reflects.version is not None:
            parts.append(f"as of version {reflects.version}")
        else:
            parts.append(f"as of {reflects.time or f'column {reflects.column}'}")
    return ", ".join(parts) or "all rows"
