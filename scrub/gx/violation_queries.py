# SPDX-License-Identifier: Apache-2.0
"""Queries that select the rows that violate a constraint, for Great Expectations to run in Spark.

Great Expectations puts the batch in the place of `{batch}` with `str.format`, so every other brace
is written twice.
"""

from collections.abc import Iterable, Sequence

from scrub.spark.names import quoted


def null_rows(column: str) -> str:
    """Rows with a NULL where there may be none."""
    return _rows_where(f"{_literal(quoted(column))} IS NULL")


def false_rows(condition: str) -> str:
    """Rows for which a CHECK is false; of NULL, `NOT` makes NULL, which selects nothing."""
    # On lines of its own: a comment at its end would swallow the parenthesis.
    return _rows_where(f"NOT (\n{_literal(condition)}\n)")


def shared_key_rows(columns: Sequence[str]) -> str:
    """Rows whose key another row has too; a NULL in a key never clashes."""
    names = [_literal(quoted(column)) for column in columns]
    keys = ", ".join(names)
    shared = (
        f"SELECT {keys} FROM {{batch}} WHERE {_all_set(names)} GROUP BY {keys} HAVING count(*) > 1"
    )
    return f"SELECT child.* FROM {{batch}} AS child LEFT SEMI JOIN ({shared}) AS shared ON " + (
        _all_equal([f"child.{name}" for name in names], [f"shared.{name}" for name in names])
    )


def orphan_rows(columns: Sequence[str], parent: str | None, parent_columns: Sequence[str]) -> str:
    """Rows that refer to a row that the parent lacks; with a NULL they refer to none.

    The parent is a view of that name, or the batch itself.
    """
    relation = "{batch}" if parent is None else _literal(quoted(parent))
    child = [f"child.{_literal(quoted(column))}" for column in columns]
    of_parent = [f"parent.{_literal(quoted(column))}" for column in parent_columns]
    exists = f"SELECT 1 FROM {relation} AS parent WHERE {_all_equal(of_parent, child)}"
    return (
        f"SELECT child.* FROM {{batch}} AS child WHERE {_all_set(child)} AND NOT EXISTS ({exists})"
    )


def _rows_where(condition: str) -> str:
    return f"SELECT * FROM {{batch}} WHERE {condition}"


def _all_set(columns: Iterable[str]) -> str:
    return " AND ".join(f"{column} IS NOT NULL" for column in columns)


def _all_equal(one: Sequence[str], other: Sequence[str]) -> str:
    return " AND ".join(f"{a} = {b}" for a, b in zip(one, other, strict=True))


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
