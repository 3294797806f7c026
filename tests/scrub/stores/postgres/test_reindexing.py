# SPDX-License-Identifier: Apache-2.0
"""Own indexes are rebuilt only by stores that declare it, with one text of the statement."""

from pathlib import Path

import checks
import repair
import reports
import scrub
from scrub.stores.delta.repairs import DeltaRepairs
from scrub.stores.postgres.repairs.index_repairs import PostgresRepairs
from scrub.stores.repairing import ReindexingStore


def test_the_protocol_says_which_stores_can_reindex() -> None:
    assert issubclass(PostgresRepairs, ReindexingStore)
    assert not issubclass(DeltaRepairs, ReindexingStore)


def test_the_reindex_statement_is_made_in_one_place() -> None:
    folders = [Path(package.__file__ or "").parent for package in (scrub, repair, reports, checks)]
    files = [file for folder in folders for file in folder.rglob("*.py")]
    made = [file.name for file in files if 'f"REINDEX' in file.read_text(encoding="utf-8")]
    assert made == ["reindexing.py"]
