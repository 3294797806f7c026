# SPDX-License-Identifier: Apache-2.0
"""`scrub backfill verify` decides by the code of the gate, in every store and format."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from reports import FORMATS
from tests.reports.results import RESULTS
from tests.scrub.cli.exit_codes import exit_code
from tests.scrub.cli.small_lake import described

STORES = {
    "lake": {"kind": "delta", "path": "."},
    "files": {"kind": "spark", "format": "parquet", "path": "."},
    "shop": {"kind": "postgres", "url": "host=nowhere", "schema": "public"},
}
INDEXES = {
    "by_customer": {"columns": ["customer_id"], "storing": ["status"]},
    "by_email": {"columns": ["status"]},
}
Verify = Callable[..., int]


@pytest.fixture
def verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Verify:
    monkeypatch.chdir(tmp_path)

    def run(found: str, *arguments: str, store: str = "lake") -> int:
        result = RESULTS[found]()
        monkeypatch.setattr("scrub.app.building.verbs.run_check", lambda *_, **__: result)
        tables = {"orders": described(store, INDEXES)}
        catalog = {"version": 1, "stores": STORES, "tables": tables}
        (tmp_path / "scrub.yaml").write_text(json.dumps(catalog))
        return exit_code("backfill", "verify", "orders", "by_customer", "by_email", *arguments)

    return run


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(
    ("found", "code"),
    [
        ("clean", 0),
        ("defective", 1),
        ("incomplete", 3),
        ("defective_and_incomplete", 1),
        ("nothing", 3),
        ("no_index", 3),
        ("unnamed", 1),
    ],
)
def test_the_exit_code_is_the_same_for_every_store(
    verify: Verify, found: str, code: int, store: str
) -> None:
    assert verify(found, store=store) == code


def test_what_is_known_or_waived_elsewhere_counts_here(
    verify: Verify, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An index that nobody uses yet has no old defects, and is not judged by files of the gate."""
    waiver = "{table: orders, at_most: 99, reason: r, by: a, until: 2027-01-01}"
    (tmp_path / "scrub-waivers.yaml").write_text(f"version: 1\nwaivers: [{waiver}]\n")
    assert verify("defective") == 1
    assert "new" in capsys.readouterr().out


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_redacted(
    verify: Verify, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verify("defective", "--format", name) == 1
    whole = capsys.readouterr().out
    assert verify("defective", "--format", name, "--redact") == 1
    redacted = capsys.readouterr().out
    assert "'paid'" in whole or '"paid"' in whole
    assert "paid" not in redacted
    assert "17" in redacted
