# SPDX-License-Identifier: Apache-2.0
"""Random tables, indexes and defects, and a plain reading of the rules that says what is wrong.

The oracle shares no code with the product: it works on Python values, row by row.
"""

import datetime as dt
import decimal
import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

UTC = dt.UTC
D = decimal.Decimal

ARROW = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal(10,2)": pa.decimal128(10, 2),
    "decimal(38,4)": pa.decimal128(38, 4),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
POOLS: dict[str, list[Any]] = {
    "boolean": [True, False],
    "tinyint": [-128, 0, 1, 127],
    "smallint": [-1, 0, 300],
    "int": [-(2**31), 0, 7, 2**31 - 1],
    "bigint": [-(2**63), -1, 0, 1, 2**63 - 1],
    "float": [0.0, -0.0, 1.5, float("nan"), float("inf")],
    "double": [0.0, -0.0, 0.1, float("nan"), float("-inf")],
    "decimal(10,2)": [D("0.00"), D("1.10"), D("-99999999.99")],
    "decimal(38,4)": [D("0.0000"), D("-1.0000"), D("9" * 34 + ".9999")],
    "string": ["", "a", "A", "b", "é", "NULL", "\x02", "it's `x`.y"],
    "binary": [b"", b"\x00", b"\xff\x00", b"abc"],
    "date": [dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(1999, 12, 31)],
    "timestamp": [
        dt.datetime(1970, 1, 1, tzinfo=UTC),
        dt.datetime(2026, 3, 29, 1, 30, 0, 1, tzinfo=UTC),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    ],
    "timestamp_ntz": [dt.datetime(1970, 1, 1), dt.datetime(2026, 3, 29, 2, 30, 0, 1)],
}
KEY_TYPES = ["bigint", "int", "string", "date", "decimal(10,2)", "binary", "timestamp"]
TRIALS_PER_TABLE = 8
NAMES = ["a", "b c", "d.e", "f`g", "Größe", "select", "h-1", 'q"t']

Row = dict[str, Any]
Entry = tuple[Any, ...]


@dataclass
class Condition:
    """A predicate, as SQL and as Python."""

    sql: str
    holds: Callable[[Row], bool]


@dataclass
class Computed:
    """A column of an entry that is an expression, as SQL and as Python."""

    sql: str
    kind: str
    value: Callable[[Any], Any]
    of_null: Any = None


@dataclass
class IndexTrial:
    name: str
    key: list[str]
    stored: list[str]
    unique: bool = False
    condition: Condition | None = None
    skip_nulls: bool = False
    entries: list[Entry] = field(default_factory=list)

    def columns(self, primary_key: list[str]) -> list[str]:
        return self.key + [c for c in primary_key if c not in self.key] + self.stored


@dataclass
class Trial:
    types: dict[str, str]
    primary_key: list[str]
    rows: list[Row]  # with the values of computed columns, which tables do not hold
    indexes: list[IndexTrial]
    computed: dict[str, Computed] = field(default_factory=dict)

    @property
    def all_types(self) -> dict[str, str]:
        return self.types | {name: column.kind for name, column in self.computed.items()}


def canonical(value: Any) -> Any:
    """Equal values become equal objects: one NaN, one zero."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def shown(value: Any) -> Any:
    """A value as reports show it."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            if math.isnan(value):
                return "NaN"
            if math.isinf(value):
                return "Infinity" if value > 0 else "-Infinity"
            return value + 0.0
        case bytes():
            return value.hex()
        case dt.datetime():
            return value.isoformat().replace("+00:00", "Z")
        case _:
            return str(value)


def is_covered(index: IndexTrial, row: Row) -> bool:
    if index.condition is not None and not index.condition.holds(row):
        return False
    return not (index.skip_nulls and any(row[column] is None for column in index.key))


def expected_entries(trial: Trial, index: IndexTrial) -> list[Entry]:
    columns = index.columns(trial.primary_key)
    return [tuple(r[c] for c in columns) for r in trial.rows if is_covered(index, r)]


