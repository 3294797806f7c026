# SPDX-License-Identifier: Apache-2.0
"""Commands in messages: quoted for a shell, with the catalog that they need."""

import shlex
from pathlib import Path

import pytest

from scrub.model.command_line import backfill_line, check_line, command_line, follow_line
from scrub.model.table import Table

STRANGE = ["two words", "it's", 'a "quoted" one', "$HOME", "a;b", "`date`", "*", "großes", "#1"]


def a_table(name: str = "orders", catalog: Path | None = None) -> Table:
    return Table(
        name=name, store="lake", relation="r", columns=(), primary_key=("id",), catalog=catalog
    )


@pytest.mark.parametrize("catalog", [None, Path("scrub.yaml")])
def test_the_usual_catalog_is_not_named(catalog: Path | None) -> None:
    line = command_line("repair table", "orders", "--execute", catalog=catalog)
    assert line == "scrub repair table orders --execute"


@pytest.mark.parametrize("catalog", ["./conf/scrub.yaml", "/etc/scrub.yaml", "my shop/it's.yaml"])
def test_another_catalog_is_named(catalog: str) -> None:
    line = command_line("undo", "abc", catalog=Path(catalog))
    assert shlex.split(line) == ["scrub", "undo", "abc", "--catalog", str(Path(catalog))]


@pytest.mark.parametrize("name", STRANGE)
def test_a_shell_reads_every_name_as_it_is(name: str) -> None:
    of = a_table(name, Path(f"{name}.yaml"))
    catalog = ["--catalog", f"{name}.yaml"]
    for line, words in (
        (check_line(of, "--index", name), ["check", "table", name, "--index", name]),
        (backfill_line("run", of, name), ["backfill", "run", name, name]),
        (follow_line(of, name), ["index", "follow", name, name, "--from", "VERSION"]),
    ):
        assert shlex.split(line) == ["scrub", *words, *catalog]


def test_the_file_of_a_table_is_no_part_of_what_it_is() -> None:
    """A resumed check knows its tables again, from whatever directory it is started."""
    assert a_table(catalog=Path("a.yaml")) == a_table(catalog=Path("b.yaml"))
    assert repr(a_table(catalog=Path("a.yaml"))) == repr(a_table(catalog=Path("b.yaml")))
