# SPDX-License-Identifier: Apache-2.0
"""The documentation is true: its links lead somewhere, its tests exist, its examples run."""

import ast
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.examples_used import tiny_lake

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
)
FIRST_SCREEN_LINES_MAX = 40
ADR_LINES_MAX = 60
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
NAMED_TEST = re.compile(r"`(tests/[\w/.]+\.py)(?:::(\w+))?`")
FENCE = re.compile(r"^```.*?^```", flags=re.DOTALL | re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The fragments that a page's headings can be linked by."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)}: {link}"
        assert target.is_relative_to(ROOT), f"{name_of(page)}: {link} leads out of the project"
        if fragment:
            assert fragment in anchors(target), f"{name_of(page)}: {link}"


def named_tests() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for path, test in NAMED_TEST.findall(page.read_text(encoding="utf-8")):
            yield ROOT / path, test


def test_every_test_named_in_the_documentation_exists() -> None:
    named = set(named_tests())
    assert named
    for path, test in sorted(named):
        assert path.is_file(), name_of(path)
        functions = {
            node.name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef)
        }
        assert not test or test in functions, f"{name_of(path)} has no {test}"


def test_every_invariant_names_a_test() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.partition("## What always holds")[2].partition("\n## ")[0]
    invariants = re.split(r"^\d+\. ", section, flags=re.MULTILINE)[1:]
    assert len(invariants) > 1
    for invariant in invariants:
        assert re.search(r"`tests/[^`]+::\w+`", invariant), invariant


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_nothing_is_left_to_be_written(page: Path) -> None:
    assert not re.search(r"\b(TBD|TODO|FIXME)\b", page.read_text(encoding="utf-8"))


def test_the_first_screen_of_the_readme_is_one_screen() -> None:
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## ")[0]
    assert len(first_screen.splitlines()) <= FIRST_SCREEN_LINES_MAX
    for words in ("pip install", "make demo", "make test", "$ scrub check table orders"):
        assert words in first_screen


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "adr").glob("*.md")), ids=name_of)
def test_a_decision_is_short_and_comes_first(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= ADR_LINES_MAX
    assert lines[2].startswith("**Decision.** ")


@pytest.mark.parametrize("example", sorted((ROOT / "examples").rglob("*.py")), ids=name_of)
def test_a_python_example_compiles_and_imports_what_there_is(example: Path) -> None:
    tree = ast.parse(example.read_text(encoding="utf-8"), name_of(example))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    own = ("scrub", "checks", "reports")
    for module in (node for node in imports if (node.module or "").split(".")[0] in own):
        for alias in module.names:
            imported = importlib.import_module(str(module.module))
            assert hasattr(imported, alias.name), f"{module.module} has no {alias.name}"


@pytest.mark.parametrize("example", sorted((ROOT / "examples").rglob("*.sh")), ids=name_of)
def test_a_shell_example_parses_and_can_be_run(example: Path) -> None:
    assert example.stat().st_mode & 0o111, f"{name_of(example)} is not executable"
    if bash := shutil.which("bash"):
        subprocess.run([bash, "-n", str(example)], check=True)


@pytest.mark.parametrize("example", sorted((ROOT / "examples").rglob("*.yaml")), ids=name_of)
def test_an_example_catalog_has_no_mistakes(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from scrub.catalog import load_catalog

    for variable in re.findall(r"\$\{(\w+)\}", example.read_text(encoding="utf-8")):
        monkeypatch.setenv(variable, "secret")
    assert load_catalog(example).tables


def every_byte(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def comparable(text: str) -> list[str]:
    """Lines without what differs from run to run, or with the number of rows.

    That is the width of columns, the size of files, the order of counts, and the name of a run.
    """
    text = re.sub(r"[\d,.]+ [kM]?B read", "SIZE read", text)
    text = text.replace("1,000,00", "1,00")
    text = re.sub(r"^(by_customer .* 1,001) ", r"\1\n", text, flags=re.MULTILINE)
    text = re.sub(r"\b[0-9a-f]{12}\b", "RUN", text)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip("- ")]


def transcript() -> list[tuple[str, list[str]]]:
    """The commands of the README's first screen, each with the lines shown of its output."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = readme.partition("```console\n")[2].partition("```")[0]
    parts = (part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:])
    return [
        (command, [line for line in comparable(shown) if line != "..."])
        for command, _, shown in parts
    ]


@pytest.mark.spark
def test_the_transcript_of_the_readme_is_real(
    tmp_path: Path,
    spark: Any,  # the commands borrow it
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On a thousandth of the rows; a check and a preview leave every byte as it was."""
    from scrub.cli import main

    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    catalog = tiny_lake().make_lake(tmp_path / "tiny")
    monkeypatch.chdir(catalog.parent)
    before, run, codes = every_byte(catalog.parent), "", []
    for command, shown in transcript():
        words = [run if re.fullmatch(r"[0-9a-f]{12}", w) else w for w in command.split()]
        with pytest.raises(SystemExit) as ended:
            main.run(words[1:])
        codes.append(ended.value.code)
        output = capsys.readouterr().out
        assert "--execute" in words or every_byte(catalog.parent) == before, command
        assert shown, command
        assert set(shown) <= set(comparable(output)), f"{command}\n{output}"
        run = next(iter(re.findall(r"scrub undo (\w+)", output)), run)
    assert codes == [1, 1, 0, 0]
