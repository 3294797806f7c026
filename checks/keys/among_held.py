# SPDX-License-Identifier: Apache-2.0
"""Keys that rows share, and keys that refer to no row, among few rows that are held here.

It finds what `checks.keys.by_sql` finds, with the same meaning. Tables are *keyed*: they have the
columns k0, k1, ... of the key and p0, p1, ... of the primary key. What is found is NAMED_SCHEMA.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from checks.held_columns import column_of_bytes, with_one_zero
from checks.keys.split_rows import Key
from scrub.codec.arrow_text import text_of
from scrub.stores.entry_states import Values, comparable

Named = dict[str, Any]


def sharing(rows: pa.Table, key: Key, primary_key: Key) -> Iterator[Named]:
    """The rows that share a unique key with other rows, each primary key once."""
    keys, owners = _values(rows, "k", key), _values(rows, "p", primary_key)
    copies: dict[Values, Counter[Values]] = defaultdict(Counter)
    first_of: dict[tuple[Values, Values], int] = {}
    for row, (of_key, owner) in enumerate(zip(keys, owners, strict=True)):
        if None in of_key:
            continue  # a NULL never clashes
        copies[of_key][owner] += 1
        first_of.setdefault((of_key, owner), row)
    for of_key, by_owner in copies.items():
        # A NULL in the primary key makes two rows two, for it equals nothing.
        if sum(number if None in owner else 1 for owner, number in by_owner.items()) < 2:  # noqa: PLR2004
            continue
        for owner, number in by_owner.items():
            row = first_of[of_key, owner]
            yield {
                "primary_key": _texts(rows, "p", primary_key, row),
                "key": _texts(rows, "k", key, row),
                "copies": number,
            }


def repeated(rows: pa.Table, key: Key) -> Iterator[Named]:
    """The primary keys that more than one row has, each once, with the number of rows."""
    copies: Counter[Values] = Counter()
    first_of: dict[Values, int] = {}
    for row, of_key in enumerate(_values(rows, "k", key)):
        if None not in of_key:
            copies[of_key] += 1
            first_of.setdefault(of_key, row)
    for of_key, number in copies.items():
        if number > 1:
            texts = _texts(rows, "k", key, first_of[of_key])
            yield {"primary_key": texts, "key": texts, "copies": number}


def unmatched(
    child: pa.Table, key: Key, primary_key: Key, parent: pa.Table, of: Key
) -> Iterator[Named]:
    """The rows whose key is no key of the parent; each row is one, also if it has copies."""
    parents = set(_values(parent, "k", of))
    for row, of_key in enumerate(_values(child, "k", key)):
        if None not in of_key and of_key not in parents:
            yield {
                "primary_key": _as_stored(child, "p", primary_key, row),
                "key": _as_stored(child, "k", key, row),
                "copies": 1,
            }


def _values(rows: pa.Table, prefix: str, key: Key) -> list[Values]:
    """Keys that are equal when checks call them equal, whatever the width of their integers."""
    columns = {str(n): column_of_bytes(rows.column(f"{prefix}{n}")) for n in range(len(key))}
    return comparable(pa.table(columns)) if columns else [()] * rows.num_rows


def _texts(rows: pa.Table, prefix: str, key: Key, row: int) -> list[str | None]:
    """One row's key as canonical texts, with one zero."""
    return [
        text_of(with_one_zero(rows.column(f"{prefix}{number}").slice(row, 1))[0], column.type)
        for number, column in enumerate(key)
    ]


def _as_stored(rows: pa.Table, prefix: str, key: Key, row: int) -> list[str | None]:
    """The same as the row has it: -0.0 stays what it is."""
    columns = enumerate(key)
    return [text_of(rows.column(f"{prefix}{n}")[row], column.type) for n, column in columns]


def named_place(found: Named) -> tuple[Any, ...]:
    """Spark's order of the violations: by primary key, then by key; NULL comes first."""
    return _in_order(found["primary_key"]), _in_order(found["key"])


def _in_order(texts: Sequence[str | None]) -> list[tuple[bool, str]]:
    return [(text is not None, text or "") for text in texts]
