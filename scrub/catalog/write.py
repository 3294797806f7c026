# SPDX-License-Identifier: Apache-2.0
"""Renders a proposed catalog as YAML with its guesses marked, and writes the file."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from scrub.catalog.placeholders import FILL_IN
from scrub.errors import UsageError
from scrub.model.table import Column, EntryColumn, ForeignKey, Index, Nulls, Store, Table, UniqueKey

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNFINISHED = f"# Each `{FILL_IN}` must be filled in, as the comment above it says."
_NOT_A_STRING = frozenset(("true", "false", "yes", "no", "on", "off", "y", "n", "null"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedOwnIndex:
    """One of the database's own indexes, with the comments to write beside it."""

    index: Index
    definition: str
    remark: str = ""
    unreadable: str = ""  # why it cannot be checked; if so, it is written as a comment


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDeclarations:
    """What the database declares about a table, as opposed to guesses."""

    checks: Mapping[str, str] = field(default_factory=dict)
    checks_left_out: Mapping[str, str] = field(default_factory=dict)  # and why
    unique: tuple[UniqueKey, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    keys_left_out: Mapping[str, str] = field(default_factory=dict)  # and why
    remarks: Mapping[str, str] = field(default_factory=dict)  # by constraint
    own_indexes: tuple[ProposedOwnIndex, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedTable:
    """A table as it was found, with what was guessed about it and why."""

    table: Table
    key_guess: str  # empty if it is no guess
    no_index: str = ""  # why it is a table, if its name is that of an index
    type_guesses: Mapping[str, str] = field(default_factory=dict)  # by column
    index_guesses: Mapping[str, str] = field(default_factory=dict)  # by index
    to_fill_in: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by index
    partitioned_by: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)  # columns, and why
    declared: TableDeclarations = TableDeclarations()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A first catalog."""

    stores: tuple[Store, ...]
    tables: tuple[ProposedTable, ...]
    unusable: Mapping[str, str] = field(default_factory=dict)  # relations, and why

    @property
    def has_guesses(self) -> bool:
        """Whether a line of it is marked as a guess."""
        return any(of.key_guess or of.type_guesses or of.index_guesses for of in self.tables)

    @property
    def no_indexes(self) -> dict[str, str]:
        """The tables that have the name of an index, and why each is none."""
        return {of.table.name: of.no_index for of in self.tables if of.no_index}

    @property
    def to_fill_in(self) -> tuple[str, ...]:
        """What a person must write into the file before it can be used."""
        return tuple(
            f"{of.table.name}.{index}: {what}"
            for of in self.tables
            for index, found in of.to_fill_in.items()
            for what in found
        )


def render_catalog(proposal: Proposal) -> str:
    """The YAML text; loading it gives the proposal's stores and tables."""
    look = " What is marked `guess` wants a look: correct it where needed."
    lines = [
        f"# Written by `scrub init`.{look if proposal.has_guesses else ''}",
        *([_UNFINISHED] if proposal.to_fill_in else []),
        "# `scrub catalog validate` says whether the file is in order.",
        "version: 1",
        "stores:",
        *(f"  {scalar(store.name)}: {_store(store)}" for store in proposal.stores),
        "tables:",
    ]
    for proposed in proposal.tables:
        lines += [f"  {line}" for line in _table(proposed)]
    if proposal.unusable:
        lines += ["# Not described, because nothing could be made of it:"]
        lines += [
            f"#   {scalar(name)}: {_on_one_line(why)}" for name, why in proposal.unusable.items()
        ]
    return "\n".join(lines) + "\n"


def scalar(text: str) -> str:
    """Text as a YAML scalar, quoted unless it can only be read as that text."""
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_A_STRING:
        return text
    return yaml.safe_dump(text, default_style='"', allow_unicode=True, width=2**31).strip()


def write_catalog(path: Path, text: str, *, overwrite: bool) -> None:
    """Write the file completely or not at all. An existing file stays unless `overwrite` is set."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            draft.replace(path)
        else:
            # A link is refused when the name is taken, also by a file that came this moment.
            path.hardlink_to(draft)
    except FileExistsError as error:
        raise already_there(path) from error
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)


def already_there(path: Path) -> UsageError:
    """The error for a catalog that is not to be overwritten."""
    return UsageError(
        f"{path} already exists", hint="--force overwrites it; --catalog FILE writes another file"
    )


def demand_place(path: Path, *, overwrite: bool) -> None:
    """Refuse a file that cannot be written, before anything is looked at for it."""
    if path.exists() and not overwrite:
        raise already_there(path)
    if not path.parent.is_dir():
        raise UsageError(
            f"there is no directory {path.parent} for the catalog {path.name}",
            hint="make it first, or name another file with --catalog FILE",
        )


def _store(store: Store) -> str:
    settings = {
        "kind": store.kind,
        "format": store.format,
        "path": store.path,
        "url": store.url,
        "schema": store.schema,
    }
    return _flow((key, scalar(value)) for key, value in settings.items() if value is not None)


def _table(proposed: ProposedTable) -> Iterator[str]:
    table = proposed.table
    if proposed.no_index:
        why = _on_one_line(proposed.no_index)
        yield f"# not taken for an index, so not compared with a table: {why}"
    yield f"{scalar(table.name)}:"
    yield f"  store: {scalar(table.store)}"
    yield f"  relation: {scalar(table.relation)}"
    if proposed.partitioned_by:
        yield f"  # partitioned by {_names(proposed.partitioned_by)}"
    yield "  columns:"
    for column in table.columns:
        guess = proposed.type_guesses.get(column.name)
        comment = f"  # guess: {_on_one_line(guess)}" if guess else ""
        yield f"    {scalar(column.name)}: {_column(column)}{comment}"
    for name, why in proposed.left_out.items():
        yield f"    # left out: {scalar(name)}, {_on_one_line(why)}"
    if proposed.key_guess:
        yield f"  # guess: {_on_one_line(proposed.key_guess)}"
    yield f"  primary_key: {_names(table.primary_key)}"
    yield from _constraints(proposed.declared)
    own = proposed.declared.own_indexes
    if table.indexes or any(not entry.unreadable for entry in own):
        yield "  indexes:"
    for index in table.indexes:
        yield f"    # guess: {_on_one_line(proposed.index_guesses[index.name])}"
        for what in proposed.to_fill_in.get(index.name, ()):
            yield f"    # fill in: {_on_one_line(what)}"
        yield f"    {scalar(index.name)}: {_index(index, table)}"
    for entry in own:
        yield from _own_index(entry)


def _own_index(entry: ProposedOwnIndex) -> Iterator[str]:
    index = entry.index
    if entry.remark:
        yield f"    # {_on_one_line(entry.remark)}"
    settings = [("own", "true")]
    if index.unique:
        settings.append(("unique", "true"))
    if index.relation != index.name:
        settings.append(("relation", scalar(index.relation)))
    written = f"{scalar(index.name)}: {_flow(settings)}"
    yield f"    # {_on_one_line(entry.definition)}"
    if entry.unreadable:
        yield f"    # left out: {_on_one_line(written)}, {_on_one_line(entry.unreadable)}"
    else:
        yield f"    {written}"


def _constraints(declared: TableDeclarations) -> Iterator[str]:
    if declared.checks:
        yield "  checks:"
    for name, text in declared.checks.items():
        yield f"    {scalar(name)}: {scalar(text)}"
    for name, text in declared.checks_left_out.items():
        yield f"  # check left out: {scalar(name)}, {_on_one_line(text)}"
    if declared.unique:
        yield "  unique:"
    for unique in declared.unique:
        yield from _remark(unique.name, declared)
        yield f"    {scalar(unique.name)}: {_names(unique.columns)}"
    if declared.foreign_keys:
        yield "  foreign_keys:"
    for key in declared.foreign_keys:
        yield from _remark(key.name, declared)
        settings = [("columns", _names(key.columns)), ("references", scalar(key.references))]
        yield f"    {scalar(key.name)}: {_flow(settings)}"
    for name, text in declared.keys_left_out.items():
        yield f"  # constraint left out: {scalar(name)}, {_on_one_line(text)}"


def _remark(constraint: str, declared: TableDeclarations) -> Iterator[str]:
    if remark := declared.remarks.get(constraint):
        yield f"    # {_on_one_line(remark)}"


def _column(column: Column) -> str:
    nullable = [] if column.nullable else [("nullable", "false")]
    return _flow([("type", scalar(str(column.type))), *nullable])


def _index(index: Index, table: Table) -> str:
    settings = [("columns", _entry_columns(index.key))]
    if index.stored:
        settings.append(("storing", _entry_columns(index.stored)))
    if index.where is not None:
        settings.append(("where", scalar(index.where)))
    if index.nulls is not Nulls.KEEP:
        settings.append(("nulls", index.nulls.value))
    if index.dialect != "spark":
        settings.append(("dialect", index.dialect))
    if index.store != table.store:
        settings.append(("store", scalar(index.store)))
    if index.relation != f"{table.name}__{index.name}":
        settings.append(("relation", scalar(index.relation)))
    return _flow(settings)


def _entry_columns(columns: Iterable[EntryColumn]) -> str:
    return f"[{', '.join(map(_entry_column, columns))}]"


def _entry_column(column: EntryColumn) -> str:
    if not column.is_expression:
        return scalar(column.name)
    declared = [("type", scalar(str(column.type)))] if column.type is not None else []
    return _flow([("expr", scalar(column.source)), ("as", scalar(column.name)), *declared])


def _names(names: Iterable[str]) -> str:
    return f"[{', '.join(map(scalar, names))}]"


def _flow(settings: Iterable[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in settings) + "}"


def _on_one_line(text: str) -> str:
    """Text for a comment: line breaks and control characters become question marks."""
    return "".join(char if char.isprintable() else "?" for char in text)
