# SPDX-License-Identifier: Apache-2.0
"""Writes a first catalog from the tables found below a directory. Reads data, never writes it."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from scrub.app.catalog_init.discovery import FoundRelation, Location, is_own, locate, look_at
from scrub.app.catalog_init.index_guesses import (
    IndexGuess,
    guess_index,
    is_named_after,
    why_no_index,
)
from scrub.app.catalog_init.key_guesses import KeyGuess, guess_primary_key
from scrub.catalog.names import problem_of
from scrub.catalog.write import (
    Proposal,
    ProposedTable,
    TableDeclarations,
    demand_place,
    render_catalog,
    write_catalog,
)
from scrub.errors import ScrubError, UsageError, first_line
from scrub.model.table import Store, Table

_STORES = {
    "delta": Store(name="lake", kind="delta"),
    "spark": Store(name="files", kind="spark", format="parquet"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class InitResult:
    """What a new catalog describes."""

    path: Path
    tables: Mapping[str, tuple[str, ...]]  # with the indexes of each
    unusable: Mapping[str, str]  # relations, and why
    has_guesses: bool  # which are marked in the file
    to_fill_in: tuple[str, ...] = ()  # what must be written into it before it can be used
    no_indexes: Mapping[str, str] = field(default_factory=dict)  # tables named as such, and why


@dataclass(slots=True)
class Draft:
    """A table to be described, with the relations taken for its indexes."""

    relation: FoundRelation
    key: KeyGuess
    no_index: str = ""  # why it is no index, if its name says that it is one
    indexes: list[IndexGuess] = field(default_factory=list)


def init_catalog(directory: Path, catalog: Path, *, force: bool = False) -> InitResult:
    """Look at every table below a directory and write what was found and guessed."""
    if not directory.is_dir():
        what = f"{directory} is no directory" if directory.exists() else None
        raise UsageError(
            what or f"there is no directory {directory}",
            hint="name one that has Delta or Parquet tables in it",
        )
    demand_place(catalog, overwrite=force)
    base, locations = locate(directory.resolve())
    locations = [at for at in locations if not is_own(at.relation.rpartition("/")[2], ())]
    if not locations:
        raise UsageError(
            f"there is no Delta or Parquet table below {directory}",
            hint="a table is a directory with a _delta_log, or with .parquet files",
        )
    unusable: dict[str, str] = {}
    drafts = arrange(_look_at_all(base, locations, unusable), unusable)
    if not drafts:
        reasons = "\n".join(f"  {name}: {why}" for name, why in unusable.items())
        raise UsageError(f"no table below {directory} can be described:\n{reasons}")
    shown_path = _path_from(catalog.resolve().parent, base)
    stores = tuple(replace(store, path=shown_path) for store in _STORES.values())
    return write_proposal(propose(drafts, stores, unusable), catalog, overwrite=force)


def write_proposal(proposal: Proposal, catalog: Path, *, overwrite: bool) -> InitResult:
    """Write a proposal as a catalog, and say what it describes."""
    write_catalog(catalog, render_catalog(proposal), overwrite=overwrite)
    return InitResult(
        path=catalog,
        tables=_names_of(proposal),
        unusable=proposal.unusable,
        has_guesses=proposal.has_guesses,
        to_fill_in=proposal.to_fill_in,
        no_indexes=proposal.no_indexes,
    )


def _names_of(proposal: Proposal) -> dict[str, tuple[str, ...]]:
    """The tables of a proposal with their indexes, the database's own included."""
    return {
        proposed.table.name: (
            *(index.name for index in proposed.table.indexes),
            *(of.index.name for of in proposed.declared.own_indexes if not of.unreadable),
        )
        for proposed in proposal.tables
    }


def _look_at_all(
    base: Path, locations: Sequence[Location], unusable: dict[str, str]
) -> list[FoundRelation]:
    found = []
    for location, name in zip(locations, _names(locations), strict=True):
        store = replace(_STORES[location.kind], path=str(base))
        try:
            relation = look_at(location, name, store)
        except ScrubError as error:
            unusable[location.relation] = first_line(error)
            continue
        if problem := problem_of(name):
            unusable[location.relation] = f"its name {problem}"
        elif not relation.columns:
            unusable[location.relation] = "it has no column that can be compared"
        else:
            found.append(relation)
    return found


def _names(locations: Sequence[Location]) -> list[str]:
    """The last part of each path, or the whole path where that alone is taken."""
    paths = [location.relation.removesuffix(".parquet") for location in locations]
    short = [path.rpartition("/")[2] for path in paths]
    times = Counter(name.lower() for name in short)
    return [
        path.replace("/", "_") if times[name.lower()] > 1 else name
        for path, name in zip(paths, short, strict=True)
    ]


