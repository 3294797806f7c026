# SPDX-License-Identifier: Apache-2.0
"""Keys are ordered by Python as by the database, under COLLATE "C" where they are texts."""

import random

import pytest

from scrub.stores.postgres.changes import key_types
from scrub.stores.postgres.changes.key_types import IN_BYTES, UnorderedKey, key_reader, type_sql
from tests.postgres_server import Database

VALUES = {
    key_types.BOOL: ["true", "false"],
    key_types.BYTEA: [r"'\x00'", r"'\x'", r"'\xff01'", r"'\x0a'", r"'\xff'"],
    key_types.INT2: ["-5", "0", "30000", "7"],
    key_types.INT4: ["-5", "0", "2000000000", "7"],
    key_types.INT8: ["-5", "0", "9000000000000000000", "7"],
    key_types.TEXT: ["'a'", "'B'", "'ä'", "'aa'", "'a b'", "''", "'Z'", "'\U0001f600'", "'\uffee'"],
    key_types.VARCHAR: ["'a'", "'B'", "'_'", "'ab'"],
    key_types.DATE: ["'0001-01-01'", "'9999-12-31'", "'1999-12-31'", "'2000-01-01'"],
    key_types.TIMESTAMP: [
        "'2000-01-01 00:00:00'",
        "'2000-01-01 00:00:00.5'",
        "'2000-01-01 00:00:00.45'",
        "'1999-12-31 23:59:59.999999'",
    ],
    key_types.NUMERIC: ["1.50", "-3", "1e20", "0.001", "-0.001", "100"],
    key_types.UUID: [
        "'00000000-0000-0000-0000-00000000000a'",
        "'A0000000-0000-0000-0000-000000000009'",
        "'90000000-0000-0000-0000-000000000000'",
    ],
}


@pytest.mark.parametrize("type_oid", VALUES, ids=lambda oid: type_sql(oid).rpartition(".")[2])
def test_the_order_is_that_of_the_database(type_oid: int, database: Database) -> None:
    literals = random.Random(0).sample(VALUES[type_oid], len(VALUES[type_oid]))
    rows = ", ".join(f"({literal}::{type_sql(type_oid)})" for literal in literals)
    collate = ' COLLATE "C"' if type_oid in IN_BYTES else ""
    with database.connect() as connection:
        query = f"SELECT v FROM (VALUES {rows}) AS t(v) ORDER BY v{collate}"
        result = connection.execute(query).pgresult
    assert result is not None
    texts = [(result.get_value(row, 0) or b"").decode() for row in range(result.ntuples)]
    reader = key_reader(type_oid, "id")
    keys = [reader(text) for text in texts]
    assert len({*keys}) == len(literals)
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("type_oid", "text"),
    [
        (key_types.NUMERIC, "NaN"),
        (key_types.DATE, "0044-03-15 BC"),
        (key_types.DATE, "12000-01-01"),
        (key_types.TIMESTAMP, "infinity"),
    ],
)
def test_a_value_without_a_place_in_the_order_is_refused(type_oid: int, text: str) -> None:
    with pytest.raises(UnorderedKey, match=text.split(maxsplit=1)[0]):
        key_reader(type_oid, "id")(text)
