# SPDX-License-Identifier: Apache-2.0
"""The plugin as a user's pytest runs it, in a process of its own."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scrub.app.gating.baseline import write_baseline
from scrub.catalog import load_catalog
from scrub.model.definition import definition_of
from scrub.model.gate import Baseline
from tests.forked import run_forked
from tests.programs import pytest_of_a_user
from tests.reports.results import a_defect
from tests.scrub.app.gating.gate_ground import SALT, known
from tests.scrub.cli.small_lake import described, write_catalog

pytestmark = pytest.mark.slow  # each test is a pytest of its own

ROOT = Path(__file__).parents[3]
PLUGIN = "scrub.pytest_plugin"
_OPTIONS = ("-p", PLUGIN, "-p", "no:cacheprovider")
HEAVY = ("pyspark", "pyarrow", "yaml", "sqlglot", "scrub.catalog", "scrub.app", "reports")

# A check whose result is written down here, so that no Spark is needed to see what becomes of it.
# The gate that judges it is the real one.
FAKED = """
import os
from scrub.app.gating import gate
from tests.reports.results import a_check, a_run, a_table, a_defect
from scrub.model.defect import DefectKind
from scrub.model.result import Status
from scrub.errors import ScrubError

def found(request, *, on_defect, **options):
    with open("runs", "a") as file:
        file.write("run\\n")
    if os.environ["FOUND"] == "unreachable":
        raise ScrubError("the store cannot be reached", hint="start it")
    kinds = {"defective": Status.DEFECTIVE, "incomplete": Status.INCOMPLETE,
             "skipped": Status.NOT_APPLICABLE, "clean": Status.CLEAN, "left_out": None}
    status = kinds[os.environ["FOUND"]]
    clean = a_check("by_status")
    if status is None:
        return a_run(a_table(clean))
    counts = {DefectKind.WRONG_STORED_VALUE: 1} if status is Status.DEFECTIVE else {}
    reason = None if status in (Status.CLEAN, Status.DEFECTIVE) else "there is a reason"
    looked = a_check("by_customer", status, counts=counts, reason=reason)
    defects = (a_defect(),) if counts else ()
    for defect in defects:
        on_defect(defect)
    return a_run(a_table(looked, clean), defects=defects)

