# SPDX-License-Identifier: Apache-2.0
"""Writes a first catalog from the tables of a database. Reads only, and no more than a sample."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrub.app.catalog_init.declared_keys import declared_constraints
from scrub.app.catalog_init.discovery import (
    SAMPLE_SPLIT_ROWS_MAX,
    FoundRelation,
    is_own,
    sample_rows,
)
from scrub.app.catalog_init.from_directory import (
    Draft,
    InitResult,
    arrange,
    propose,
    write_proposal,
)
from scrub.app.catalog_init.key_guesses import KeyGuess
from scrub.catalog.names import problem_of
from scrub.catalog.write import ProposedOwnIndex, TableDeclarations, demand_place
from scrub.errors import ScrubError, StoreUnavailable, UsageError, first_line
from scrub.model.table import Column, Index, Store
from scrub.redaction import looks_like_connection
from scrub.stores.base import no_session
from scrub.stores.postgres.column_types import ServerColumn
from scrub.stores.postgres.connections import require_psycopg, without_password
from scrub.stores.postgres.introspection import Declared, DeclaredIndex, declared, tables_of
from scrub.stores.postgres.own_indexes.description import BTREE
from scrub.stores.postgres.relations import columns_of, find_relation
from scrub.stores.postgres.store import PostgresStore
from scrub.stores.postgres.urls import is_url

if TYPE_CHECKING:
    import psycopg

_STORE = "database"


def is_database(place: str) -> bool:
    """Whether `scrub init` was given a database rather than a directory.

    What is neither is not repeated, nor looked for as a directory: there may be a password in it.
    """
    if is_url(place):
        return True
    if os.path.isdir(place):
        return False
    scheme = re.match(r"(jdbc:)?([a-zA-Z0-9+.-]{1,20})://", place)
    if scheme and scheme[2].lower() not in ("postgres", "postgresql"):
        raise UsageError(
            f"scrub init knows no databases of kind {scheme[2]}",
            hint="write postgresql://... or a directory",
        )
    if not looks_like_connection(place):
        return False
    psycopg = require_psycopg()
    try:
        psycopg.conninfo.conninfo_to_dict(place)
    except psycopg.ProgrammingError:  # which repeats what it was given
        raise UsageError(
            "what was given looks like a database, but PostgreSQL does not understand it; it is "
            "not repeated here, since a password may be in it",
            hint="write postgresql://user@host:5432/database or 'host=... dbname=... user=...', "
            "and put the password into ~/.pgpass",
        ) from None
    return True


def init_database(
    url: str, catalog: Path, *, schema: str = "public", force: bool = False
) -> InitResult:
    """Look at every table of a schema and write what is declared and what was guessed."""
    demand_place(catalog, overwrite=force)
    with closing(PostgresStore(Store(name=_STORE, kind="postgres", url=url, schema=schema))) as (
        store
    ):
        listed = tables_of(_reached(store), schema)
        names = [name for name in listed if not is_own(name, listed)]
        if not names:
            raise UsageError(f"there is no table in schema {schema}", hint="--schema names another")
        unusable: dict[str, str] = {}
        parts: dict[str, Declared] = {}
        found = list(_look_at_all(store, names, unusable, parts))
        drafts = arrange(
            found, unusable, lambda relation: _key(relation, parts[relation.name]), "postgres"
        )
    if not drafts:
        reasons = "\n".join(f"  {name}: {why}" for name, why in unusable.items())
        raise UsageError(f"no table of schema {schema} can be described:\n{reasons}")
    shown = Store(name=_STORE, kind="postgres", url=without_password(url), schema=schema)
    by_name = {draft.relation.name: draft for draft in drafts}
    own = {name: _own_parts(draft, parts, by_name) for name, draft in by_name.items()}
    proposal = propose(drafts, (shown,), unusable, own)
    return write_proposal(proposal, catalog, overwrite=force)


def _reached(store: PostgresStore) -> "psycopg.Connection[Any]":
    """The connection; to have none is a mistake here, for nothing was to be looked at yet."""
    try:
        return store.snapshot.connection
    except StoreUnavailable as error:
        raise UsageError(str(error), hint=error.hint) from error


def _look_at_all(
    store: PostgresStore,
    names: Sequence[str],
    unusable: dict[str, str],
    parts: dict[str, Declared],
) -> Iterator[FoundRelation]:
    for name in names:
        try:
            if problem := problem_of(name):
                unusable[name] = f"its name {problem}"
                continue
            relation = _look_at(store, name)
            parts[name] = declared(
                store.snapshot.connection,
                find_relation(store.snapshot.connection, store.schema, name).sql,
            )
        except ScrubError as error:
            unusable[name] = first_line(error)
            continue
        if relation.columns:
            yield relation
        else:
            unusable[name] = "it has no column that can be compared"


def _look_at(store: PostgresStore, name: str) -> FoundRelation:
    connection = store.snapshot.connection
    described = columns_of(connection, find_relation(connection, store.schema, name))
    usable = [of for of in described.values() if of.type is not None and of.readable]
    columns = tuple(
        Column(name=of.name, type=of.type, nullable=not of.not_null) for of in usable if of.type
    )
    facts = store.pin(name, None, no_session, columns)
    sample = sample_rows(facts, columns)
    # What a server says of numbers is an estimate; a short table was read as a whole.
    is_whole = len(facts.splits) <= 1 and sample.num_rows < SAMPLE_SPLIT_ROWS_MAX
    return FoundRelation(
        name=name,
        store=store.name,
        relation=name,
        columns=columns,
        left_out={of.name: _why(of) for of in described.values() if of not in usable},
        rows=facts.rows,
        rows_counted=sample.num_rows if is_whole else None,
        sample=sample,
    )


def _why(column: ServerColumn) -> str:
    return column.refusal if column.readable else "it cannot be read with this role"


def _key(relation: FoundRelation, of: Declared) -> KeyGuess | str:
    """The declared primary key, else what a unique index suggests, else why there is none.

    Values are no ground for a guess here: a database that wants rows to be told apart says so.
    """
    columns = {column.name for column in relation.columns}
    lacking = [name for name in of.primary_key if name not in columns]
    if of.primary_key and not lacking:
        return KeyGuess(of.primary_key, "")
    missed = "no primary key is declared"
    if lacking:
        missed = f"its primary key has {', '.join(lacking)}, which cannot be read"
    unique = [index for index in of.indexes if index.row_key and set(index.row_key) <= columns]
    if not unique:
        return f"{missed}, and no unique index has only columns that are NOT NULL"
    best = min(unique, key=lambda i: (not i.is_identity, len(i.row_key or ()), i.name))
    why = f"{missed}; the unique index {best.name} has only columns that are NOT NULL"
    return KeyGuess(tuple(best.row_key or ()), why)


def _own_parts(
    draft: Draft, parts: dict[str, Declared], drafts: Mapping[str, Draft]
) -> TableDeclarations:
    """Constraints and own indexes of a table, as the catalog writes them."""
    of = parts[draft.relation.name]
    return replace(
        declared_constraints(draft, of, drafts),
        own_indexes=tuple(
            _proposed_own_index(index, taken={guess.index.name for guess in draft.indexes})
            for index in of.indexes
        ),
    )


def _proposed_own_index(index: DeclaredIndex, taken: set[str]) -> ProposedOwnIndex:
    """An index of the database; a table that was taken for an index may have its name already."""
    unreadable = ""
    if problem := problem_of(index.name):
        unreadable = f"its name {problem}"
    if index.method != BTREE:
        unreadable = f"only B-trees can be read in their order; it is {index.method}"
    remark = "" if index.is_usable else "it is not valid: REINDEX or drop it"
    return ProposedOwnIndex(
        index=Index(
            name=f"{index.name}_own" if index.name in taken else index.name,
            store=_STORE,
            relation=index.name,
            key=(),
            suffix=(),
            unique=index.unique,
            is_own=True,
        ),
        definition=index.definition,
        remark=remark,
        unreadable=unreadable,
    )
