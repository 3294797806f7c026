# SPDX-License-Identifier: Apache-2.0
"""What is shown of a database: host, database and schema, and never a part of a password."""

from pathlib import Path

import pytest

from scrub.catalog.places import place_of
from scrub.cli import main


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:hush@db.example:5433/shop", "host db.example, port 5433, database shop"),
        ("postgresql://u:hu%40sh@db/shop?sslmode=require", "host db, database shop"),
        ("postgresql://u:${PW}@db/shop", "host db, database shop"),
        ("postgresql://u@[::1]:5432/shop", "host [::1], port 5432, database shop"),
        ("postgresql:///shop?host=/run/pg&password=hush", "host /run/pg, database shop"),
        ("postgresql://db:${PORT}/shop", "host db, port ${PORT}, database shop"),
        ("host=db dbname=shop password='hush hush'", "host db, database shop"),
        ("${SHOP_URL}", "${SHOP_URL}"),
        (None, "as PG* variables say"),
        ("postgresql://u:hu/sh@db/shop", "a url that is not shown"),
        ("postgresql://u:hu@sh@db/shop", "a url that is not shown"),
        ("postgresql://u:12?hush@db/shop", "a url that is not shown"),
        ("postgresql://u:hush/shop", "a url that is not shown"),
        ("password = hush host=db", "a url that is not shown"),
        ("password='hush", "a url that is not shown"),
    ],
)
def test_the_place_of_a_database(url: str | None, shown: str) -> None:
    place = place_of(url, "sales")
    assert place == f"{shown}, schema sales"
    assert "hush" not in place


def test_catalog_show_tells_databases_and_own_indexes_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "scrub.yaml"
    path.write_text(
        "version: 1\n"
        "stores:\n"
        '  shop: {kind: postgres, url: "postgresql://u:hush@db:5433/shop", schema: sales}\n'
        "tables:\n"
        "  orders:\n"
        "    store: shop\n"
        "    columns: {id: {type: bigint}, word: {type: string}}\n"
        "    primary_key: [id]\n"
        "    indexes:\n"
        "      by_word: {columns: [word]}\n"
        "      orders_pkey: {own: true, unique: true}\n"
    )
    assert main.run(["catalog", "show", "--catalog", str(path)]) == 0
    assert main.run(["catalog", "show", "orders", "--catalog", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "host db, port 5433, database shop, schema sales" in shown
    assert "by_word, orders_pkey (own)" in shown
    assert "orders_pkey (own, unique)" in shown
    assert "hush" not in shown
