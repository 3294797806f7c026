# SPDX-License-Identifier: Apache-2.0
"""The catalog's page shows what really happens, and names every key there is."""

import re
from pathlib import Path

import pytest

from scrub.catalog import indexes, load_catalog, stores, tables
from scrub.errors import CatalogError

PAGE = (Path(__file__).parents[3] / "docs" / "catalog.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(yaml|console)\n(.*?)```", PAGE, re.DOTALL)


def test_the_first_example_is_a_catalog(tmp_path: Path) -> None:
    (tmp_path / "scrub.yaml").write_text(BLOCKS[0][1])
    assert set(load_catalog(tmp_path / "scrub.yaml").tables) == {"orders", "customers"}


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
