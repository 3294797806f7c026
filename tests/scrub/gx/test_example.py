# SPDX-License-Identifier: Apache-2.0
"""The example project does what its README says, twice, and talks to nobody."""

import json
import re
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.scrub.gx.browser import assert_self_contained, open_pages
from tests.scrub.gx.recorded import OF_THIS_MACHINE, Recorder

EXAMPLE = Path(__file__).parents[3] / "examples" / "great_expectations"
SITE = Path("gx", "uncommitted", "data_docs", "local_site")
OF_MISSING = ["status='open'", "absent"]
OF_VIOLATION = ["amount >= 0 is false"]
LOAD = """
import great_expectations as gx
import scrub.gx.expectations
from scrub.gx.suites import load_suite

context = gx.get_context(mode="file", project_root_dir=".")
for name in ("orders", "first"):
    print(name, *(one.expectation_type for one in load_suite(context, name).expectations))
"""

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def commands_of(readme: str) -> list[tuple[str, list[str]]]:
    """The commands that a README shows, each with the lines that it shows below."""
    commands: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", readme, flags=re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            else:
                commands[-1][1].append(line)
    return commands


@dataclass
class Project:
    """A copy of the example, and what its commands said, in the order of the README."""

    directory: Path
    recorder: Recorder
    said: dict[str, list[CompletedProcess[str]]] = field(default_factory=dict)

    def run(self, command: str) -> CompletedProcess[str]:
        done = self.recorder.run(shlex.split(command), self.directory)
        self.said.setdefault(command, []).append(done)
        return done


@pytest.fixture(scope="module")
def shown() -> dict[str, list[str]]:
    return dict(commands_of((EXAMPLE / "README.md").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, shown: dict[str, list[str]]) -> Project:
    """The commands of the README in a fresh directory; those that validate, twice."""
    place = tmp_path_factory.mktemp("example")
    made = Project(place / "project", Recorder(place / "recorder"))
    shutil.copytree(EXAMPLE, made.directory)
    make, validate, *_ = shown
    for command in (make, validate, *shown):
        made.run(command)
    return made


def test_the_example_runs_twice_as_its_readme_says(
    project: Project, shown: dict[str, list[str]]
) -> None:
    codes = {"python make_lake.py": 0, "python validate.py": 1}
    for command, code in codes.items():
        for done in project.said[command]:
            assert done.returncode == code, done.stderr
            said = done.stdout.splitlines()
            assert said[: len(shown[command])] == shown[command]
            assert "Traceback" not in done.stderr
    assert [len(project.said[command]) for command in codes] == [2, 2]
    last = project.said["python validate.py"][-1].stdout.splitlines()[-1]
    assert last == f"Data Docs: {(project.directory / SITE / 'index.html').as_uri()}"
    runs = list((project.directory / SITE / "validations").rglob("*.html"))
    assert len(runs) == 2


def test_the_check_and_the_export_of_the_readme_run(project: Project) -> None:
    (check,) = (done for name, (done, *_) in project.said.items() if "--gx-docs" in name)
    assert check.returncode == 1, check.stderr
    assert "Data Docs are in docs/index.html" in check.stderr
    (export,) = (done for name, (done, *_) in project.said.items() if "gx export" in name)
    assert export.returncode == 0, export.stderr
    assert "6 expectations are in gx/expectations/orders.json" in export.stderr


def test_the_suite_loads_in_a_new_process_with_all_expectations(project: Project) -> None:
    """The one of `validate.py`, and the one that the export has put in its place."""
    suites = project.directory / "gx" / "expectations"
    exported = json.loads((suites / "orders.json").read_text())["expectations"]
    first = _first_suite(project)
    assert (len(first), len(exported)) == (4, 6)
    (suites / "first.json").write_text(json.dumps({"name": "first", "expectations": first}))
    done = project.recorder.run(["python", "-c", LOAD], project.directory)
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["orders", *(one["type"] for one in exported)],
        ["first", *(one["type"] for one in first)],
    ], done.stderr


def _first_suite(project: Project) -> list[dict[str, Any]]:
    """The expectations of `validate.py`, as the results of its last run hold them."""
    results = sorted((project.directory / "gx" / "uncommitted" / "validations").rglob("*.json"))
    document = json.loads(results[-1].read_text())
    kept = [one["expectation_config"] for one in document["results"]]
    unwanted = ("batch_id",)
    return [
        {"type": c["type"], "kwargs": {k: v for k, v in c["kwargs"].items() if k not in unwanted}}
        for c in kept
    ]


@pytest.mark.parametrize("site", [SITE, Path("docs")], ids=["checkpoint", "check"])
def test_data_docs_open_in_a_browser_and_load_nothing(project: Project, site: Path) -> None:
    pages = open_pages(project.directory / site)
    assert_self_contained(pages)
    runs = 2 if site == SITE else 1
    assert pages["index.html"].text.count("failed") == runs
    validations = [page for path, page in pages.items() if path.startswith("validations/")]
    assert len(validations) == runs
    for page in validations:
        assert not page.wider_than_the_window
        missing, violation = (
            next(cells for cells in page.rows if cells[0] == kind)
            for kind in ("missing_secondary_index", "check_violation")
        )
        assert missing[1:] == ["by_customer", "id=42", "customer_id=8, id=42", *OF_MISSING]
        assert violation[1:] == ["amount_not_negative", "id=77", "amount='-77.00'", *OF_VIOLATION]
        statuses = [cells[0] for cells in page.rows if cells[0] in ("failed", "succeeded")]
        assert sorted(statuses) == ["failed"] * 2 + ["succeeded"] * (2 if site == SITE else 1)


def test_no_foreign_host_is_contacted_and_no_name_looked_up(project: Project) -> None:
    assert project.recorder.contacts, "the recorder saw not even Spark"
    assert project.recorder.contacts <= OF_THIS_MACHINE
    foreign = "import socket\ntry: socket.getaddrinfo('scrub.invalid', 80)\nexcept OSError: pass"
    project.recorder.run(["python", "-c", foreign], project.directory)
    assert project.recorder.contacts - OF_THIS_MACHINE == {"scrub.invalid"}