gate.run_check = found
"""
WAIVER = {"id": a_defect().id, "reason": "old import", "by": "ann"}


def accept(lake: Path, how: str) -> None:
    """What a project keeps beside its catalog."""
    today = datetime.now(UTC).date()
    if how == "known":
        tables = load_catalog(lake / "scrub.yaml").tables
        baseline = Baseline(
            salt=SALT,
            definitions={"orders": definition_of(tables["orders"])},
            known=(known(a_defect()),),
        )
        write_baseline(lake / "scrub-baseline.jsonl", baseline)
    elif how == "not required":
        text = (lake / "scrub.yaml").read_text()
        require = '{"gate": {"require": [{"table": "orders", "index": "by_status"}]}, "version"'
        (lake / "scrub.yaml").write_text(text.replace('{\n "version"', require))
    else:
        until = today + timedelta(days=30 if how == "waived" else -1)
        waiver = json.dumps({**WAIVER, "until": until.isoformat()})
        (lake / "scrub-waivers.yaml").write_text(f"version: 1\nwaivers:\n- {waiver}\n")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    write_catalog(tmp_path, orders=described())
    (tmp_path / "conftest.py").write_text(FAKED)
    return tmp_path


def run_pytest(directory: Path, *arguments: str, found: str = "clean") -> tuple[int | None, str]:
    """Pytest in a process of its own, which has made its imports."""
    given = (*_OPTIONS, *arguments)
    ended = run_forked(pytest_of_a_user, *given, cwd=directory, env=_environment(found))
    return ended.code, ended.out + ended.err


def start_pytest(directory: Path, *arguments: str) -> tuple[int, str]:
    """Pytest as a user starts it."""
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *_OPTIONS, *arguments],
        cwd=directory,
        env=_environment("clean"),
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout + ended.stderr


def _environment(found: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "FOUND": found}


def counts(output: str) -> dict[str, int]:
    last = output.strip().splitlines()[-1]
    return {noun: int(number) for number, noun in re.findall(r"(\d+) ([a-z]+)", last)}


def test_there_is_a_test_for_each_index_and_one_for_the_decision(lake: Path) -> None:
    code, output = start_pytest(lake, "--scrub-catalog", "scrub.yaml", "--collect-only", "-q")
    assert code == 0
    assert output.splitlines()[:3] == [
        "scrub.yaml::orders::index by_customer",
        "scrub.yaml::orders::index by_status",
        "scrub.yaml::gate",
    ]
    assert "3 tests collected" in output
    assert not (lake / "runs").exists(), "to collect is not to check"


@pytest.mark.parametrize(
    ("found", "code", "ended"),
    [
        ("clean", 0, {"passed": 3}),
        ("defective", 1, {"failed": 2, "passed": 1}),
        ("incomplete", 1, {"passed": 1, "errors": 2}),
        ("skipped", 1, {"passed": 1, "skipped": 1, "error": 1}),
        ("left_out", 1, {"passed": 1, "errors": 2}),
        ("unreachable", 1, {"errors": 3}),
    ],
)
def test_what_is_found_is_how_the_tests_end(
    lake: Path, found: str, code: int, ended: dict[str, int]
) -> None:
    returned, output = run_pytest(lake, "--scrub-catalog", "scrub.yaml", "-ra", found=found)
    assert returned == code, output
    assert ended.items() <= counts(output).items(), output
    assert (lake / "runs").read_text() == "run\n", "one check serves all tests"
    assert "Traceback" not in output
    if found in ("incomplete", "skipped"):
        assert "there is a reason" in output
    if found == "defective":
        assert "wrong_stored_value at id=17" in output
        assert "status='paid'" in output


@pytest.mark.parametrize(
    ("found", "how", "code", "ended", "told"),
    [
        ("defective", "known", 0, {"passed": 3}, "nothing fails the gate: 1 known"),
        ("defective", "waived", 0, {"passed": 3}, "by ann: old import"),
        ("defective", "expired", 1, {"failed": 2, "passed": 1}, "whose waiver expired on"),
        ("skipped", "not required", 0, {"passed": 2, "skipped": 1}, "there is a reason"),
        ("incomplete", "not required", 1, {"passed": 1, "errors": 2}, "there is a reason"),
    ],
)
def test_the_gates_verdict_is_how_the_tests_end(
    lake: Path, found: str, how: str, code: int, ended: dict[str, int], told: str
) -> None:
    accept(lake, how)
    returned, output = run_pytest(lake, "--scrub-catalog", "scrub.yaml", "-rA", found=found)
    assert returned == code, output
    assert ended.items() <= counts(output).items(), output
    assert told in output


def test_a_damaged_baseline_is_an_error_of_every_test(lake: Path) -> None:
    (lake / "scrub-baseline.jsonl").write_text("<<<<<<< ours\n")
    code, output = run_pytest(lake, "--scrub-catalog", "scrub.yaml")
    assert (code, counts(output)["errors"]) == (1, 3)
    assert "scrub-baseline.jsonl:1: a merge conflict is left in the baseline" in output
    assert not (lake / "runs").exists(), "nothing is checked before it is repaired"


def test_redacted_failures_show_no_values(lake: Path) -> None:
    _, output = run_pytest(
        lake, "--scrub-catalog", "scrub.yaml", "--scrub-redact", found="defective"
    )
    assert "wrong_stored_value at id=17" in output
    assert "paid" not in output


@pytest.mark.parametrize("dist", ["loadgroup", "load", "each"])
@pytest.mark.parametrize("found", ["clean", "unreachable"])
def test_all_workers_of_xdist_share_one_check(
    lake: Path, dist: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lake / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(lake / "temporary"))
    lists = ["--scrub-catalog", "scrub.yaml", "-n", "2", "--dist", dist]
    code, output = run_pytest(lake, *lists, found=found)
    assert code == (0 if found == "clean" else 1), output
    assert (lake / "runs").read_text() == "run\n"
    left = [path.name for path in (lake / "temporary").iterdir()]
    assert not [name for name in left if name.startswith("scrub")]


def test_all_tests_are_of_one_group(lake: Path) -> None:
    (lake / "conftest.py").write_text(
        "def pytest_collection_finish(session):\n"
        "    for item in session.items:\n"
        "        print('groups', [mark.args for mark in item.iter_markers('xdist_group')])\n"
    )
    _, output = run_pytest(lake, "--scrub-catalog", "scrub.yaml", "--collect-only", "-s")
    assert output.count("groups [('scrub',)]") == 3


def test_k_selects_among_them(lake: Path) -> None:
    code, output = run_pytest(lake, "--scrub-catalog", "scrub.yaml", "-k", "by_status")
    assert code == 0
    assert counts(output)["passed"] == 1
    assert counts(output)["deselected"] == 2


@pytest.mark.parametrize("arguments", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_mistake_in_the_catalog_ends_the_run_at_once(
    lake: Path, arguments: Sequence[str]
) -> None:
    (lake / "scrub.yaml").write_text("version: 1\ntables: {}\n")
    code, output = run_pytest(lake, "--scrub-catalog", "scrub.yaml", *arguments)
    assert code == 4
    assert "stores" in output
    assert "Traceback" not in output
    assert "INTERNALERROR" not in output


def test_without_the_option_nothing_heavy_is_imported(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        f"def test_it():\n    assert not [name for name in {HEAVY!r} if name in sys.modules]\n"
        f"    assert {PLUGIN!r} in sys.modules\n"
    )
    code, output = start_pytest(tmp_path, "-p", "no:hypothesispytest")
    assert code == 0, output


def test_the_package_declares_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    # The name is the module's, so that `-p` and the entry point do not register it twice.
    assert project["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}
