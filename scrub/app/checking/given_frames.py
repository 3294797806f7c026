# SPDX-License-Identifier: Apache-2.0
"""DataFrames in the place of tables and indexes, for one check."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scrub.app.selection import select_indexes
from scrub.catalog import Catalog
from scrub.catalog.spelling import did_you_mean
from scrub.errors import UsageError
from scrub.model.plan import NotChecked
from scrub.model.request import CheckRequest
from scrub.model.table import Index, Store, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from scrub.stores.base import ReadableStore

STORE = "__scrub_frames"  # no name in a catalog begins so
KIND = "frames"

_NO_EQUIVALENT = "the table is a DataFrame in this check, "
OWN_INDEX = _NO_EQUIVALENT + "and PostgreSQL compares its own indexes with its own table only"
DIALECT = _NO_EQUIVALENT + "and only PostgreSQL evaluates expressions of `dialect: postgres`"


@dataclass(frozen=True, slots=True)
class GivenFrames:
    """The catalog with the DataFrames in their places, and what cannot be checked because of it."""

    catalog: Catalog
    by_relation: "Mapping[str, DataFrame]" = field(default_factory=dict)
    not_checked: tuple[NotChecked, ...] = ()

    def open_store(self, store: Store) -> "ReadableStore":
        """A store of the catalog, or the one that holds the DataFrames."""
        from scrub.stores.frames import FrameStore
        from scrub.stores.open import open_store

        return FrameStore(STORE, self.by_relation) if store.kind == KIND else open_store(store)

    @property
    def are_given(self) -> bool:
        return bool(self.by_relation)

    def session(self, given: "SparkSession | None") -> "SparkSession | None":
        """The session of the DataFrames, which is the only one that can read them."""
        sessions = [frame.sparkSession for frame in self.by_relation.values()]
        if given is not None:
            sessions.append(given)
        for other in sessions[1:]:
            if not _is_same_session(sessions[0], other):
                raise UsageError(
                    "the DataFrames of `frames` are of several Spark sessions",
                    hint="make all of them with one session; `spark` must be that session, too",
                )
        return sessions[0] if sessions else None


def place_frames(
    catalog: Catalog,
    tables: Sequence[Table],
    request: CheckRequest,
    frames: "Mapping[str, DataFrame] | None",
) -> GivenFrames:
    """Put each DataFrame in the place of the table or index that it is named after."""
    if not frames:
        return GivenFrames(catalog)
    places = dict(_places(catalog, tables))
    relations = {_relation(name, tables, places): frame for name, frame in frames.items()}
    for name, frame in frames.items():
        _require_frame(name, frame)
    if len(relations) < len(frames):
        raise UsageError("`frames` names a table or index twice: by its name, and as TABLE.INDEX")
    moved = {name: _moved(table, relations) for name, table in catalog.tables.items()}
    not_checked = [skipped for t in tables for skipped in _not_checked(t, moved[t.name], request)]
    stores = {**catalog.stores, STORE: Store(name=STORE, kind=KIND)}
    return GivenFrames(replace(catalog, stores=stores, tables=moved), relations, tuple(not_checked))


def _require_frame(name: str, frame: Any) -> None:
    from pyspark.sql import DataFrame

    if not isinstance(frame, DataFrame):
        raise UsageError(
            f"frames[{name!r}] is a {type(frame).__module__}.{type(frame).__qualname__}, not a "
            "DataFrame of Spark",
            hint="spark.createDataFrame(...) makes one",
        )
    if frame.isStreaming:
        raise UsageError(
            f"frames[{name!r}] is a stream, which has no end that a check could reach",
            hint="use spark.read instead of spark.readStream",
        )


def _places(catalog: Catalog, tables: Sequence[Table]) -> Iterator[tuple[str, Index | Table]]:
    """What a DataFrame can stand for, by its full name: tables, their indexes, and parents."""
    for table in tables:
        yield table.name, table
        yield from ((f"{table.name}.{index.name}", index) for index in table.indexes)
        for key in table.foreign_keys:
            yield key.references, catalog.tables[key.references]


def _relation(name: str, tables: Sequence[Table], places: Mapping[str, Index | Table]) -> str:
    """The full name of a table or index; that of an index may be its own if only one has it."""
    full = [name] if name in places else [f"{t.name}.{name}" for t in tables]
    found = [one for one in full if one in places]
    if not found:
        indexes = [index.name for table in tables for index in table.indexes]
        raise UsageError(
            f"`frames` names {name}, which is no table or index of this check",
            hint=did_you_mean(name, [*places, *indexes], "names"),
        )
    if len(found) > 1:
        raise UsageError(
            f"`frames` names {name}, and several tables have an index of that name",
            hint=f"name one of them: {', '.join(found)}",
        )
    place = places[found[0]]
    if isinstance(place, Index) and place.is_own:
        raise UsageError(
            f"index {name} is one of PostgreSQL's own, which no DataFrame can stand for",
            hint="leave it out of `frames`",
        )
    return found[0]


def _moved(table: Table, relations: "Mapping[str, DataFrame]") -> Table:
    """The table as it is in this check: with its relation and those of its indexes."""
    is_frame = table.name in relations
    indexes = []
    for index in table.indexes:
        if is_frame and _why_not(index) is not None:
            continue
        name = f"{table.name}.{index.name}"
        shared = (index.store, index.relation) == (table.store, table.relation)
        moved = replace(index, reflects=None) if is_frame else index
        if name in relations:
            moved = replace(moved, store=STORE, relation=name)
        elif is_frame and shared:  # pairs of a table and of its indexes may be in one relation
            moved = replace(moved, store=STORE, relation=table.name)
        indexes.append(moved)
    if is_frame:
        table = replace(table, store=STORE, relation=table.name)
    return replace(table, indexes=tuple(indexes))


def _why_not(index: Index) -> str | None:
    """Why an index cannot be compared with a DataFrame."""
    if index.is_own:
        return OWN_INDEX
    return DIALECT if index.dialect != "spark" and index.expressions else None


def _not_checked(table: Table, moved: Table, request: CheckRequest) -> Iterator[NotChecked]:
    from checks.registry import INDEX, checks_of

    left = {index.name for index in moved.indexes}
    if INDEX not in checks_of(request, table):
        return
    for index in select_indexes(table, request):
        if index.name not in left:
            reason = _why_not(index) or ""
            yield NotChecked(table=table.name, check=INDEX.name, index=index.name, reason=reason)


def _is_same_session(one: Any, other: Any) -> bool:
    """Whether two objects stand for one session: PySpark makes several of them."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if hasattr(one, "_jsparkSession"):
        return bool(one._jsparkSession.equals(other._jsparkSession))
    return bool(one.session_id == other.session_id)
