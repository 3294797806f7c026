# SPDX-License-Identifier: Apache-2.0
"""The examples for CI are valid for the systems that read them, and do what they say."""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from scrub.cli import main
from tests.examples_used import tiny_lake

ROOT = Path(__file__).parent.parent
CI = ROOT / "examples" / "ci"
SCHEMAS = {
    "github-actions.yml": "vendor.github-workflows",
    "gitlab-ci.yml": "vendor.gitlab-ci",
}


def run(command: list[str], directory: Path) -> subprocess.CompletedProcess[str]:
    """What a command says in a directory, where `scrub` is that of this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
    )


def is_valid(schema: str, file: Path) -> bool:
    """By a schema that check-jsonschema brings along, so that nothing is downloaded."""
    checker = Path(sys.executable).with_name("check-jsonschema")
    regexes = ["--data-transform", "gitlab-ci"] if "gitlab" in schema else []
    command = [str(checker), "--builtin-schema", schema, *regexes, str(file)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize(("name", "schema"), SCHEMAS.items())
def test_a_pipeline_is_valid(name: str, schema: str, tmp_path: Path) -> None:
    assert is_valid(schema, CI / name)
    broken = tmp_path / name
    text = (CI / name).read_text(encoding="utf-8")
    broken.write_text(
        re.sub(r"^( +)(timeout-minutes|stage): .*$", r"\1\2: {a: b}", text, flags=re.M)
    )
    assert broken.read_text() != text
    assert not is_valid(schema, broken)


@pytest.mark.parametrize("name", [*SCHEMAS, "before_deployment.sh"])
def test_every_command_and_option_of_an_example_exists(name: str) -> None:
    text = (CI / name).read_text(encoding="utf-8")
    calls = re.findall(r"(?<![\w/-])scrub ((?:check|catalog|gate|backfill) .*)", text)
    assert calls
    for call in calls:
        words = call.split()
        command = main.COMMANDS[words[0]].load()
        commands = getattr(command, "commands", {})
        command = commands.get(words[1], command) if len(words) > 1 else command
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"(?<!\S)--[\w-]+", call)) <= known, call


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_pipeline_keeps_values_out_of_logs_and_artifacts(name: str) -> None:
    text = (CI / name).read_text(encoding="utf-8")
    gates = re.findall(r"scrub gate .*", text)
    assert len(gates) == 2
    assert all("--redact" in command for command in gates)
    (check,) = re.findall(r"scrub check .*", text)
    assert "--output result.jsonl" in check
    uploaded = [line for line in text.splitlines() if re.search(r"(_file|quality|junit): ", line)]
    assert uploaded
    assert "result.jsonl" not in "".join(uploaded)


def test_a_pipeline_fails_if_its_check_left_no_result(tmp_path: Path) -> None:
    """The exit code of the check is passed over, and that of the gate is not."""
    script = yaml.safe_load((CI / "gitlab-ci.yml").read_text())["scrub"]["script"]
    (tmp_path / "scrub.yaml").write_text("version: 1\n")
    ended = run(["bash", "-e", "-c", "\n".join(script[1:])], tmp_path)
    assert ended.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["scrub.yaml"]


def test_a_deployment_stops_before_the_check_when_the_catalog_has_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "scrub.yaml").write_text("version: 1\n")
    ended = run([str(CI / "before_deployment.sh")], tmp_path)
    assert ended.returncode == 2
    assert "deploy" not in ended.stdout
    assert not (tmp_path / "scrub-report.json").exists()


@pytest.mark.slow
@pytest.mark.spark
def test_a_deployment_stops_at_new_defects_and_goes_on_when_somebody_answers_for_them(
    tmp_path: Path,
) -> None:
    example = tiny_lake()
    catalog = example.make_lake(tmp_path / "lake")
    command = [str(CI / "before_deployment.sh"), str(catalog)]
    ended = run(command, tmp_path)
    assert ended.returncode == 1, ended.stderr
    assert "stopped: there are new defects, see scrub-report.json" in ended.stderr
    assert json.loads((tmp_path / "scrub-report.json").read_text())["defects_total"] == 4

    until = datetime.now(UTC).date() + timedelta(days=30)
    waiver = f"{{table: orders, at_most: 4, reason: old, by: ann, until: {until}}}"
    (catalog.parent / "scrub-waivers.yaml").write_text(f"version: 1\nwaivers: [{waiver}]\n")
    ended = run(command, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "deploy" in ended.stdout


@pytest.mark.slow
@pytest.mark.spark
def test_the_pytest_example_runs_the_catalogs_tests_and_its_own(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "pytest", tmp_path / "example")
    tiny_lake().make_lake(tmp_path / "example")
    plugins = ["-p", "scrub.pytest_plugin", "-p", "no:cacheprovider"]
    ended = run([sys.executable, "-m", "pytest", *plugins], tmp_path / "example")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "2 failed, 1 passed" in ended.stdout
    assert "scrub.yaml::orders::index by_customer" in ended.stdout
    assert "wrong_stored_value at id=42" in ended.stdout
