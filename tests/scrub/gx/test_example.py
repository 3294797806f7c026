# SPDX-License-Identifier: Apache-2.0
"""The example project, run as its README says, and its Data Docs in a browser."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from scrub.gx.page_style import GENERATOR
from tests.scrub.gx.socket_record import LOCAL, SocketRecord

EXAMPLE = Path(__file__).parents[3] / "examples" / "great_expectations"
SCRUB = Path(sys.executable).with_name("scrub")
FOUND = [
    "expect_secondary_index_to_match_primary: failed",
    "expect_constraints_to_hold: failed",
    "expect_encodings_to_be_canonical: succeeded",
    "expect_column_values_to_not_be_null: succeeded",
]
LOAD = """
import great_expectations as gx
import scrub.gx.expectations
from scrub.gx.suites import load_suite

context = gx.get_context(mode="file", project_root_dir=".")
print(*sorted(one.expectation_type for one in load_suite(context, "orders").expectations))
"""
CELLS = """
const textsOf = row => Array.from(row.cells, cell => cell.innerText.trim());
Array.from(document.querySelectorAll("tr"), textsOf)
"""

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@dataclass
class Project:
    """A copy of the example, in a directory where nothing else is."""

    directory: Path
    record: SocketRecord
    told: list[str] = field(default_factory=list)

    def run(self, *command: str | Path, expected: int) -> str:
        done = subprocess.run(
            list(map(str, command)),
            cwd=self.directory,
            env=self.record.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == expected, done.stdout + done.stderr
        return done.stdout

    def validate(self) -> list[str]:
        """The lines that the example prints."""
        return self.run(sys.executable, "validate.py", expected=1).splitlines()

    @property
    def site(self) -> Path:
        return self.directory / "gx" / "uncommitted" / "data_docs" / "local_site"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The example after its README was followed to the end, with the second run before that."""
    directory = tmp_path_factory.mktemp("project")
    shutil.copytree(EXAMPLE, directory, dirs_exist_ok=True)
    made = Project(directory, SocketRecord(tmp_path_factory.mktemp("record")))
    made.run(sys.executable, "make_lake.py", expected=0)
    made.told = [*made.validate(), *made.validate()]
    check = ["check", "table", "orders", "--checks", "index,constraint", "--gx-docs", "docs"]
    made.run(SCRUB, *check, expected=1)
    return made


def test_it_runs_twice_as_its_readme_says(project: Project) -> None:
    readme = (project.directory / "README.md").read_text(encoding="utf-8")
    assert "\n".join(FOUND) in readme
    first, second = project.told[:5], project.told[5:]
    assert first[:4] == second[:4] == FOUND
    assert first[4] == second[4] == f"Data Docs: file://{project.site}/index.html"


def test_its_suite_loads_whole_in_a_new_process(project: Project) -> None:
    loaded = project.run(sys.executable, "-c", LOAD, expected=0).split()
    assert loaded == sorted(line.split(":")[0] for line in FOUND)


def test_the_exported_suite_takes_the_place_of_the_stored_one(project: Project) -> None:
    stored = Path("gx", "expectations", "orders.json")
    kept = (project.directory / stored).read_bytes()
    project.run(SCRUB, "gx", "export", "orders", "--output", stored, expected=0)
    told = project.validate()[:-1]
    (project.directory / stored).write_bytes(kept)
    assert sorted(line for line in told if line.endswith(": failed")) == [
        "expect_secondary_index_to_match_primary: failed",
        "unexpected_rows_expectation: failed",
    ]
    assert sum(line.endswith(": succeeded") for line in told) == len(told) - 2 == 4


def test_no_foreign_host_is_connected_to_and_no_name_looked_up(project: Project) -> None:
    hosts = project.record.hosts()
    assert "127.0.0.1" in hosts, "the recorder saw not even the connection to Spark"
    assert hosts <= LOCAL


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@dataclass
class Seen:
    """What a browser did while it showed some pages."""

    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    text: str = ""
    rows: list[list[str]] = field(default_factory=list)  # of all tables, as text


def visit(browser: Any, pages: list[Path]) -> Seen:
    seen = Seen()
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("console", lambda message: seen.messages.append(message.text))
    page.on("pageerror", lambda error: seen.messages.append(str(error)))
    for path in pages:
        page.goto(path.as_uri())
        page.wait_for_load_state("networkidle")
        seen.text += page.locator("body").inner_text() + "\n"
        seen.rows += page.evaluate(CELLS)
        is_too_wide = "document.documentElement.scrollWidth > window.innerWidth"
        assert not page.evaluate(is_too_wide), f"{path.name} is wider than the window"
    page.close()
    return seen


def test_the_browser_tells_of_requests_and_messages(browser: Any, tmp_path: Path) -> None:
    """What the tests below do not see is not there."""
    page = tmp_path / "page.html"
    page.write_text(
        '<img src="http://example.invalid/icon.png"><script>console.log("here")</script>'
    )
    seen = visit(browser, [page])
    assert "http://example.invalid/icon.png" in seen.requests
    assert "here" in seen.messages


@pytest.mark.parametrize("site", ["docs", "gx/uncommitted/data_docs/local_site"])
def test_data_docs_load_nothing_and_show_the_rows_that_fail(
    project: Project, browser: Any, site: str
) -> None:
    pages = sorted((project.directory / site).rglob("*.html"))
    assert len(pages) >= 3, "a list of runs, a suite, and a run"
    assert all(GENERATOR in page.read_text(encoding="utf-8") for page in pages)
    seen = visit(browser, pages)
    assert not [url for url in seen.requests if not url.startswith("file:")]
    assert not seen.messages
    assert "succeeded" in seen.text.lower()
    assert "failed" in seen.text.lower()
    missing = next(row for row in seen.rows if row[0] == "missing_secondary_index")
    assert "id=42" in missing
    violated = next(row for row in seen.rows if row[0] == "check_violation")
    assert "id=77" in violated
    assert any("-77" in cell for cell in violated)