def oracle(trial: Trial) -> Counter[tuple[str, str, str]]:
    """Every defect of a trial: (kind, index, key as JSON), each once."""
    found: Counter[tuple[str, str, str]] = Counter()
    duplicate_keys: set[str] = set()
    for index in trial.indexes:
        columns = index.columns(trial.primary_key)
        identity = len(columns) - len(index.stored)
        sides: list[dict[Entry, list[Entry]]] = []
        for entries in (expected_entries(trial, index), index.entries):
            groups: dict[Entry, list[Entry]] = {}
            for entry in entries:
                values = tuple(canonical(value) for value in entry)
                groups.setdefault(values[:identity], []).append(values[identity:])
            sides.append(groups)
        expected, actual = sides
        for key in expected.keys() | actual.keys():
            e, a = expected.get(key, []), actual.get(key, [])
            where = key_text(columns, key, trial.primary_key, index.key)
            if not a:
                found["missing_secondary_index", index.name, where] += 1
            if not e:
                found["dangling_secondary_index", index.name, where] += 1
            differ = set(e) != set(a) or (len(e) == len(a) and Counter(e) != Counter(a))
            if e and a and differ:
                found["wrong_stored_value", index.name, where] += 1
            if len(a) > max(len(e), 1):
                found["duplicate_index_entry", index.name, where] += 1
            if len(e) > max(len(a), 1):
                primary = key_text(columns, key, trial.primary_key, [])
                if primary not in duplicate_keys:
                    duplicate_keys.add(primary)
                    found["duplicate_primary_key", "*", primary] += 1
        if index.unique:
            found.update(unique_violations(trial, index))
    return found


def oracle_of_chosen(trial: Trial, condition: Condition) -> Counter[tuple[str, str, str]]:
    """The same where a condition chooses rows that entries alone do not show.

    Entries of rows that are not chosen are missed by nobody, but may be there.
    """
    rows = [row for row in trial.rows if condition.holds(row)]
    of_chosen = Trial(trial.types, trial.primary_key, rows, trial.indexes)
    found: Counter[tuple[str, str, str]] = Counter()
    duplicate_keys: set[str] = set()
    for index in trial.indexes:
        columns = index.columns(trial.primary_key)
        identity = len(columns) - len(index.stored)

        def variants(entries: list[Entry], key: Entry, identity: int = identity) -> Counter[Entry]:
            canon = (tuple(map(canonical, entry)) for entry in entries)
            return Counter(e[identity:] for e in canon if e[:identity] == key)

        chosen = expected_entries(of_chosen, index)
        for key in {tuple(map(canonical, entry))[:identity] for entry in chosen}:
            c, a = variants(chosen, key), variants(index.entries, key)
            e = variants(expected_entries(trial, index), key)
            where = key_text(columns, key, trial.primary_key, index.key)
            if a in (c, e):
                continue
            if not a:
                found["missing_secondary_index", index.name, where] += 1
            elif e.total() == a.total() or e.keys() != a.keys():
                found["wrong_stored_value", index.name, where] += 1
            if a.total() > max(e.total(), 1):
                found["duplicate_index_entry", index.name, where] += 1
            if c.total() > max(a.total(), 1):
                primary = key_text(columns, key, trial.primary_key, [])
                if primary not in duplicate_keys:
                    duplicate_keys.add(primary)
                    found["duplicate_primary_key", "*", primary] += 1
        if index.unique:
            found.update(unique_violations(of_chosen, index))
    return found


def unique_violations(trial: Trial, index: IndexTrial) -> Counter[tuple[str, str, str]]:
    columns = index.columns(trial.primary_key)
    owners: dict[Entry, set[Entry]] = {}
    for row in trial.rows:
        key = tuple(canonical(row[c]) for c in index.key)
        if is_covered(index, row) and None not in key:
            owners.setdefault(key, set()).add(tuple(canonical(row[c]) for c in columns))
    found: Counter[tuple[str, str, str]] = Counter()
    for entries in owners.values():
        primary_keys = {tuple(e[columns.index(c)] for c in trial.primary_key) for e in entries}
        if len(primary_keys) > 1:
            texts = {key_text(columns, e, trial.primary_key, index.key) for e in entries}
            found.update(("unique_violation", index.name, text) for text in texts)
    return found


def key_text(
    columns: list[str], values: Entry, primary_key: list[str], index_key: list[str]
) -> str:
    by_name = {name: shown(value) for name, value in zip(columns, values, strict=False)}
    keys = [{c: by_name[c] for c in names} for names in (primary_key, index_key)]
    return json.dumps(keys, sort_keys=True)


