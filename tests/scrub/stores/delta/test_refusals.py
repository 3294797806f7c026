# SPDX-License-Identifier: Apache-2.0
"""Delta tables that would be read wrong, or cannot be read: refused by name, never in silence."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from scrub.errors import RelationMismatch, SparkUnavailable, StoreUnavailable
from scrub.stores.unreadable import UnreadableSplit
from tests.scrub.stores.delta import delta_tables as delta
from tests.scrub.stores.delta.test_store import five_versions, ids, pin, store


def no_spark() -> Any:
    raise SparkUnavailable("no Java here")


@pytest.mark.parametrize("name", delta.REFUSED)
def test_what_would_be_read_wrong_is_refused_by_name(tmp_path: Path, name: str) -> None:
    delta.with_edits(tmp_path, delta.REFUSED[name])
    with pytest.raises(RelationMismatch, match=name) as caught:
        store(tmp_path).pin("t", None, no_spark, ())
    assert caught.value.hint is not None
    assert "delta source" in caught.value.hint


@pytest.mark.parametrize(
    "features",
    [
        ("deletionVectors",),
        ("columnMapping",),
        ("typeWidening", "v2Checkpoint", "timestampNtz", "vacuumProtocolCheck"),
    ],
)
def test_features_that_change_nothing_here_are_read(
    tmp_path: Path, features: Sequence[str]
) -> None:
    delta.with_edits(tmp_path, [delta.feature(*features)])
    facts = pin(tmp_path)
    assert facts.native
    assert ids(facts) == [1]


def test_a_file_that_is_gone_shows_up_when_it_is_read(tmp_path: Path) -> None:
    five_versions(tmp_path)
    Path(pin(tmp_path).splits[2].uri).unlink()
    facts = pin(tmp_path)
    assert len(facts.splits) == 5
    with pytest.raises(UnreadableSplit, match="the file is gone"):
        ids(facts)


def break_log(table: Path, how: str) -> None:
    match how:
        case "gap":
            delta.commit(table, 2).unlink()
        case "corrupt":
            delta.commit(table, 2).write_text("{bad")
        case "empty":
            delta.commit(table, 2).write_text("")
        case "beginning gone":
            delta.commit(table, 0).unlink()
        case "checkpoint cut off":
            DeltaTable(str(table)).create_checkpoint()
            checkpoint = next((table / "_delta_log").glob("*.checkpoint.parquet"))
            checkpoint.write_bytes(checkpoint.read_bytes()[:100])
            for version in range(5):
                delta.commit(table, version).unlink()


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("gap", "commit 2 is missing"),
        ("corrupt", "Json error"),
        ("empty", "00000000000000000002.json is empty"),
        ("beginning gone", "commit 0 is missing"),
        ("checkpoint cut off", "Parquet"),
    ],
)
def test_a_broken_log_tells_nothing(tmp_path: Path, how: str, says: str) -> None:
    five_versions(tmp_path)
    break_log(tmp_path / "t", how)
    with pytest.raises(StoreUnavailable, match=says):
        pin(tmp_path)


def test_a_missing_table_names_what_is_there(tmp_path: Path) -> None:
    delta.write(tmp_path / "orders", id=[1])
    (tmp_path / "not a table").mkdir()
    for relation, hint in (("order", "did you mean orders?"), ("x", "known Delta tables: orders")):
        with pytest.raises(RelationMismatch, match="no Delta table") as caught:
            pin(tmp_path, relation=relation)
        assert caught.value.hint == hint
    with pytest.raises(StoreUnavailable, match="no directory"):
        pin(tmp_path / "nowhere")


AS_NOBODY = """
import os, sys, deltalake
from pathlib import Path
from scrub.errors import ScrubError
from scrub.stores.unreadable import UnreadableSplit
from tests.scrub.stores.delta import test_store as reader
os.setuid(65534)
try:
    reader.ids(reader.pin(Path(sys.argv[1])))
except (ScrubError, UnreadableSplit) as error:
    print(f"{type(error).__name__}: {error}")
"""


def as_nobody(lake: Path) -> str:
    """What reading raises for a user without rights; root may read everything."""
    command = [sys.executable, "-c", AS_NOBODY, str(lake)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path.cwd())
    return run.stdout.strip()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_no_permission(tmp_path: Path) -> None:
    five_versions(tmp_path)
    for directory in (tmp_path, *tmp_path.parents[:-2]):
        directory.chmod(0o755)
    facts = pin(tmp_path)
    Path(facts.splits[0].uri).chmod(0)
    assert as_nobody(tmp_path) == (
        f"UnreadableSplit: {facts.splits[0].uri}: no permission to read the file"
    )
    (tmp_path / "t/_delta_log").chmod(0)
    assert as_nobody(tmp_path).startswith("StoreUnavailable: Delta log of t:")
    (tmp_path / "t").chmod(0)
    assert as_nobody(tmp_path).startswith("StoreUnavailable: Delta log of t:")
