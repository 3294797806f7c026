# SPDX-License-Identifier: Apache-2.0
"""What shells complete: in a real bash, and for the others by the protocol of their scripts."""

import json
import os
import resource
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from scrub.cli import main
from scrub.cli.completing import SHELLS
from tests.scrub.cli.small_lake import described, write_catalog
from tests.scrub.cli.test_main import HEAVY

SCRUB = Path(sys.executable).with_name("scrub")
STRANGE = "it's; two $words"
RUNS = ["2e7f3d50ad47", "a1b2c3d4e5f6"]
_SECONDS_MAX = 0.5

# Presses Tab at the end of a line as bash does: the words so far, and the one that is typed.
_PRESS_TAB = """
eval "$(scrub completion bash)"
compopt() { echo "compopt $1 $2"; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_scrub_completion scrub
printf '%s\\n' "${COMPREPLY[@]}"
"""

Complete = Callable[..., list[str]]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    indexes = {"by_email": {"columns": ["status"]}, "by customer": {"columns": ["customer_id"]}}
    others = {"by_status": {"columns": ["status"]}}
    write_catalog(
        tmp_path,
        orders=described("lake", indexes),
        order_lines=described("lake", others),
        **{STRANGE: described("lake", {})},
    )
    log = tmp_path / "lake" / "scrub_journal" / "_delta_log"
    log.mkdir(parents=True)
    for version, run in enumerate(reversed(RUNS)):
        stats = json.dumps({"minValues": {"run": run}, "maxValues": {"run": run}})
        added = json.dumps({"add": {"path": f"{version}.parquet", "stats": stats}})
        (log / f"{version:020}.json").write_text('{"commitInfo": {}}\n' + added + "\n")
    return tmp_path


@pytest.fixture
def bash(shop: Path) -> Complete:
    def press_tab(*words: str, directory: Path = shop) -> list[str]:
        path = f"{SCRUB.parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "--norc", "-c", _PRESS_TAB, "bash", "scrub", *words],
            cwd=directory,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1] if done.stdout.strip() else []

    return press_tab


def ask(shell: str, words: Sequence[str], directory: Path) -> "subprocess.CompletedProcess[str]":
    """As the script of a shell asks, when the last word is the one that is typed."""
    line = {"COMP_WORDS": shlex.join(["scrub", *words[:-1]]) + f" {words[-1]}"}
    line["COMP_CWORD"] = words[-1] if shell == "fish" else str(len(words))
    return subprocess.run(
        [SCRUB],
        cwd=directory,
        env={**os.environ, **line, "_SCRUB_COMPLETE": f"{shell}_complete"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_bash_completes_what_the_catalog_names(bash: Complete) -> None:
    assert bash("check", "table", "order") == ["orders", "order_lines"]
    assert bash("check", "table", "orders", "order") == ["order_lines"]
    assert bash("repair", "table", "orders", "--index", "") == ["by_email", r"by\ customer"]
    assert bash("check", "table", "order_lines", "--index", "by") == ["by_status"]
    assert bash("check", "database", "--index", "by_") == ["by_email", "by_status"]
    assert bash("backfill", "drop", "orders", "by_") == ["by_email"]
    assert bash("backfill", "run", "orders", "by_email", "") == [r"by\ customer"]
    assert bash("undo", "") == RUNS
    assert bash("journal", "show", "a") == ["a1b2c3d4e5f6"]


def test_bash_completes_commands_and_options(bash: Complete) -> None:
    assert bash("ch") == ["check"]
    assert bash("check", "") == ["database", "table"]
    assert bash("check", "table", "orders", "--ind") == ["--index"]
    assert bash("completion", "z") == ["zsh"]
    assert bash("check", "table", "--catalog", "") == ["compopt -o default", ""]


def test_a_completed_name_is_read_back_as_it_is(bash: Complete) -> None:
    (typed,) = bash("check", "table", "it")
    assert shlex.split(typed) == [STRANGE]
    read = subprocess.run(
        ["bash", "-c", f"printf %s {typed}"], capture_output=True, text=True, check=True
    )
    assert read.stdout == STRANGE


def test_names_come_from_the_catalog_that_the_line_names(bash: Complete, shop: Path) -> None:
    other = shop / "other"
    other.mkdir()
    write_catalog(other, parcels=described())
    assert bash("check", "table", "--catalog", "other/scrub.yaml", "") == ["parcels"]
    assert bash("check", "table", "", directory=other) == ["parcels"]
    assert bash("undo", "--catalog", str(shop / "scrub.yaml"), "", directory=other) == RUNS


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"{[", b"tables: [1]", b"a: &a [*a]"])
def test_what_cannot_be_read_is_not_offered_and_no_error(
    bash: Complete, shop: Path, content: bytes | None
) -> None:
    catalog = shop / "scrub.yaml"
    catalog.unlink()
    if content is not None:
        catalog.write_bytes(content)
    assert bash("check", "table", "") == []
    assert bash("undo", "") == []


def test_a_damaged_journal_offers_no_run(bash: Complete, shop: Path) -> None:
    log = shop / "lake" / "scrub_journal" / "_delta_log"
    (log / f"{7:020}.json").write_text("{")
    assert bash("undo", "") == []


@pytest.mark.parametrize(
    ("shell", "shown"),
    [
        ("zsh", ["plain", "orders", "_", "plain", "order_lines", "_"]),
        ("fish", ["plain,orders", "plain,order_lines"]),
        ("bash", ["plain,orders", "plain,order_lines"]),
    ],
)
def test_every_shell_is_answered_in_its_own_form(shop: Path, shell: str, shown: list[str]) -> None:
    done = ask(shell, ["check", "table", "order"], shop)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == shown


@pytest.mark.parametrize("asked", ["tcsh_complete", "bash_source_x", "complete"])
def test_a_question_of_nobody_is_answered_with_nothing(shop: Path, asked: str) -> None:
    environment = {**os.environ, "_SCRUB_COMPLETE": asked}
    done = subprocess.run([SCRUB], cwd=shop, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")


@pytest.mark.parametrize("line", ["", "check table ", "repair table orders --index ", "undo "])
def test_nothing_heavy_is_imported_between_two_keys(shop: Path, line: str) -> None:
    program = (
        "import sys\n"
        "from scrub.cli.main import main\n"
        "try:\n    main()\n"
        f"finally:\n    print('heavy:', *(m for m in {HEAVY!r} if m in sys.modules))\n"
    )
    words = f"scrub {line}"
    environment = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()))}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=shop,
        env={**os.environ, **environment, "_SCRUB_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.splitlines()[-1] == "heavy:"
    assert "plain," in done.stdout
    # Of the processor, since the machine may have others to serve.
    assert after.ru_utime - before.ru_utime < _SECONDS_MAX


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_says_whom_to_ask(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["completion", shell]) == 0
    shown = capsys.readouterr()
    assert f"_SCRUB_COMPLETE={shell}_complete" in shown.out
    assert shown.err == ""


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["completion", "fsh"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: SHELL: 'fsh' is not one of 'bash', 'zsh', 'fish'",
        "hint: did you mean fish?",
    ]
