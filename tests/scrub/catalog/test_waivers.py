# SPDX-License-Identifier: Apache-2.0
"""Waivers and the `gate:` of a catalog: what is read, and mistakes that need no data to be seen."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from scrub.catalog import Catalog, load_catalog
from scrub.catalog.waivers import load_waivers
from scrub.errors import CatalogError, UsageError
from scrub.model.defect import DefectKind
from scrub.model.gate import GateRule, Requirement, Severity, Threshold
from tests.scrub.cli.exit_codes import exit_code

HEAD = """\
version: 1
stores:
  lake: {kind: delta, path: .}
tables:
  orders:
    store: lake
    columns: {id: {type: bigint}, email: {type: string}, amount: {type: int}}
    primary_key: [id]
    checks: {positive: amount >= 0}
    indexes: {by_email: {columns: [email]}}
"""
FIRST = HEAD.count("\n") + 1
TODAY = date(2026, 11, 18)
GOOD = "reason: old import, by: ann, until: 2027-02-28"


def catalog_of(tmp_path: Path, more: str = "") -> Catalog:
    path = tmp_path / "scrub.yaml"
    path.write_text(HEAD + more, encoding="utf-8")
    return load_catalog(path)


def waivers_of(tmp_path: Path, *items: str):
    lines = "".join(f"  - {item}\n" for item in items)
    (tmp_path / "scrub-waivers.yaml").write_text(f"version: 1\nwaivers:\n{lines}")
    return load_waivers(catalog_of(tmp_path), TODAY)


def test_waivers_of_one_and_of_several_defects(tmp_path: Path) -> None:
    one, several = waivers_of(
        tmp_path,
        f"{{id: 00112233445566ff, {GOOD}}}",
        f"{{table: orders, constraint: positive, kind: check_violation, at_most: 5, {GOOD}}}",
    )
    assert (one.id, one.reason, one.by, one.line) == ("00112233445566ff", "old import", "ann", 3)
    assert one.until == date(2027, 2, 28)
    assert (several.table, several.constraint, several.at_most) == ("orders", "positive", 5)
    assert several.kind is DefectKind.CHECK_VIOLATION


@pytest.mark.parametrize(
    ("waiver", "message", "hint"),
    [
        ("{id: 00112233445566ff, by: ann, until: 2027-02-28}", "has no 'reason'", "reason: TEXT"),
        ("{id: 00112233445566ff, reason: '', by: a, until: 2027-02-28}", "is empty", ""),
        ("{id: 00112233445566ff, reason: r, until: 2027-02-28}", "has no 'by'", "by: NAME"),
        ("{id: 00112233445566ff, reason: r, by: a}", "has no 'until'", "YYYY-MM-DD"),
        (
            "{id: 00112233445566ff, reason: r, by: a, until: 2027-02-30}",
            "'2027-02-30' is not a date",
            "until: YYYY-MM-DD",
        ),
        ("{id: 00112233445566ff, reason: r, by: a, until: soon}", "'soon' is not a date", ""),
        (
            "{id: 00112233445566ff, reason: r, by: a, until: 2027-11-19}",
            "ends at most a year from now",
            "write 2027-11-18 or earlier",
        ),
        (f"{{id: 17, {GOOD}}}", "'17' is not the id of a defect", "16 of the characters"),
        (f"{{{GOOD}}}", "names no defect", "id: ..."),
        (f"{{table: orders, {GOOD}}}", "has no 'at_most'", "at_most: N"),
        (f"{{table: orders, at_most: 100001, {GOOD}}}", "is of at most 100,000", "build the"),
        (f"{{table: orders, at_most: 1e3, {GOOD}}}", "'1e3' is not a number of defects", ""),
        (f"{{table: orders, at_most: ٣, {GOOD}}}", "'٣' is not a number of defects", ""),
        (f"{{table: orders, at_most: {'9' * 5000}, {GOOD}}}", "is not a number of defects", ""),
        (f"{{table: orders, index: , at_most: 1, {GOOD}}}", "'index' of the waiver is empty", ""),
        (f"{{table: orders, kind: ~, at_most: 1, {GOOD}}}", "'kind' of the waiver is empty", ""),
        (f"{{table: orders, at_most: 1, at_most: 9, {GOOD}}}", "'at_most' comes twice", ""),
        (f"{{table: orders, at_most: 1, <<: {{at_most: 9}}, {GOOD}}}", "merge keys", "repeat"),
        (
            f"{{table: orders, content: 00112233445566ff, at_most: 1, {GOOD}}}",
            "a waiver of several defects has no 'content'",
            "",
        ),
        (
            f"{{id: 00112233445566ff, content: abc, {GOOD}}}",
            "'abc' is not the content of a defect",
            "copy it from a report",
        ),
        (
            "{id: 00112233445566ff, reason: r, by: a, until: 2027-02-28T23:00:00-11:00}",
            "is not a date",
            "until: YYYY-MM-DD",
        ),
        (
            "{id: 00112233445566ff, reason: r, by: a, until: 2027-W08-7}",
            "'2027-W08-7' is not a date",
            "",
        ),
        (f"{{table: orders, at_most: 0, {GOOD}}}", "'0' is not a number of defects", ""),
        (f"{{table: oders, at_most: 1, {GOOD}}}", "no table 'oders'", "did you mean orders?"),
        (
            f"{{table: orders, index: by_mail, at_most: 1, {GOOD}}}",
            "no index 'by_mail'",
            "by_email",
        ),
        (f"{{table: orders, constraint: x, at_most: 1, {GOOD}}}", "no constraint 'x'", ""),
        (f"{{table: orders, kind: missing, at_most: 1, {GOOD}}}", "no kind 'missing'", ""),
        (f"{{index: by_email, at_most: 1, {GOOD}}}", "'index' is given without 'table'", ""),
        (
            f"{{id: 00112233445566ff, table: orders, {GOOD}}}",
            "a waiver with an id has no 'table'",
            "",
        ),
        (f"{{id: 00112233445566ff, untill: x, {GOOD}}}", "unknown key 'untill'", "until"),
        (f"{{id: !!python/object/apply:os.getcwd [], {GOOD}}}", "must be a single value", ""),
    ],
)
def test_a_mistake_in_a_waiver_is_named_with_file_and_line(
    tmp_path: Path, waiver: str, message: str, hint: str
) -> None:
    with pytest.raises(CatalogError) as error:
        waivers_of(tmp_path, f"{{id: 00112233445566ff, {GOOD}}}", waiver)
    assert str(error.value).startswith(f"{tmp_path}/scrub-waivers.yaml:4: ")
    assert any(
        message in mistake.message and hint in (mistake.hint or "")
        for mistake in error.value.mistakes
    ), error.value


@pytest.mark.parametrize(
    ("today", "latest"),
    [
        (date(2026, 11, 18), date(2027, 11, 18)),
        (date(2027, 3, 1), date(2028, 3, 1)),
        (date(2028, 2, 29), date(2029, 2, 28)),
    ],
)
def test_a_waiver_ends_at_most_a_year_away(tmp_path: Path, today: date, latest: date) -> None:
    catalog = catalog_of(tmp_path)
    file = tmp_path / "scrub-waivers.yaml"
    waiver = "version: 1\nwaivers: [{id: 00112233445566ff, reason: r, by: a, until: %s}]\n"
    file.write_text(waiver % latest)
    assert load_waivers(catalog, today)[0].until == latest
    file.write_text(waiver % (latest + timedelta(days=1)))
    with pytest.raises(CatalogError, match="ends at most a year from now"):
        load_waivers(catalog, today)


def test_an_alias_waives_no_more_than_what_it_repeats(tmp_path: Path) -> None:
    (one,) = waivers_of(tmp_path, f"&a {{table: orders, at_most: 1, {GOOD}}}", "*a")
    assert one.at_most == 1


def test_the_usual_file_may_be_absent_and_a_named_one_not(tmp_path: Path) -> None:
    assert load_waivers(catalog_of(tmp_path)) == ()
    with pytest.raises(UsageError, match=r"there is no file of waivers .*/mine\.yaml"):
        load_waivers(catalog_of(tmp_path, "waivers: mine.yaml\n"))


def test_a_gate_is_read(tmp_path: Path) -> None:
    gate = catalog_of(
        tmp_path,
        "gate:\n"
        "  max_age: 90m\n"
        "  require: [physical, {table: orders, index: by_email},\n"
        "            {table: orders, constraint: positive}]\n"
        "  rules:\n"
        "    - {table: orders, kind: missing_secondary_index, fail_above: 2.5 per million,"
        " warn_above: 0, severity: warning}\n",
    ).gate
    assert gate.max_age == timedelta(minutes=90)
    assert gate.require == (
        Requirement(check="physical"),
        Requirement(check="index", table="orders", index="by_email"),
        Requirement(check="constraint", table="orders", constraint="positive"),
    )
    assert gate.rules == (
        GateRule(
            table="orders",
            kind=DefectKind.MISSING,
            fail_above=Threshold(2.5, per_million=True),
            warn_above=Threshold(0),
            severity=Severity.WARNING,
            line=FIRST + 5,
        ),
    )


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("{rulez: []}", "unknown key 'rulez' in 'gate'"),
        ("{max_age: tomorrow}", "'tomorrow' is not a duration"),
        ("{max_age: 0h}", "'0h' is not a duration"),
        ("{require: [indices]}", "there is no check 'indices'"),
        ("{require: []}", "requires nothing"),
        ("{require: [{index: by_email}]}", "'index' is given without 'table'"),
        ("{require: [{table: orders, check: physical, index: by_email}]}", "looks at whole tables"),
        ("{rules: [{table: orders}]}", "says nothing about its defects"),
        ("{rules: [{table: oders, fail_above: 1}]}", "there is no table 'oders'"),
        ("{rules: [{fail_above: -1}]}", "'-1' is not a number of defects"),
        ("{rules: [{fail_above: 1.5}]}", "'1.5' is not a number of defects"),
        ("{rules: [{fail_above: 1 percent}]}", "'1 percent' is not a number of defects"),
        ("{rules: [{severity: fatal}]}", "cannot be 'fatal'"),
        ("{rules: [{fail_over: 1}]}", "unknown key 'fail_over'"),
    ],
)
def test_a_mistake_in_a_gate_is_named_with_its_line(
    tmp_path: Path, gate: str, message: str
) -> None:
    with pytest.raises(CatalogError) as error:
        catalog_of(tmp_path, f"gate: {gate}\n")
    assert any(message in m.message and m.line == FIRST for m in error.value.mistakes), error.value


def test_validate_looks_into_the_file_of_waivers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog_of(tmp_path)
    monkeypatch.chdir(tmp_path)
    waivers = tmp_path / "scrub-waivers.yaml"
    until = date.today() + timedelta(days=30)
    waiver = "version: 1\nwaivers:\n- {table: orders, at_most: 1, reason: r, by: a, until: %s}\n"
    waivers.write_text(waiver % until)
    assert exit_code("catalog", "validate") == 0
    assert "1 table, 1 index, 1 waiver, no mistakes" in capsys.readouterr().out
    waivers.write_text(waiver % "31.12.2026")
    assert exit_code("catalog", "validate") == 2
    assert "scrub-waivers.yaml:3: '31.12.2026' is not a date" in capsys.readouterr().err