@st.composite
def trials(draw: st.DrawFn) -> Trial:
    """Several trials of one schema: awkward names and values, indexes, and what went wrong.

    They live in one table, told apart by the column `trial`, because a check of many tiny tables
    costs the planning of as many joins.
    """
    names = draw(st.permutations(NAMES))[: draw(st.integers(2, 6))]
    key_size = draw(st.integers(1, min(2, len(names) - 1)))
    types = {"trial": "bigint"} | {
        name: draw(st.sampled_from(KEY_TYPES if number < key_size else list(ARROW)))
        for number, name in enumerate(names)
    }
    primary_key = ["trial", *names[:key_size]]
    each = [draw(rows_of_trial(number, types, primary_key)) for number in range(TRIALS_PER_TABLE)]
    trial = Trial(types, primary_key, [row for rows in each for row in rows], [])
    trial.computed = draw(computed_columns(names, types))
    for name, column in trial.computed.items():
        source = name.removeprefix("of ")
        for row in {id(row): row for row in trial.rows}.values():
            row[name] = column.of_null if row[source] is None else column.value(row[source])
    for number in range(draw(st.integers(1, 3))):
        index = draw(index_trials(f"i{number}", names, types, primary_key))
        if trial.computed and draw(st.booleans()):
            index.key.append(draw(st.sampled_from([*trial.computed])))
        for rows in each:
            expected = expected_entries(Trial(types, primary_key, rows, []), index)
            index.entries += draw(damaged(index, expected, trial.all_types, primary_key))
        trial.indexes.append(index)
    return trial


def _two_of_the_last_three(text: str) -> str:
    """Of a text that is shorter, Spark counts the place before its beginning, too."""
    start = len(text) + len("-x") - 3
    return f"{text}-x"[max(start, 0) : start + 2]


COMPUTED = {
    "string": [
        Computed("lower({})", "string", str.lower),
        Computed("substring(concat({}, '-x'), -3, 2)", "string", _two_of_the_last_three),
        Computed("length({})", "int", len),
        Computed(
            "CASE WHEN {} LIKE '%a%' THEN 'has' ELSE trim({}) END",
            "string",
            lambda v: "has" if "a" in v else v.strip(" "),
        ),
        Computed("reverse({})", "string", lambda v: v[::-1]),  # which only Spark evaluates
    ],
    "bigint": [
        Computed("{} % 3", "bigint", lambda v: abs(v) % 3 * (1 if v > 0 else -1)),
        Computed("CAST({} AS string)", "string", str),
    ],
    "int": [
        Computed(
            "coalesce({} div 2, 0)", "bigint", lambda v: abs(v) // 2 * (1 if v > 0 else -1), 0
        ),
        Computed("CAST({} AS bigint) + 1", "bigint", lambda v: v + 1),
    ],
    "date": [Computed("year({}) * 100 + month({})", "int", lambda v: v.year * 100 + v.month)],
    "timestamp": [
        Computed("to_date({})", "date", lambda v: v.date()),
        Computed(
            "date_trunc('hour', {})",
            "timestamp",
            lambda v: v.replace(minute=0, second=0, microsecond=0),
        ),
    ],
}


@st.composite
def computed_columns(
    draw: st.DrawFn, names: list[str], types: dict[str, str]
) -> dict[str, Computed]:
    """One or no expression, of a column that has one."""
    able = [name for name in names if types[name] in COMPUTED]
    if not able or draw(st.integers(0, 2)) == 0:
        return {}
    name = draw(st.sampled_from(able))
    column = draw(st.sampled_from(COMPUTED[types[name]]))
    return {f"of {name}": replace(column, sql=column.sql.replace("{}", _quoted(name)))}


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@st.composite
def rows_of_trial(
    draw: st.DrawFn, number: int, types: dict[str, str], primary_key: list[str]
) -> list[Row]:
    values = {
        name: st.sampled_from(POOLS[kind])
        if name in primary_key
        else st.none() | st.sampled_from(POOLS[kind])
        for name, kind in types.items()
    }
    row = st.fixed_dictionaries(values | {"trial": st.just(number)})
    own_key = st.lists(row, max_size=12, unique_by=lambda r: tuple(r[c] for c in primary_key))
    rows = draw(own_key)
    if rows and draw(st.integers(0, 9)) == 0:
        rows = [*rows, draw(st.sampled_from(rows))]  # a duplicate primary key
    return rows


@st.composite
def index_trials(
    draw: st.DrawFn, name: str, names: list[str], types: dict[str, str], primary_key: list[str]
) -> IndexTrial:
    order = draw(st.permutations(names))
    # With `trial` in front, the keys of one trial never clash with another's.
    key = ["trial", *order[: draw(st.integers(1, min(3, len(order))))]]
    rest = [column for column in order if column not in key and column not in primary_key]
    stored = rest[: draw(st.integers(0, len(rest)))]
    return IndexTrial(
        name,
        key,
        stored,
        unique=draw(st.integers(0, 3)) == 0,
        condition=draw(st.none() | conditions(names, types)),
        skip_nulls=draw(st.booleans()),
    )


