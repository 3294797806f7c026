# SPDX-License-Identifier: Apache-2.0
"""Tables in key-value layout, in Parquet, Delta and PostgreSQL; bytes are spoiled by hand.

Sound pairs are made by `scrub kv encode`, in one family or in two.
"""

import copy
import zlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.golden.places import Place
from tests.golden.running import run_command

Pair = tuple[bytes, bytes]

COLUMNS = {
    "id": {"type": "bigint", "nullable": False},
    "customer_id": {"type": "bigint"},
    "email": {"type": "string", "nullable": False},
    "amount": {"type": "decimal(10,2)"},
    "note": {"type": "string"},
}
INDEXES: dict[str, Any] = {
    "by_customer": {
        "index_id": 2,
        "columns": ["customer_id", {"column": "amount", "order": "desc"}],
        "storing": ["note"],
    },
    "by_email": {"index_id": 3, "columns": ["email"], "unique": True},
}
TWO_FAMILIES = {"rest": {"id": 1, "columns": ["note", "email"]}}
_SCHEMA = pa.schema([("key", pa.binary()), ("value", pa.binary())])
_CHECKSUM = 4
_ROWS = 40


def encoded_pairs(place: Place) -> None:
    """Rows in Parquet to be encoded, in one family and in two."""
    rows = [
        {
            "id": n,
            "customer_id": None if n % 7 == 0 else n % 5,
            "email": f"user{n}@example.org",
            "amount": Decimal(n * 10).scaleb(-2),
            "note": None if n % 5 == 0 else f"note {n}",
        }
        for n in range(_ROWS)
    ]
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("customer_id", pa.int64()),
            ("email", pa.string()),
            ("amount", pa.decimal128(10, 2)),
            ("note", pa.string()),
        ]
    )
    place.write_parquet("files/rows", pa.Table.from_pylist(rows, schema))
    files = {"kind": "spark", "format": "parquet", "path": "./files"}
    tables = {
        "pairs": _described("files"),
        "families": _described("files", families=TWO_FAMILIES, table_id=53),
        "rows": {"store": "files", "columns": COLUMNS, "primary_key": ["id"]},
    }
    place.write_catalog({"files": files}, tables)


def _described(store: str, **more: Any) -> dict[str, Any]:
    table = {
        "store": store,
        "layout": "kv",
        "table_id": 52,
        "columns": COLUMNS,
        "primary_key": ["id"],
        "indexes": INDEXES,
    }
    return copy.deepcopy(table) | more


def _sound(place: Place) -> dict[str, list[Pair]]:
    """The pairs of both tables, in the order of their keys."""
    encoded_pairs(place)
    found = {}
    for name in ("pairs", "families"):
        command = ["kv", "encode", name, "--from", "rows", "--output", f"sound/{name}"]
        shown = run_command(command, place.directory)
        assert shown.exit_code == 0, shown.stderr
        table = pq.read_table(place.directory / "sound" / name)
        pairs = zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True)
        found[name] = sorted(pairs)
    return found


def _damaged(pairs: list[Pair]) -> list[Pair]:
    """Every damage that repair and check tell apart, each at pairs of its own."""
    found = dict(pairs)
    rows = [key for key in found if key[1] == pairs[0][0][1]]
    by_customer, by_email = ([k for k in found if k[1] == pairs[0][0][1] + n] for n in (1, 2))
    del found[by_customer[3]]  # missing
    found[by_customer[6]] = found[by_customer[6]][:-2]  # cut off
    _change(found, by_customer[9], lambda data: data + b"\x00")  # bytes left over
    found[by_email[4]] = found[by_email[5]]  # the value of another entry, and its checksum
    del found[by_email[8]]
    stray = by_email[12][:-1] + b"\x99" + by_email[12][-1:]
    _put(found, stray, found[by_email[12]][_CHECKSUM:])
    found[rows[10]] = b"\x00\x00\x00\x01" + found[rows[10]][_CHECKSUM:]  # a wrong checksum
    _change(found, rows[14], lambda data: data[:2] + b"\xff" + data[3:])
    _put(found, b"\xbc\x8f\x88\x88", b"\x0a\x13\x02")  # of no index
    again = [(rows[20], found[rows[20]]), (by_customer[20], found[by_customer[20]])]
    return [*found.items(), *again]


