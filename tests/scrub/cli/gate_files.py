# SPDX-License-Identifier: Apache-2.0
"""A folder in which `scrub gate` judges results that were written down: no JVM is needed."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reports import as_jsonl
from scrub.catalog import load_catalog
from scrub.model.defect import Defect
from scrub.model.definition import definition_of
from scrub.model.result import RunResult
from tests.scrub.app.gating.gate_ground import a_defect, a_result, an_outcome
from tests.scrub.cli.exit_codes import exit_code
from tests.scrub.cli.small_lake import described, write_catalog

SEVERAL = tuple(a_defect(number) for number in range(3))


@dataclass
class Ground:
    """A folder with a catalog, in which results can be judged."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    @property
    def baseline(self) -> Path:
        return self.folder / "scrub-baseline.jsonl"

    def result(self, *defects: Defect, **more: Any) -> RunResult:
        tables = load_catalog(self.folder / "scrub.yaml").tables
        outcomes = [an_outcome(name, *defects) for name in ("by_customer", "by_status")]
        facts: dict[str, Any] = {
            "definitions": {name: definition_of(table) for name, table in tables.items()},
            "started_at": datetime.now(UTC) - timedelta(hours=1),
        }
        return a_result(outcomes, *defects, **(facts | more))

    def write(self, result: RunResult, redact: bool = False) -> Path:
        path = self.folder / "result.jsonl"
        path.write_text(as_jsonl.render(result, redact=redact))
        return path

    def gate(self, *arguments: str) -> tuple[int, str, str]:
        code = exit_code("gate", "--from", "result.jsonl", *arguments)
        told = self.capsys.readouterr()
        return code, told.out, told.err

    def judge(self, *defects: Defect, **more: Any) -> tuple[int, dict[str, Any]]:
        self.write(self.result(*defects, **more))
        code, out, _ = self.gate("--format", "json")
        return code, json.loads(out)


@pytest.fixture
def ground(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Ground:
    write_catalog(tmp_path, orders=described())
    monkeypatch.chdir(tmp_path)
    return Ground(tmp_path, capsys)
