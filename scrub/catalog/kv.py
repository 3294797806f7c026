# SPDX-License-Identifier: Apache-2.0
"""Tables with `layout: kv`: the ids in the keys of their pairs, and the encoding of values."""

from collections.abc import Collection, Mapping, Sequence

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from scrub.catalog.constraints import read_checks, read_unique_keys
from scrub.catalog.document import Mistakes, NamedNode, line_of
from scrub.catalog.families import column_id_of, columns_named, read_families
from scrub.catalog.kv_types import BINARY, parse_datum_type
from scrub.catalog.section import Section
from scrub.catalog.spelling import did_you_mean
from scrub.catalog.table_context import inside_its_store
from scrub.model.kv import DatumKind, DatumType, KeyPart, KvColumn, KvIndex, KvTable
from scrub.model.table import Column, EntryColumn, Index, Store, Table

_KEYS = (
    "store",
    "relation",
    "layout",
    "table_id",
    "index_id",
    "columns",
    "primary_key",
    "families",
    "checks",
    "unique",
    "foreign_keys",
    "indexes",
    "sorted",
)
_INDEX_KEYS = ("index_id", "columns", "storing", "unique", "store", "relation", "by_family")


def read_kv_table(entry: NamedNode, stores: Mapping[str, Store], mistakes: Mistakes) -> Table:
    """A table whose rows and index entries are stored as pairs."""
    return _Reader(entry, stores, mistakes).read()


