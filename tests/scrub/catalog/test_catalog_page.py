# SPDX-License-Identifier: Apache-2.0
"""The catalog's page shows what really happens, and names every key there is."""

import re
from pathlib import Path

import pytest

from scrub.catalog import indexes, load_catalog, stores, tables
from scrub.catalog.calls import CALLS
from scrub.catalog.expressions import translate, translate_native
from scrub.catalog.listing import NATIVE, PORTABLE
from scrub.catalog.sql import parse
from scrub.errors import CatalogError
from scrub.model.types import parse_type
from tests.catalog_page import with_lists

PAGE = (Path(__file__).parents[3] / "docs" / "catalog.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(yaml|console)\n(.*?)```", PAGE, re.DOTALL)


def test_the_first_example_is_a_catalog(tmp_path: Path) -> None:
    (tmp_path / "scrub.yaml").write_text(BLOCKS[0][1])
    assert set(load_catalog(tmp_path / "scrub.yaml").tables) == {"orders", "customers"}


def test_the_lists_of_expressions_are_those_of_the_code() -> None:
    assert with_lists(PAGE) == PAGE, "renew them: .venv/bin/python -m tests.catalog_page"
    assert {one for element in NATIVE for one in element.classes} == {*CALLS}


def test_what_the_lists_show_is_translated() -> None:
    kinds = {"n": "int", "m": "int", "s": "string", "t": "string", "d": "date", "f": "boolean"}
    columns = {name: parse_type(kind) for name, kind in kinds.items()}
    columns["at"] = parse_type("timestamp")
    for element in PORTABLE:
        assert None not in [translate(text, columns) for text in element.examples], element
    for element in NATIVE:
        assert not any(translate(text, columns) for text in element.examples), element
        found = [translate_native(text, columns, "UTC") for text in element.examples]
        assert None not in found, element
        words = {type(part) for text in element.examples for part in parse(text).walk()}
        assert not element.classes or words & {*element.classes}, element


def test_the_example_of_time_zones_is_a_catalog(tmp_path: Path) -> None:
    (tmp_path / "scrub.yaml").write_text(BLOCKS[1][1])
    tables = load_catalog(tmp_path / "scrub.yaml").tables.values()
    assert [table.time_zone for table in tables] == ["Europe/Berlin", "Asia/Kathmandu"]


def test_the_mistakes_are_those_really_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EXPORT_DIR", raising=False)
    (language, text), (_, shown) = BLOCKS[2:4]
    assert language == "yaml"
    Path("scrub.yaml").write_text(text)
    with pytest.raises(CatalogError) as error:
        load_catalog(Path("scrub.yaml"))
    assert shown == f"$ scrub catalog validate\nerror: {error.value}\n"


@pytest.mark.parametrize("key", sorted({*tables._KEYS, *indexes._KEYS, *stores._KEYS["spark"]}))
def test_every_key_has_its_row(key: str) -> None:
    assert f"\n| `{key}` |" in PAGE
