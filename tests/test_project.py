# SPDX-License-Identifier: Apache-2.0
"""The project as a whole: its lock file, its documentation, and the wheel it ships."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reports import as_json
from scrub import __version__
from scrub.cli import main
from scrub.model.defect import DefectKind
from scrub.model.result import EXIT_CODES
from tests.reports.results import RESULTS

ROOT = Path(__file__).parent.parent
INDEX = re.compile(
    r"(?<!no-emit-)(?:extra-)?index-url|find-links|pypi\.org|pythonhosted|https?://\S*/simple\b"
)


def documentation() -> str:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def project_files() -> Iterator[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return (path for path in paths if path.is_file() and path != Path(__file__))


def test_the_lock_file_holds_versions_and_no_address() -> None:
    lines = (ROOT / "requirements" / "dev.txt").read_text().splitlines()
    assert lines
    for line in lines:
        assert re.fullmatch(r"[a-z0-9._\[\]-]+==[^\s/@]+( ; .+)?", line), line


def test_no_file_names_a_package_index() -> None:
    for path in project_files():
        text = path.read_bytes().decode("utf-8", errors="replace")
        assert not INDEX.search(text), f"{path.relative_to(ROOT)}: {INDEX.search(text)}"


def test_every_source_file_names_its_licence() -> None:
    for path in project_files():
        if path.suffix == ".py" or path.name == "Makefile":
            head = path.read_text(encoding="utf-8")[:200]
            assert "SPDX-License-Identifier: Apache-2.0" in head, path.relative_to(ROOT)


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_command_and_option_is_documented(name: str) -> None:
    text = documentation()
    for words, command in commands(f"scrub {name}", main.COMMANDS[name].load()):
        assert words in text, f"`{words}` is not in docs/ or README.md"
        for parameter in command.params:
            for option in parameter.opts if isinstance(parameter, click.Option) else ():
                assert option in text, f"{option} of `{words}` is not in docs/ or README.md"


def commands(words: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield words, command
        return
    for name, inner in command.commands.items():
        yield from commands(f"{words} {name}", inner)


@pytest.mark.parametrize("kind", DefectKind)
def test_every_defect_kind_is_documented(kind: DefectKind) -> None:
    assert f"`{kind}`" in documentation()


def test_every_exit_code_is_documented() -> None:
    page = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    codes = {value for name, value in vars(main).items() if name.endswith("_EXIT_CODE")}
    for code in codes | set(EXIT_CODES.values()):
        assert re.search(rf"^\| {code} \|", page, flags=re.MULTILINE), code


def test_the_documented_json_result_has_the_fields_of_a_real_one() -> None:
    page = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    shown = json.loads(re.search(r"```json\n(.*?)```", page, flags=re.DOTALL)[1])
    real = json.loads(as_json.render(RESULTS["defective"]()))
    assert list(shown) == list(real)
    assert list(shown["tables"][0]) == list(real["tables"][0])
    assert list(shown["tables"][0]["checks"][0]) == list(real["tables"][0]["checks"][0])
    assert list(shown["defects"][0]) == list(real["defects"][0])


@pytest.mark.slow
def test_the_wheel_installs_alone_and_shows_its_help(tmp_path: Path) -> None:
    """No dev extras, no Spark: click is all that `scrub --help` may need."""
    wheel = build_wheel(tmp_path)
    packages = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert packages == {"scrub", "checks", "repair", "reports", f"scrub-{__version__}.dist-info"}

    home = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", home)
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel)
    # A copy instead of a download: the test must work without a network.
    (site_packages,) = (home / "lib").glob("python*/site-packages")
    shutil.copytree(Path(click.__file__).parent, site_packages / "click")

    assert "selftest" in run(home / "bin" / "scrub", "--help", cwd=tmp_path)
    assert __version__ in run(home / "bin" / "scrub", "--version", cwd=tmp_path)


def build_wheel(folder: Path) -> Path:
    """Built from a copy, so that no build folder appears in the repository."""
    source = folder / "source"
    ignored = shutil.ignore_patterns("__pycache__")
    for package in ("scrub", "checks", "repair", "reports"):
        shutil.copytree(ROOT / package, source / package, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source)
    (wheel,) = folder.glob("*.whl")
    return wheel


def run(*command: object, cwd: Path | None = None) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
