# SPDX-License-Identifier: Apache-2.0
"""The documentation is true: its links lead somewhere, its tests exist, its examples run."""

import ast
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

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


def tiny_lake() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tiny_lake", ROOT / "examples" / "tiny_lake.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def every_byte(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def comparable(report: str) -> list[str]:
    """A report without how long it took, how files were compressed, and the order of counts."""
    report = re.sub(r"[\d,.]+ k?B read", "SIZE read", report)
    report = re.sub(r"in [\d,.]+ s \([^)]*\)", "in SECONDS", report)
    lines = re.sub(r"^(by_customer .* 1,001) ", r"\1\n", report, flags=re.MULTILINE).splitlines()
    return sorted(line.strip() for line in lines if line.strip())


@pytest.mark.spark
def test_the_transcript_of_the_readme_is_real_and_writes_nothing(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reports import as_text
    from scrub.app import check

    monkeypatch.setenv("SCRUB_STATE_DIR", str(tmp_path / "state"))
    catalog = tiny_lake().make_lake(tmp_path / "tiny")
    before = every_byte(tmp_path / "tiny")
    result = check("orders", catalog=catalog, spark=spark)
    assert every_byte(tmp_path / "tiny") == before

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    transcript = readme.partition("$ scrub check table orders\n")[2].partition("$ echo $?\n")
    assert comparable(as_text.render(result)) == comparable(transcript[0])
    assert transcript[2].startswith(f"{result.exit_code}\n")
