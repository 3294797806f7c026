# SPDX-License-Identifier: Apache-2.0
"""The gate's table of cases, whole: how defects stand times how much was looked at."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pytest

from scrub.app.gating import Grounds, judge
from scrub.model.defect import Defect
from scrub.model.gate import GatePolicy, GateRule, Standing, Threshold
from scrub.model.result import RunResult, Status
from tests.scrub.app.gating.gate_ground import (
    a_baseline,
    a_defect,
    a_result,
    a_waiver,
    an_outcome,
    complete,
    grounds,
)

FOUND = a_defect()
ABOVE_FIVE = GateRule(table="orders", fail_above=Threshold(5), line=31)
NOTHING_FAILS = "nothing fails the gate: "


@dataclass(frozen=True)
class Case:
    """What is found and known; the code of a whole look, and the line that says why."""

    defects: tuple[Defect, ...]
    grounds: Grounds
    code: int
    line: str
    standing: Standing | None
    warning: str = ""


CASES: Mapping[str, Case] = {
    "new": Case(
        (FOUND,),
        grounds(a_baseline()),
        1,
        "orders.by_customer: 1 new wrong_stored_value",
        Standing.NEW,
    ),
    "changed": Case(
        (FOUND,),
        grounds(a_baseline(a_defect(status="sent")), [a_waiver(id=FOUND.id)]),
        1,
        "orders.by_customer: 1 changed wrong_stored_value",
        Standing.CHANGED,
    ),
    "known": Case(
        (FOUND,), grounds(a_baseline(FOUND)), 0, f"{NOTHING_FAILS}1 known", Standing.KNOWN
    ),
    "waived": Case(
        (FOUND,),
        grounds(waivers=[a_waiver(id=FOUND.id)]),
        0,
        f"{NOTHING_FAILS}1 waived",
        Standing.WAIVED,
    ),
    "waiver expired": Case(
        (FOUND,),
        grounds(a_baseline(FOUND), [a_waiver(id=FOUND.id, days=-1)]),
        1,
        "orders.by_customer: 1 new wrong_stored_value, whose waiver expired on 2026-11-17 "
        "(scrub-waivers.yaml:3, by ann)",
        Standing.NEW,
        "scrub-waivers.yaml:3: the waiver by ann expired on 2026-11-17 and waives nothing",
    ),
    "waiver unmatched": Case(
        (FOUND,),
        grounds(a_baseline(FOUND), [a_waiver(table="orders", index="by_email", at_most=9)]),
        0,
        f"{NOTHING_FAILS}1 known",
        Standing.KNOWN,
        "scrub-waivers.yaml:3: the waiver by ann matches no defect",
    ),
    "under threshold": Case(
        tuple(a_defect(number) for number in range(5)),
        grounds(policy=GatePolicy(rules=(ABOVE_FIVE,))),
        0,
        f"{NOTHING_FAILS}5 new",
        Standing.NEW,
        "orders.by_customer: 5 new wrong_stored_value, not above fail_above: 5 (scrub.yaml:31)",
    ),
    "over threshold": Case(
        tuple(a_defect(number) for number in range(6)),
        grounds(policy=GatePolicy(rules=(ABOVE_FIVE,))),
        1,
        "orders.by_customer: 6 new wrong_stored_value; together 6, above fail_above: 5 "
        "(scrub.yaml:31)",
        Standing.NEW,
    ),
    "gone": Case(
        (),
        grounds(a_baseline(FOUND)),
        0,
        f"{NOTHING_FAILS}no defects",
        None,
        "1 defect of the baseline is gone; --prune drops it",
    ),
}


def incomplete(*defects: Defect) -> RunResult:
    """A file of the index in which the defects are could not be read."""
    reason = "1 of 4 parts was not read"
    status = Status.DEFECTIVE if defects else Status.INCOMPLETE
    outcomes = [
        an_outcome("by_customer", *defects, reason=reason, status=status),
        an_outcome("by_email"),
    ]
    return a_result(outcomes, *defects)


def skipped(*defects: Defect) -> RunResult:
    """A required index was not looked at."""
    reason = "--where needs a column that by_email has not"
    outcomes = [
        an_outcome("by_customer", *defects),
        an_outcome("by_email", status=Status.NOT_APPLICABLE, reason=reason, rows=None),
    ]
    return a_result(outcomes, *defects)


def nothing(*_: Defect) -> RunResult:
    return a_result([])


LOOKS: Mapping[str, tuple[Callable[..., RunResult], str]] = {
    "complete": (complete, ""),
    "incomplete": (
        incomplete,
        "not covered: orders.by_customer was not looked at in full: 1 of 4 parts was not read",
    ),
    "required index skipped": (
        skipped,
        "not covered: orders.by_email was not looked at: --where needs a column that by_email has "
        "not",
    ),
    "nothing looked at": (nothing, "not covered: nothing was looked at"),
}


@pytest.mark.parametrize(("case", "look"), list(product(CASES, LOOKS)))
def test_every_case_has_its_code_and_the_line_that_says_why(case: str, look: str) -> None:
    of, (look_at, gap) = CASES[case], LOOKS[look]
    sees = look != "nothing looked at"
    verdict = judge(look_at(*of.defects), of.grounds)
    code = of.code if sees else 0
    if code == 0 and gap:
        code = 3
    assert verdict.exit_code == code
    if code == 1 or not gap:
        assert verdict.reasons[0] == of.line
    if gap:
        assert gap in verdict.reasons
        assert verdict.missing
    assert {judged.standing for judged in verdict.defects} == ({of.standing} if sees else set()) - {
        None
    }
    if of.standing is not None and sees:
        assert verdict.counts[of.standing] == len(of.defects)
    is_told = any(warning.startswith(of.warning) for warning in verdict.warnings)
    looked = look in ("complete", "required index skipped")
    if of.warning and (looked if case == "gone" else sees):
        assert is_told, verdict.warnings
    if case == "gone":
        gone = 1 if looked else 0
        assert (verdict.counts[Standing.GONE], len(verdict.gone)) == (gone, gone)


def test_half_a_look_is_never_clean_even_if_nobody_requires_it() -> None:
    half = replace(an_outcome("by_email"), undecided=2, status=Status.INCOMPLETE)
    result = a_result([an_outcome("by_customer"), half])
    verdict = judge(result, grounds(required=()))
    assert verdict.exit_code == 3
    assert verdict.missing == ("orders.by_email has 2 undecided differences",)


def test_where_is_no_whole_look() -> None:
    verdict = judge(complete(where="id > 5"), grounds(a_baseline(FOUND)))
    assert verdict.exit_code == 3
    assert verdict.missing == ("only rows for which id > 5 were looked at (--where)",)
    assert not verdict.gone


def documented() -> dict[str, list[int]]:
    """The codes of docs/gate.md, by the first cell of their row."""
    page = (Path(__file__).parents[4] / "docs" / "gate.md").read_text(encoding="utf-8")
    table = page.partition("| what was found | complete |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    return {row[0]: [int(code) for code in row[1:]] for row in rows}


def test_the_documentation_has_every_case() -> None:
    names = {
        "new": "new, or changed",
        "changed": "new, or changed",
        "known": "known, or waived",
        "waived": "known, or waived",
        "waiver expired": "waived, but expired",
        "waiver unmatched": "a waiver matches nothing",
        "under threshold": "not above a threshold",
        "over threshold": "above a threshold",
        "gone": "gone",
    }
    codes = {
        names[name]: [
            judge(look(*case.defects), case.grounds).exit_code for look, _ in LOOKS.values()
        ]
        for name, case in CASES.items()
    }
    assert documented() == codes
