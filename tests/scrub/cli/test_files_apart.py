# SPDX-License-Identifier: Apache-2.0
"""No report replaces a file that the same command reads, or writes."""

from pathlib import Path

import pytest

from tests.scrub.cli.exit_codes import exit_code
from tests.scrub.cli.gate_files import SEVERAL, Ground, ground

__all__ = ["ground"]  # a fixture

GATE = ["gate", "--from", "result.jsonl", "--write-baseline"]
CHECK = ["check", "table", "orders"]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ([*GATE, "--output", "scrub-baseline.jsonl"], "the baseline"),
        ([*GATE, "--baseline", "mine.jsonl", "--output", "./mine.jsonl"], "the baseline"),
        ([*GATE, "--output", "link.jsonl"], "the result of --from"),
        ([*GATE, "--output", "scrub.yaml"], "the catalog"),
        ([*GATE, "--output", "scrub-waivers.yaml"], "the waivers"),
        ([*CHECK, "--output", "scrub.yaml"], "the catalog"),
        ([*CHECK, "--all-defects", "scrub.yaml"], "the catalog"),
        ([*CHECK, "--output", "all.jsonl", "--all-defects", "all.jsonl"], "--output"),
        (["gx", "export", "orders", "--output", "scrub.yaml"], "the catalog"),
    ],
)
def test_nothing_is_written_over_what_is_read_or_written(
    arguments: list[str], what: str, ground: Ground
) -> None:
    ground.write(ground.result(*SEVERAL))
    (ground.folder / "link.jsonl").symlink_to("result.jsonl")
    before = {path: path.read_bytes() for path in ground.folder.rglob("*") if path.is_file()}
    assert exit_code(*arguments) == 2
    told = ground.capsys.readouterr()
    assert f"which is {what}" in told.err
    assert not told.out
    after = {path: path.read_bytes() for path in ground.folder.rglob("*") if path.is_file()}
    assert after == before


def test_a_device_may_take_everything(ground: Ground) -> None:
    ground.write(ground.result())
    assert exit_code(*GATE, "--output", "/dev/null", "--baseline", "other.jsonl") == 0
    assert Path("other.jsonl").is_file()
