# SPDX-License-Identifier: Apache-2.0
"""The time zone of a catalog, of a table, and names that are none."""

from pathlib import Path

import pytest

from scrub.catalog import load_catalog
from scrub.catalog.show import describe_catalog
from scrub.errors import CatalogError

TEXT = """\
version: 1
{zone}
stores: {{lake: {{kind: delta, path: .}}}}
tables:
  orders:
    store: lake
    {of_table}
    columns: {{id: {{type: int}}}}
    primary_key: [id]
  others:
    store: lake
    columns: {{id: {{type: int}}}}
    primary_key: [id]
"""


def zones(tmp_path: Path, zone: str = "", of_table: str = "") -> list[str]:
    path = tmp_path / "scrub.yaml"
    path.write_text(TEXT.format(zone=zone, of_table=of_table))
    catalog = load_catalog(path)
    listed = list(describe_catalog(catalog))[1]
    found = [table.time_zone for table in catalog.tables.values()]
    assert ("time zone" in listed.headers) == (set(found) != {"UTC"})
    return found


def test_the_default_is_utc(tmp_path: Path) -> None:
    assert zones(tmp_path) == ["UTC", "UTC"]


def test_a_catalog_names_one_and_a_table_another(tmp_path: Path) -> None:
    assert zones(tmp_path, "time_zone: Asia/Kathmandu") == ["Asia/Kathmandu"] * 2
    of_table = "time_zone: Europe/Berlin"
    assert zones(tmp_path, of_table=of_table) == ["Europe/Berlin", "UTC"]
    assert zones(tmp_path, "time_zone: Etc/GMT+5", of_table) == ["Europe/Berlin", "Etc/GMT+5"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("europe/Berlin", "did you mean Europe/Berlin?"),
        ("Europe/Berlim", "did you mean Europe/Berlin?"),
        ('"+02:00"', "write a name of the IANA list"),
        ("EST", "write a name of the IANA list"),  # an offset to Java, rules to PostgreSQL
        ("localtime", "write a name of the IANA list"),  # another one on each machine
        ("../etc/passwd", "write a name of the IANA list"),
    ],
)
def test_what_is_no_zone_is_a_mistake_with_its_line(tmp_path: Path, name: str, hint: str) -> None:
    with pytest.raises(CatalogError) as both:
        zones(tmp_path, f"time_zone: {name}", f"time_zone: {name}")
    of_catalog, of_table = both.value.mistakes
    assert (of_catalog.line, of_table.line) == (2, 7)
    assert "is not the name of a time zone" in of_catalog.message
    assert hint in (of_table.hint or "")


def test_a_database_s_own_setting_is_refused(tmp_path: Path) -> None:
    """What an expression means is the catalog's to say, once for all engines."""
    path = tmp_path / "scrub.yaml"
    path.write_text(
        TEXT.format(zone="", of_table="").replace(
            "{kind: delta, path: .}", "{kind: postgres, options: {timezone: Europe/Berlin}}"
        )
    )
    with pytest.raises(CatalogError, match="option TimeZone") as refused:
        load_catalog(path)
    assert "time_zone:" in (refused.value.mistakes[0].hint or "")
