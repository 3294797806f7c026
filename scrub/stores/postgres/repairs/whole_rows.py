# SPDX-License-Identifier: Apache-2.0
"""Whole rows of a relation as text that restores them byte for byte.

An index table may have columns that the catalog does not know, and a number may have a scale, an
array bounds, that the catalog's type leaves out. So each column is written by its type's output
function and read by its input function, under settings that make the two inverse.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from scrub.model.journal import Image
from scrub.stores.postgres.briefly import Brief
from scrub.stores.postgres.column_types import ServerColumn
from scrub.stores.postgres.connections import only_row
from scrub.stores.postgres.quoting import beside_parameters, identifier

_EXACT = {
    "extra_float_digits": "3",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "xmloption": "content",
}


@contextmanager
def exact_texts(brief: Brief) -> Iterator[None]:
    """For some statements: texts of values lose nothing, and are read as they were written.

    Afterwards the session has its own settings again: entries are made in the catalog's time zone.
    A statement that fails takes these settings back with everything else.
    """
    settings = ", ".join("pg_catalog.current_setting(%s)" for _ in _EXACT)
    own = only_row(brief.connection, f"SELECT {settings}", [*_EXACT])
    _set(brief, _EXACT.values())
    yield
    _set(brief, own)


def _set(brief: Brief, values: Iterable[str]) -> None:
    places = ", ".join("pg_catalog.set_config(%s, %s, true)" for _ in _EXACT)
    pairs = zip(_EXACT, values, strict=True)
    brief.connection.execute(f"SELECT {places}", [text for pair in pairs for text in pair])


def image_sql(alias: str, columns: Iterable[ServerColumn]) -> str:
    """All columns of a row as one array; `format` calls output functions, a cast might not."""
    texts = []
    for column in columns:
        value = f"{alias}.{identifier(column.name)}"
        # IS NULL is true of a composite value whose fields are NULL, which is not a NULL.
        texts.append(
            f"CASE WHEN pg_catalog.num_nulls({value}) = 0 THEN pg_catalog.format('%s', {value}) END"
        )
    return beside_parameters(f"ARRAY[{', '.join(texts)}]::pg_catalog.text[]")


def image_of(columns: Iterable[str], texts: Sequence[str | None]) -> Image:
    return dict(zip(columns, texts, strict=True))
