# SPDX-License-Identifier: Apache-2.0
"""Refuses catalogs in which two tables or indexes name the same relation.

Tables of pairs may share a relation if their table ids differ, since the ids are part of the keys.
"""

from collections.abc import Iterator, Mapping
from posixpath import join, normpath
from typing import NamedTuple

from scrub.catalog.document import Mistakes
from scrub.model.table import Store, Table

_Place = tuple[str, ...]


class _Claim(NamedTuple):
    place: _Place
    relation: str
    what: str
    line: int
    table: str
    table_id: int | None  # of pairs
    is_table: bool


def refuse_shared_relations(
    tables: Mapping[str, Table], stores: Mapping[str, Store], mistakes: Mistakes
) -> None:
    """Record a mistake for each claim on a relation that something else has already."""
    # Tables first: where an index has the relation of a table, the index is what is wrong.
    claims = sorted(_claims(tables, stores), key=lambda claim: not claim.is_table)
    owners: dict[_Place, list[_Claim]] = {}
    for claim in claims:
        of_place = owners.setdefault(claim.place, [])
        rival = next((owner for owner in of_place if not _may_share(owner, claim)), None)
        if rival is not None:
            mistakes.add(claim.line, *_message(claim, rival))
        of_place.append(claim)


def _claims(tables: Mapping[str, Table], stores: Mapping[str, Store]) -> Iterator[_Claim]:
    for table in tables.values():
        what, number = f"table '{table.name}'", table.kv.id if table.kv else None
        place = _place(stores.get(table.store), table.store, table.relation)
        yield _Claim(place, table.relation, what, table.line, table.name, number, True)
        for index in table.indexes:
            there = _place(stores.get(index.store), index.store, index.relation)
            if table.kv is not None and there == place:
                continue  # where its own table is, and its index_id tells it apart
            what = f"index '{index.name}' of table '{table.name}'"
            yield _Claim(there, index.relation, what, index.line, table.name, number, False)


def _place(store: Store | None, name: str, relation: str) -> _Place:
    """Where a relation is; two stores of a catalog may name the same place."""
    if store is None:
        return (name, relation)
    if store.path is not None:
        return ("path", normpath(join(store.path, relation)))
    if store.url is not None:
        schema, _, relation_there = relation.rpartition(".")
        return ("url", store.url, schema or store.schema or "public", relation_there)
    return (name, normpath(relation))


def _may_share(one: _Claim, other: _Claim) -> bool:
    if one.table_id is None or other.table_id is None:
        return False
    # Pairs of two tables; or two indexes of one table, which have an index_id each.
    return one.table_id != other.table_id or one.table == other.table


def _message(claim: _Claim, rival: _Claim) -> tuple[str, str]:
    if claim.table_id is not None and claim.table_id == rival.table_id:
        return (
            f"{claim.what} has the table_id {claim.table_id} in relation '{claim.relation}', as "
            f"has {rival.what}",
            "pairs that share a relation are told apart by `table_id`: write the table's own",
        )
    message = f"{claim.what} has the relation '{claim.relation}', as has {rival.what}"
    if claim.is_table and rival.is_table:
        return message, "describe a relation once, with all its indexes"
    return message, "name its own with `relation:`"
