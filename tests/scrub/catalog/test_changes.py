# SPDX-License-Identifier: Apache-2.0
"""The `changes:` of a table, and every mistake in them with its line."""

from pathlib import Path

import pytest

from scrub.catalog import load_catalog
from scrub.errors import CatalogError
from scrub.model.table import ChangeFeed

HEAD = """\
version: 1
stores:
  shop: {kind: postgres, url: postgresql://localhost/shop}
  lake: {kind: delta, path: .}
tables:
"""
TABLE = """\
  NAME:
    store: STORE
    columns: {id: {type: int, nullable: false}}
    primary_key: [id]
"""
CHANGES_LINE = 10


def table(name: str = "orders", store: str = "shop", changes: str = "") -> str:
    text = TABLE.replace("NAME", name).replace("STORE", store)
    return text + (f"    changes: {changes}\n" if changes else "")


def feed(tmp_path: Path, *tables: str) -> ChangeFeed | None:
    path = tmp_path / "scrub.yaml"
    path.write_text(HEAD + "".join(tables), encoding="utf-8")
    return next(iter(load_catalog(path).tables.values())).changes


def mistakes(tmp_path: Path, *tables: str) -> list[tuple[int, str]]:
    with pytest.raises(CatalogError) as error:
        feed(tmp_path, *tables)
    return [(mistake.line, mistake.message) for mistake in error.value.mistakes]


def test_a_table_without_changes_has_none(tmp_path: Path) -> None:
    assert feed(tmp_path, table()) is None


def test_slot_and_publication_have_names_of_the_table(tmp_path: Path) -> None:
    found = feed(tmp_path, table("Kunden-Aufträge", changes="{kind: postgres}"))
    assert found is not None
    assert (found.slot, found.publication) == ("scrub_kunden_auftr_ge", "scrub_Kunden-Aufträge")


def test_they_may_be_named(tmp_path: Path) -> None:
    changes = "{kind: postgres, slot: own_1, publication: Our tables}"
    found = feed(tmp_path, table(changes=changes))
    assert found == ChangeFeed(
        kind="postgres", slot="own_1", publication="Our tables", line=CHANGES_LINE
    )


@pytest.mark.parametrize("kind", ["files", "delta", "spark"])
def test_kinds_that_are_planned_are_refused_by_name(tmp_path: Path, kind: str) -> None:
    changes = f"{{kind: {kind}, path: x}}"
    assert mistakes(tmp_path, table(changes=changes)) == [
        (CHANGES_LINE, f"'changes' of table 'orders' of kind '{kind}' are not supported yet")
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ("{}", "has no 'kind'"),
        ("{kind: postgers}", "'kind' of 'changes' of table 'orders' cannot be 'postgers'"),
        ("{kind: postgres, slot: Slot-1}", "'slot' of 'changes' of table 'orders' cannot be"),
        (f"{{kind: postgres, publication: {'p' * 64}}}", "'publication' of"),
        ("{kind: postgres, slto: a}", "unknown key 'slto' in 'changes' of table 'orders'"),
        ("postgres", "'changes' of table 'orders' must be a mapping"),
        ("~", "'changes' of table 'orders' is empty"),
    ],
)
def test_each_mistake_is_named(tmp_path: Path, changes: str, message: str) -> None:
    found = mistakes(tmp_path, table(changes=changes))
    assert {line for line, _ in found} == {CHANGES_LINE}
    assert message in found[0][1]


def test_a_table_in_files_has_no_slot(tmp_path: Path) -> None:
    found = mistakes(tmp_path, table(store="lake", changes="{kind: postgres}"))
    assert [line for line, _ in found] == [CHANGES_LINE]
    assert "which has no replication slots" in found[0][1]


def test_two_tables_have_two_slots(tmp_path: Path) -> None:
    same = "{kind: postgres, slot: shared}"
    found = mistakes(tmp_path, table("a", changes=same), table("b", changes=same))
    assert found == [
        (
            CHANGES_LINE + 5,
            "tables 'a' and 'b' have the same slot 'shared', and each would miss what the other "
            "reads",
        )
    ]


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path,
        table("a", changes="{kind: postgres, slot: A, publication: ''}"),
        table("b", changes="{kind: files}"),
    )
    assert [line for line, _ in found] == [CHANGES_LINE, CHANGES_LINE, CHANGES_LINE + 5]