def arrange(
    relations: list[FoundRelation],
    unusable: dict[str, str],
    key_of: Callable[[FoundRelation], KeyGuess | str] | None = None,
    dialect: str = "spark",
) -> list[Draft]:
    """Tables with their indexes; wide relations come first, for an index is narrower.

    `key_of` gives a primary key, or says why there is none; `dialect` is that of expressions.
    """
    names = {relation.name for relation in relations}
    drafts: list[Draft] = []

    def is_named_after_another(relation: FoundRelation) -> bool:
        return any(is_named_after(relation.name, name) for name in names)

    for relation in sorted(
        relations, key=lambda r: (is_named_after_another(r), -len(r.columns), r.name)
    ):
        if _is_index(relation, drafts, dialect):
            continue
        key = (key_of or _guessed_key)(relation)
        if isinstance(key, str):
            unusable[relation.relation] = f"{key}; write its primary key yourself"
        else:
            drafts.append(Draft(relation, key, _no_index(relation, drafts, names)))
    return sorted(drafts, key=lambda draft: draft.relation.name)


def _no_index(relation: FoundRelation, drafts: Sequence[Draft], names: Collection[str]) -> str:
    """Why a relation that is named after a table is no index of it; empty if it is not so named.

    As a table it is compared with nothing, which nobody must take for an index that was checked.
    """
    owner = max(
        (name for name in names if is_named_after(relation.name, name)), key=len, default=None
    )
    if owner is None:
        return ""
    described = {draft.relation.name: draft for draft in drafts}
    if owner not in described:
        return f"named after {owner}, which is not described here"
    table = described[owner]
    why = why_no_index(relation, table.relation, table.key.columns)
    return f"named after {owner}, but {why}" if why else ""


def _guessed_key(relation: FoundRelation) -> KeyGuess | str:
    return guess_primary_key(relation) or "no column or pair of columns tells its rows apart"


def _is_index(relation: FoundRelation, drafts: Sequence[Draft], dialect: str) -> bool:
    """Whether a relation is an index, which is then added to the table it is most likely of."""
    guesses = [
        (draft, guess)
        for draft in drafts
        if (guess := guess_index(relation, draft.relation, draft.key.columns, dialect))
    ]
    if not guesses:
        return False

    def likeness(found: tuple[Draft, IndexGuess]) -> int:
        name = found[0].relation.name
        return len(name) if relation.name.startswith(name) else 0

    draft, guess = max(guesses, key=likeness)
    if any(guess.index.name == other.index.name for other in draft.indexes):
        guess = replace(guess, index=replace(guess.index, name=relation.name))
    draft.indexes.append(guess)
    return True


def propose(
    drafts: Sequence[Draft],
    stores: Sequence[Store],
    unusable: Mapping[str, str],
    declared: Mapping[str, TableDeclarations] | None = None,
) -> Proposal:
    """A catalog of drafts, with what a database declares of each table."""
    parts = declared or {}
    used = {draft.relation.store for draft in drafts}
    used |= {guess.index.store for draft in drafts for guess in draft.indexes}
    return Proposal(
        stores=tuple(store for store in stores if store.name in used),
        tables=tuple(
            _proposed_table(draft, parts.get(draft.relation.name, TableDeclarations()))
            for draft in drafts
        ),
        unusable=unusable,
    )


def _proposed_table(draft: Draft, declared: TableDeclarations) -> ProposedTable:
    relation = draft.relation
    indexes = {guess.index.name: guess.index for guess in draft.indexes}
    return ProposedTable(
        table=Table(
            name=relation.name,
            store=relation.store,
            relation=relation.relation,
            columns=relation.columns,
            primary_key=draft.key.columns,
            indexes=tuple(indexes.values()),
        ),
        key_guess=draft.key.why,
        no_index=draft.no_index,
        type_guesses=relation.type_guesses,
        index_guesses={guess.index.name: guess.why for guess in draft.indexes},
        to_fill_in={guess.index.name: guess.to_fill_in for guess in draft.indexes},
        partitioned_by=relation.partitioned_by,
        left_out=relation.left_out,
        declared=declared,
    )


def _path_from(directory: Path, base: Path) -> str:
    """The store's path as the catalog writes it: relative if the data lies below the catalog."""
    if "${" in str(base):
        raise UsageError(f"{base}: a catalog takes ${{...}} in a path for a variable; rename it")
    if base.is_relative_to(directory):
        return f"./{base.relative_to(directory)}".removesuffix("/.")
    return str(base)
