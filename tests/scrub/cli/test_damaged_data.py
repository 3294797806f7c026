# SPDX-License-Identifier: Apache-2.0
"""Data that cannot be read: named, what it could explain undecided, and all the rest still checked.

Each damage hits the file with orders 4, 5 and 6, of the table or of both its indexes. The index
`by_customer` has no other fault; `by_status` has one that is certain whatever the lost file held.
All damages are met in one run for each engine and strategy.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from reports import FORMATS
from scrub.app import run_check
from scrub.model.defect import DefectKind
from scrub.model.progress import Progress
from scrub.model.request import CheckRequest, Engine, Strategy
from scrub.model.result import EXIT_CODES, CheckOutcome, RunResult, Status, worst
from tests.scrub.cli import small_lake
from tests.scrub.cli.small_lake import BY_STATUS, INDEXES, damaged_file, described, write_orders

# Each engine and each strategy; a damaged file costs many small jobs to find, so not all mixtures.
WAYS = [(Engine.NATIVE, Strategy.FINGERPRINT), (Engine.SQL, Strategy.MERGE)]

Way = tuple[Engine, Strategy]


@dataclass(frozen=True)
class Case:
    """A damage, whom it hits, and what the report says of the file in each way of reading it."""

    store: str
    damage: small_lake.Damage
    hits_indexes: bool
    says: tuple[str, ...]
    during_the_run: bool = False

    @property
    def sure_defect(self) -> DefectKind:
        """What no unread row or entry could explain."""
        return DefectKind.DANGLING if self.hits_indexes else DefectKind.MISSING

    @property
    def by_status(self) -> pa.Table:
        """The index with that defect."""
        if self.hits_indexes:
            return small_lake.with_row(BY_STATUS, status="open", id=99)
        return small_lake.without(BY_STATUS, 1)


CASES = {
    "cut_off": Case("files", small_lake.cut_off, False, ("not a Parquet file",)),
    "not_parquet": Case("files", small_lake.not_parquet, True, ("not a Parquet file",)),
    "no_bytes": Case("files", small_lake.no_bytes, False, ("not a Parquet file", "is empty")),
    "gone": Case("lake", small_lake.gone, True, ("the file is gone",)),
    "replaced": Case("files", small_lake.replaced, False, ("bytes, but had",), True),
}


class Damaged:
    """A lake with every damage, and what runs over it find; each way is run once."""

    def __init__(self, folder: Path, spark: Any) -> None:
        self.folder, self.spark = folder, spark
        self.results: dict[Way, RunResult] = {}
        self.healthy: dict[Path, bytes] = {}  # files that are damaged while a run goes on
        tables = {name: described(case.store) for name, case in CASES.items()}
        self.catalog = small_lake.write_catalog(folder, **tables)
        for name, case in CASES.items():
            write_orders(folder / case.store, name, by_status=case.by_status)
            for file in hit_files(folder, name):
                if case.during_the_run:
                    self.healthy[file] = file.read_bytes()
                else:
                    case.damage(file)

    def check(self, way: Way) -> RunResult:
        if way not in self.results:
            for file, content in self.healthy.items():
                file.write_bytes(content)
            request = CheckRequest(catalog=self.catalog, engine=way[0], strategy=way[1])
            self.results[way] = run_check(request, spark=self.spark, on_progress=self._damage)
        return self.results[way]

    def _damage(self, progress: Progress) -> None:
        """Called when everything is pinned and nothing was read yet, and again later."""
        if progress.phase != "starting Spark":
            for file in self.healthy:
                small_lake.replaced(file)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory, spark: Any) -> Damaged:
    return Damaged(tmp_path_factory.mktemp("damaged"), spark)


def hit_files(folder: Path, name: str) -> list[Path]:
    case = CASES[name]
    relations = [f"{name}__{index}" for index in INDEXES] if case.hits_indexes else [name]
    return [damaged_file(folder / case.store / relation) for relation in relations]


def outcomes(result: RunResult, name: str) -> dict[str | None, CheckOutcome]:
    (table,) = [table for table in result.tables if table.table == name]
    return {outcome.index: outcome for outcome in table.checks}


every_way = pytest.mark.parametrize("way", WAYS, ids="-".join)
every_case = pytest.mark.parametrize("name", CASES)


@pytest.mark.spark
@every_case
@every_way
def test_the_file_is_named_and_what_it_could_explain_is_undecided(
    way: Way, name: str, damaged: Damaged
) -> None:
    outcome = outcomes(damaged.check(way), name)["by_customer"]
    assert (outcome.status, outcome.undecided, outcome.counts) == (Status.INCOMPLETE, 3, {})
    lost = 3
    rows, entries = (12, 12 - lost) if CASES[name].hits_indexes else (12 - lost, 12)
    assert (outcome.rows, outcome.entries) == (rows, entries)
    relation = f"{name}__by_customer" if CASES[name].hits_indexes else name
    file = hit_files(damaged.folder, name)[0]
    assert outcome.reason is not None
    assert f"1 of 4 parts of {relation} were not read: {file}: " in outcome.reason
    assert any(text in outcome.reason for text in CASES[name].says)
    assert EXIT_CODES[worst([outcome])] == 3


@pytest.mark.spark
@every_case
@every_way
def test_a_defect_that_nothing_unread_could_explain_is_reported(
    way: Way, name: str, damaged: Damaged
) -> None:
    outcome, kind = outcomes(damaged.check(way), name)["by_status"], CASES[name].sure_defect
    assert (outcome.status, outcome.undecided) == (Status.DEFECTIVE, 3)
    assert outcome.counts == {kind: 1}
    assert outcome.reason is not None
    order = 99 if kind is DefectKind.DANGLING else 1
    assert [
        (defect.kind, defect.index, defect.primary_key)
        for defect in damaged.check(way).defects
        if defect.table == name
    ] == [(kind, "by_status", {"id": order})]


@pytest.mark.spark
@every_way
def test_a_run_with_defects_and_unread_files_says_both(way: Way, damaged: Damaged) -> None:
    result = damaged.check(way)
    assert result.exit_code == 1
    report = FORMATS["text"](result, redact=False)
    (summary,) = [line for line in report.splitlines() if "exit code" in line]
    assert summary.startswith(f"defective and incomplete: {len(CASES)} defects in 10 checks; ")
    assert summary.endswith("exit code 1 (defects found)")
    for name in CASES:
        for index in INDEXES:
            assert f"- {name}.{index}, incomplete: 1 of 4 parts of " in report
            assert f"- {name}.{index}: 3 undecided differences" in report