class _Reader:
    def __init__(self, entry: NamedNode, stores: Mapping[str, Store], mistakes: Mistakes) -> None:
        self.entry, self.stores, self.mistakes = entry, stores, mistakes
        self.what = f"table '{entry.name}'"
        self.section = Section(entry.value, entry.line, self.what, _KEYS, mistakes)
        self.columns: dict[str, tuple[Column, KvColumn]] = {}

    def read(self) -> Table:
        section = self.section
        section.choice("layout", ("kv",))
        store = self._store(section, default=None)
        section.require("table_id", "the number that the table's keys begin with")
        table_id = section.id_number("table_id", 0)
        self._read_columns()
        key = self._parts(section, "primary_key")
        if not key:
            section.require("primary_key", "name the columns that identify a row: [id]")
        relation = self._relation(section, store, self.entry.name)
        families = read_families(section.entries("families"), self.ids, self.mistakes)
        taken = {section.id_number("index_id", 1): "the primary index"}
        indexes = [
            self._index(of_index, store, relation, key, taken)
            for of_index in section.named_entries("indexes", "index")
        ]
        types = {name: column.type for name, (column, _) in self.columns.items()}
        return Table(
            name=self.entry.name,
            store=store,
            relation=relation,
            columns=tuple(column for column, _ in self.columns.values()),
            primary_key=tuple(self._name_of(part.column) for part in key),
            indexes=tuple(index for index, _ in indexes),
            checks=read_checks(section, types),
            unique=tuple(read_unique_keys(section, types)),
            line=self.entry.line,
            kv=KvTable(
                id=table_id,
                name=self.entry.name,
                columns=tuple(column for _, column in self.columns.values()),
                primary_key=key,
                families=families,
                indexes=tuple(index for _, index in indexes),
                primary_index_id=section.id_number("index_id", 1),
                sorted=section.flag("sorted"),
            ),
        )

    def _store(self, section: Section, default: str | None) -> str:
        if default is None:
            section.require("store", did_you_mean("", self.stores, "stores"))
        name = section.text("store") or default or ""
        if name and name not in self.stores:
            hint = did_you_mean(name, self.stores, "stores")
            section.add("store", f"{section.what} is in store '{name}', which is not there", hint)
        return name

    def _relation(self, section: Section, store: str, default: str) -> str:
        relation = section.text("relation") or default
        return inside_its_store(section, relation, store, self.stores)

    def _read_columns(self) -> None:
        self.section.require("columns", "list them, e.g. id: {type: bigint, nullable: false}")
        ids: dict[int, str] = {}
        for number, entry in enumerate(self.section.named_entries("columns", "column"), start=1):
            what = f"column '{entry.name}'"
            if not isinstance(entry.value, MappingNode):
                hint = f"write {entry.name}: {{type: bigint}}"
                self.mistakes.add(entry.line, f"{what} must be a mapping", hint)
                continue
            section = Section(
                entry.value, entry.line, what, ("type", "nullable", "id"), self.mistakes
            )
            section.require("type", "e.g. type: bigint")
            of_spark, datum = BINARY, DatumType(DatumKind.BYTES)
            try:
                of_spark, datum = parse_datum_type(section.text("type") or "binary")
            except ValueError as error:
                section.add("type", f"{what}: {error}")
            nullable = section.node("nullable") is None or section.flag("nullable")
            column_id = section.id_number("id", number)
            if column_id in ids:
                hint = "write the ids of all columns; the default is the place in the list"
                section.add("id", f"{what} has the same id as column '{ids[column_id]}'", hint)
            ids[column_id] = entry.name
            self.columns[entry.name] = (
                Column(name=entry.name, type=of_spark, nullable=nullable),
                KvColumn(column_id, entry.name, datum, nullable),
            )

    def _name_of(self, column_id: int) -> str:
        return next(c.name for _, c in self.columns.values() if c.id == column_id)

    @property
    def ids(self) -> dict[str, int]:
        return {name: column.id for name, (_, column) in self.columns.items()}

    def _parts(self, section: Section, key: str) -> tuple[KeyPart, ...]:
        parts: dict[str, KeyPart] = {}
        for item in section.items(key):
            what, descending = f"a column in '{key}' of {section.what}", False
            node: Node | None = item
            if not isinstance(item, ScalarNode):
                inside = Section(item, line_of(item), what, ("column", "order"), self.mistakes)
                descending = inside.choice("order", ("asc", "desc")) == "desc"
                node = inside.require("column", "name it")
            found = None if node is None else column_id_of(node, what, self.ids, self.mistakes)
            if found is None:
                continue
            name, column = found
            if name in parts:
                message = f"'{name}' comes twice in '{key}' of {section.what}"
                self.mistakes.add(line_of(item), message, "a key has each column once")
            parts[name] = KeyPart(column, descending)
        if isinstance(node := section.node(key), SequenceNode) and not node.value:
            section.add(key, f"'{key}' of {section.what} is empty", "name at least one column")
        return tuple(parts.values())

    def _stored(self, section: Section, in_key: Collection[int]) -> tuple[int, ...]:
        """Columns stored beside the key. Columns of the key itself must not be listed again."""
        what, stored = f"'storing' of {section.what}", []
        items = section.items("storing")
        for item, name, column in columns_named(items, what, self.ids, self.mistakes):
            if column in in_key:
                message = f"{what} names '{name}', which is in the index's key already"
                self.mistakes.add(line_of(item), message, "leave it out")
            elif column in stored:
                self.mistakes.add(line_of(item), f"'{name}' comes twice in {what}", "leave it out")
            else:
                stored.append(column)
        return tuple(stored)

    def _index(
        self,
        entry: NamedNode,
        store: str,
        relation: str,
        primary_key: Sequence[KeyPart],
        taken: dict[int, str],
    ) -> tuple[Index, KvIndex]:
        what = f"index '{entry.name}'"
        section = Section(entry.value, entry.line, what, _INDEX_KEYS, self.mistakes)
        section.require("index_id", "the number in the index's keys")
        section.require("columns", "name the indexed columns: [customer_id]")
        index_id = section.id_number("index_id", 0)
        if index_id in taken:
            hint = "write the number that is in the index's keys"
            section.add("index_id", f"{what} has the same index_id as {taken[index_id]}", hint)
        taken[index_id] = what
        parts = self._parts(section, "columns")
        indexed = {part.column for part in parts}
        suffix = tuple(part.column for part in primary_key if part.column not in indexed)
        kv = KvIndex(
            id=index_id,
            name=entry.name,
            parts=parts,
            suffix=suffix,
            stored=self._stored(section, {*indexed, *suffix}),
            unique=section.flag("unique"),
            by_family=section.flag("by_family"),
        )
        of_index = self._store(section, default=store)
        index = Index(
            name=entry.name,
            store=of_index,
            relation=self._relation(section, of_index, relation),
            key=tuple(self._entry_column(part.column, part.descending) for part in parts),
            suffix=tuple(self._entry_column(column) for column in suffix),
            stored=tuple(self._entry_column(column) for column in kv.stored),
            unique=kv.unique,
            line=entry.line,
        )
        return index, kv

    def _entry_column(self, column_id: int, descending: bool = False) -> EntryColumn:
        name = self._name_of(column_id)
        column = self.columns[name][0]
        return EntryColumn(name=name, source=name, type=column.type, descending=descending)