def _worn(pairs: list[Pair]) -> list[Pair]:
    """Pairs that can all be read, and do not agree with each other."""
    found = dict(pairs)
    first = pairs[0][0][1]
    rows, by_customer = ([key for key in found if key[1] == first + n] for n in (0, 1))
    del found[by_customer.pop(3)]  # missing
    noted = [key for key in by_customer if b"note" in found[key]]
    _change(found, noted[5], lambda data: data.replace(b"note", b"lost"))  # a wrong stored value
    del found[rows.pop()]  # a row, or its last family
    long = by_customer[-4]
    _put(found, long[:2] + b"\xf6" + bytes([long[2] - 0x88]) + long[3:], found[long][_CHECKSUM:])
    (shared,) = (key for key in rows if b"user7@" in found[key])
    _change(found, shared, lambda data: data.replace(b"user7@", b"user8@"))  # a unique key, twice
    return list(found.items())


def _change(found: dict[bytes, bytes], key: bytes, change: Callable[[bytes], bytes]) -> None:
    _put(found, key, change(found[key][_CHECKSUM:]))


def _put(found: dict[bytes, bytes], key: bytes, data: bytes) -> None:
    """With a checksum that is right."""
    checksum = zlib.crc32(key + data) or 1
    found[key] = checksum.to_bytes(_CHECKSUM, "big") + data


def _table(pairs: list[Pair]) -> pa.Table:
    keys, values = zip(*pairs, strict=True)
    return pa.table({"key": list(keys), "value": list(values)}, schema=_SCHEMA)


def parquet_pairs(place: Place) -> None:
    """Sound and damaged pairs in Parquet, and pairs that are not in the order of their keys."""
    sound = _sound(place)
    files = {"files": {"kind": "spark", "format": "parquet", "path": "./files"}}
    tables = {}
    for name, families in (("pairs", {}), ("families", TWO_FAMILIES)):
        given: dict[str, Any] = {"families": families} if families else {}
        table_id = 52 if name == "pairs" else 53
        states = {"sound": list, "damaged": _damaged, "worn": _worn}
        for state, made in states.items():
            relation = f"{state}_{name}"
            place.write_parquet(f"files/{relation}", *_parts(made(sound[name])))
            tables[relation] = _described("files", table_id=table_id, **given)
    unordered = [*sound["pairs"][30:35], *sound["pairs"][:30], *sound["pairs"][35:]]
    place.write_parquet("files/unordered", _table(unordered))
    tables["unordered"] = _described("files", sorted=True)
    place.write_catalog(files, tables)


def _parts(pairs: list[Pair]) -> list[pa.Table]:
    third = len(pairs) // 3
    return [_table(pairs[:third]), _table(pairs[third : 2 * third]), _table(pairs[2 * third :])]


def delta_pairs(place: Place) -> None:
    """Damaged pairs in Delta, of two tables in one relation."""
    sound = _sound(place)
    both = [*_damaged(sound["pairs"]), *sound["families"]]
    place.write_delta("lake/pairs", *_parts(both))
    place.write_delta("lake/worn", *_parts(_worn(sound["pairs"])))
    lake = {"lake": {"kind": "delta", "path": "./lake"}}
    families = _described("lake", families=TWO_FAMILIES, table_id=53, relation="pairs")
    tables = {"pairs": _described("lake"), "families": families, "worn": _described("lake")}
    place.write_catalog(lake, tables)


def postgres_pairs(place: Place) -> None:
    """Damaged pairs in PostgreSQL."""
    sound = _sound(place)
    place.make_database()
    place.run_sql("CREATE TABLE pairs (key bytea, value bytea)")
    place.run_sql("CREATE TABLE families (key bytea PRIMARY KEY, value bytea)")
    place.copy_rows("pairs", _damaged(sound["pairs"]))
    place.copy_rows("families", dict(_damaged(sound["families"])).items())
    place.run_sql("CREATE TABLE worn (key bytea PRIMARY KEY, value bytea)")
    place.copy_rows("worn", _worn(sound["pairs"]))
    place.run_sql("VACUUM ANALYZE")
    shop = {"shop": {"kind": "postgres", "url": place.names["url"]}}
    families = _described("shop", families=TWO_FAMILIES, table_id=53)
    tables = {"pairs": _described("shop"), "families": families, "worn": _described("shop")}
    place.write_catalog(shop, tables)