@st.composite
def conditions(draw: st.DrawFn, names: list[str], types: dict[str, str]) -> Condition:
    column = draw(st.sampled_from(names))
    quoted = _quoted(column)
    if types[column] == "string":
        return draw(
            st.sampled_from(
                [
                    Condition(f"{quoted} > 'A'", lambda r: (r[column] or "") > "A"),
                    Condition(
                        f"lower({quoted}) = 'a'",
                        lambda r: r[column] is not None and r[column].lower() == "a",
                    ),
                    Condition(
                        f"soundex({quoted}) = 'A000'",  # which only Spark evaluates
                        lambda r: r[column] is not None and r[column] in ("a", "A"),
                    ),
                    Condition(
                        f"NOT ({quoted} IN ('a', 'b') OR {quoted} IS NULL)",
                        lambda r: r[column] is not None and r[column] not in ("a", "b"),
                    ),
                ]
            )
        )
    if types[column] in ("tinyint", "smallint", "int", "bigint"):
        return Condition(f"{quoted} >= 0", lambda r: r[column] is not None and r[column] >= 0)
    if types[column] == "date":
        return Condition(
            f"year({quoted}) BETWEEN 1990 AND 2010",
            lambda r: r[column] is not None and 1990 <= r[column].year <= 2010,
        )
    return Condition(f"{quoted} IS NOT NULL", lambda r: r[column] is not None)


@st.composite
def damaged(
    draw: st.DrawFn,
    index: IndexTrial,
    expected: list[Entry],
    types: dict[str, str],
    primary_key: list[str],
) -> list[Entry]:
    """The entries an index holds after a few accidents."""
    entries = list(expected)
    columns = index.columns(primary_key)
    for _ in range(draw(st.integers(0, 3))):
        accident = draw(st.sampled_from(["lose", "copy", "change", "swap", "invent"]))
        if accident == "invent" or not entries:
            values = [draw(st.none() | st.sampled_from(POOLS[types[column]])) for column in columns]
            entries.append(tuple(values))
            continue
        at = draw(st.integers(0, len(entries) - 1))
        if accident == "lose":
            entries.pop(at)
        elif accident == "copy":
            entries.append(entries[at])
        else:
            position = draw(st.integers(0, len(columns) - 1))
            entry = list(entries[at])
            if accident == "swap":
                other = draw(st.integers(0, len(entries) - 1))
                swapped = list(entries[other])
                entry[position], swapped[position] = swapped[position], entry[position]
                entries[other] = tuple(swapped)
            else:
                pool = POOLS[types[columns[position]]]
                entry[position] = draw(st.none() | st.sampled_from(pool))
            entries[at] = tuple(entry)
    return draw(st.permutations(entries))


def write_trials(batch: list[Trial], directory: Path) -> Path:
    """All trials as tables t0, t1, ... of one catalog, a few files each."""
    tables = {}
    for number, trial in enumerate(batch):
        name = f"t{number}"
        write_files(directory / name, list(trial.types), trial.types, _tuples(trial))
        indexes = {}
        for index in trial.indexes:
            columns = index.columns(trial.primary_key)
            relation = directory / f"{name}__{index.name}"
            write_files(relation, columns, trial.all_types, index.entries)
            indexes[index.name] = {
                "columns": [_indexed(trial, column) for column in index.key],
                "storing": index.stored,
                "unique": index.unique,
                "nulls": "skip" if index.skip_nulls else "keep",
            } | ({"where": index.condition.sql} if index.condition else {})
        tables[name] = {
            "store": "files",
            "columns": {column: {"type": kind} for column, kind in trial.types.items()},
            "primary_key": trial.primary_key,
            "indexes": indexes,
        }
    stores = {"files": {"kind": "spark", "format": "parquet", "path": "."}}
    catalog = directory / "scrub.yaml"
    catalog.write_text(json.dumps({"version": 1, "stores": stores, "tables": tables}))
    return catalog


def _indexed(trial: Trial, column: str) -> Any:
    if column not in trial.computed:
        return column
    return {"expr": trial.computed[column].sql, "as": column}


def _tuples(trial: Trial) -> list[Entry]:
    return [tuple(row[column] for column in trial.types) for row in trial.rows]


def write_files(
    directory: Path, columns: list[str], types: dict[str, str], rows: list[Entry]
) -> None:
    directory.mkdir(parents=True)
    schema = pa.schema([(column, ARROW[types[column]]) for column in columns])
    # Every other relation is cut in two files: each file is a task, and a task costs its start.
    half = (len(rows) + 1) // 2 if len(rows) % 2 else len(rows)
    for number, part in enumerate(part for part in (rows[:half], rows[half:]) if part or not rows):
        arrays = [
            pa.array([row[i] for row in part], schema.field(i).type) for i in range(len(columns))
        ]
        pq.write_table(pa.Table.from_arrays(arrays, schema=schema), directory / f"{number}.parquet")
