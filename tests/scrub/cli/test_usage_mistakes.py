# SPDX-License-Identifier: Apache-2.0
"""Command lines that are wrong: one form of error, which leads to the line that was meant."""

import shlex
from pathlib import Path

import pytest

from scrub.cli import main
from tests.scrub.cli.small_lake import described, write_catalog

STRANGE = "it's two words"


@pytest.fixture
def errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """What a wrong line leaves on standard error, beside a catalog with tables."""
    write_catalog(tmp_path, orders=described(), customers=described(), **{STRANGE: described()})
    (tmp_path / "elsewhere").mkdir()
    write_catalog(tmp_path / "elsewhere", parcels=described())
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> list[str]:
        assert main.run(words) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        return shown.err.splitlines()

    return run


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("check orders", "scrub check table orders"),
        ("check orders customers", "scrub check table orders customers"),
        ("check ordrs --index by_customer", "scrub check table orders --index by_customer"),
        ("repair orders --execute", "scrub repair table orders --execute"),
        ("repair CUSTOMERS", "scrub repair table customers"),
        ("index orders", "scrub index follow orders"),
        ("catalog orders", "scrub catalog show orders"),
        ("gx orders", "scrub gx export orders"),
        (
            "check parcels --catalog elsewhere/scrub.yaml",
            "scrub check table parcels --catalog elsewhere/scrub.yaml",
        ),
        (
            "repair parcel --catalog=elsewhere/scrub.yaml",
            "scrub repair table parcels --catalog=elsewhere/scrub.yaml",
        ),
        ("chekc table orders", "check"),
        ("check databse", "database"),
        ("check tabel orders", "table"),
        ("backfill resum orders", "resume"),
        ("journal lst", "list"),
    ],
)
def test_a_wrong_command_leads_to_the_one_that_is_meant(errors, typed: str, meant: str) -> None:
    words = typed.split()
    group = "scrub" if words[0] == "chekc" else f"scrub {words[0]}"
    wrong = words[0] if words[0] == "chekc" else words[1]
    assert errors(*words) == [
        f"error: {group} has no command {wrong}",
        f"hint: did you mean {meant}?",
    ]


def test_the_line_that_is_meant_can_be_pasted(errors) -> None:
    _, hint = errors("check", STRANGE, "--where", "status = 'open'")
    line = hint.removeprefix("hint: did you mean ").removesuffix("?")
    words = ["scrub", "check", "table", STRANGE, "--where", "status = 'open'"]
    assert shlex.split(line) == words


def test_what_is_like_nothing_is_answered_with_what_there_is(errors) -> None:
    assert errors("repair", "xyz")[1] == "hint: known commands: table"
    assert errors("xyz")[1].startswith("hint: known commands: backfill, catalog, check, ")


def test_a_catalog_that_cannot_be_read_makes_no_other_error(errors, tmp_path: Path) -> None:
    (tmp_path / "scrub.yaml").write_bytes(b"\xff{[")
    for catalog in ("scrub.yaml", "nope.yaml", "elsewhere"):
        told = errors("check", "ordrs", "--catalog", catalog)
        assert told == ["error: scrub check has no command ordrs", told[1]]
        assert told[1] == "hint: known commands: database, table"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (
            "check table orders --indx by_customer",
            ["scrub check table has no option --indx", "did you mean --index?"],
        ),
        (
            "repair table orders --exectue",
            ["scrub repair table has no option --exectue", "did you mean --execute?"],
        ),
        ("undo abc --exec", ["scrub undo has no option --exec", "did you mean --execute?"]),
        ("--versoin", ["scrub has no option --versoin", "did you mean --version?"]),
        (
            "check table orders --zzzz",
            [
                "scrub check table has no option --zzzz",
                "to see the options: scrub check table --help",
            ],
        ),
        (
            "check --index by_customer table orders",
            ["scrub check has no option --index", "write --index after the command that it is for"],
        ),
        (
            "--catalog x.yaml check table orders",
            ["scrub has no option --catalog", "write --catalog after the command that it is for"],
        ),
        ("check --indx a orders", ["scrub check has no option --indx", "did you mean --index?"]),
        ("check table orders --index", ["--index needs a value"]),
        (
            "check table",
            ["scrub check table needs TABLE", "usage: scrub check table [OPTIONS] TABLE..."],
        ),
        ("kv decode", ["scrub kv decode needs TABLE", "usage: scrub kv decode [OPTIONS] TABLE"]),
        (
            "journal prune",
            ["scrub journal prune needs --older-than", "usage: scrub journal prune [OPTIONS]"],
        ),
        (
            "repair table orders customers",
            [
                "scrub repair table has no use for customers",
                "usage: scrub repair table [OPTIONS] TABLE",
            ],
        ),
        (
            "check table orders --strategy mrge",
            [
                "--strategy: 'mrge' is not one of 'auto', 'fingerprint', 'merge'",
                "did you mean merge?",
            ],
        ),
        (
            "check table orders --limit many",
            [
                "--limit: 'many' is not a valid integer range",
                "to see the options: scrub check table --help",
            ],
        ),
        (
            "check table orders --checks indx",
            ["--checks: there is no check indx", "did you mean index?"],
        ),
        (
            "repair table orders --kind mising_secondary_index",
            [
                "--kind: there is no kind mising_secondary_index",
                "did you mean missing_secondary_index?",
            ],
        ),
        (
            "check table orders --as-of yesterday",
            [
                "--as-of: 'yesterday' is neither a version (12), nor a version of one table or "
                "index (by_email=12), nor a time (2026-11-16T09:00:00Z)"
            ],
        ),
        (
            "check table orders --explain --format junit",
            ["--explain is not written as junit", "add --format text or json"],
        ),
        (
            "check table orders --master local --remote sc://x",
            ["--master and --remote exclude each other", "use one of the two"],
        ),
        ("check table ordrs", ["the catalog has no table ordrs", "did you mean orders?"]),
        (
            "check table orders --index by_custmer",
            ["there is no index by_custmer of orders", "did you mean by_customer?"],
        ),
    ],
)
def test_every_mistake_has_the_same_form(errors, typed: str, told: list[str]) -> None:
    error, *hint = told
    assert errors(*typed.split()) == [f"error: {error}", *(f"hint: {one}" for one in hint)]


def test_a_mistake_shows_no_password(errors) -> None:
    for words in (
        ["check", "postgresql://me:hunter2@db/shop"],
        ["check", "table", "orders", "--format", "postgresql://me:hunter2@db/shop"],
        ["prepare", "password=hunter2"],
    ):
        assert "hunter2" not in "".join(errors(*words))


def test_what_cannot_be_shown_is_spelled_out(errors) -> None:
    assert errors("check", "\x1b[2J")[0] == r"error: scrub check has no command \x1b[2J"


@pytest.mark.parametrize("group", ["check", "repair", "backfill", "index", "journal", "kv"])
def test_a_group_alone_shows_its_help(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([group]) == 2
    assert capsys.readouterr().err.startswith(f"Usage: scrub {group} ")
