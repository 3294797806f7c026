# SPDX-License-Identifier: Apache-2.0
"""Every check is declared in one place, and every kind of defect has a check that finds it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from checks import registry
from checks.physical_check import PhysicalCheck
from checks.registry import CHECKS, INDEX, PHYSICAL, checks_of
from scrub.app.checking.table_results import with_unanswered
from scrub.cli.check import check as check_command
from scrub.model.defect import CONSTRAINT_KINDS, INDEX_KINDS, PHYSICAL_KINDS, DefectKind
from scrub.model.request import CheckRequest
from scrub.model.result import CheckOutcome, Status, TableResult
from tests.checks.plans import a_plan


def test_every_kind_of_defect_has_a_check_that_finds_it() -> None:
    found = {kind for check in CHECKS for kind in check.finds}
    assert found == set(DefectKind)


def test_every_kind_of_defect_is_of_one_family() -> None:
    kinds = [*INDEX_KINDS, *PHYSICAL_KINDS, *CONSTRAINT_KINDS]
    assert sorted(kinds) == sorted(DefectKind)


def test_names_are_unique_and_docstrings_are_one_sentence() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    for check in CHECKS:
        assert check.__doc__ is not None
        assert check.__doc__.count(".") == 1


def test_every_check_is_named_in_the_help_and_in_the_docs() -> None:
    shown = CliRunner().invoke(check_command, ["table", "--help"]).output
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text("utf-8")
    for check in CHECKS:
        assert check.name in shown
        assert f"`{check.name}`" in page


@pytest.mark.parametrize(
    ("asked", "expected"),
    [((), (INDEX,)), (("physical", "index"), (PHYSICAL, INDEX)), (("physical",), (PHYSICAL,))],
)
def test_checks_of_whole_tables_come_first(asked: tuple[str, ...], expected: object) -> None:
    (plan,) = a_plan("by_customer").tables
    assert checks_of(CheckRequest(checks=asked), plan.table) == expected


def test_a_check_reads_the_columns_it_needs() -> None:
    (plan,) = a_plan("by_customer").tables
    table = plan.table
    assert INDEX.columns(table, ()) == ()
    assert INDEX.columns(table, table.indexes) == ("id", "customer")
    assert PHYSICAL.columns(table) == ("id", "customer")


def test_a_registered_check_that_no_stage_carries_out_is_incomplete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Forgotten(PhysicalCheck):
        """Nothing runs it."""

        name = "forgotten"

    monkeypatch.setattr(registry, "CHECKS", (*CHECKS, Forgotten()))
    table = a_plan("by_customer").tables[0].table
    clean = CheckOutcome(check="index", index="by_customer", status=Status.CLEAN)
    result = TableResult(table=table.name, snapshot="version 1", checks=(clean,))
    request = CheckRequest(checks=("index", "forgotten"))
    (answered,) = with_unanswered([result], [table], request)
    assert [(of.check, of.status) for of in answered.checks] == [
        ("index", Status.CLEAN),
        ("forgotten", Status.INCOMPLETE),
    ]
    (nothing_read,) = with_unanswered([], [table], request)
    assert {of.status for of in nothing_read.checks} == {Status.INCOMPLETE}
