# SPDX-License-Identifier: Apache-2.0
"""Constraints and indexes as a suite: what it says, and what it admits not to say."""

import json
from pathlib import Path
from typing import Any

import pytest

from scrub.catalog import load_catalog
from scrub.cli import main
from scrub.gx.suite_export import ExportedSuite, export_suite

CATALOG = """
version: 1
stores:
  lake: {kind: delta, path: ./lake}
tables:
  customers:
    store: lake
    columns: {id: {type: bigint}, boss: {type: bigint}}
    primary_key: [id]
    foreign_keys:
      boss_of: {columns: [boss], references: customers}
  orders:
    store: lake
    columns:
      id:            {type: bigint, nullable: false}
      customer_id:   {type: bigint}
      status:        {type: string, nullable: false}
      "we`ird.{x}":  {type: string, nullable: false}
      at:            {type: timestamp}
    primary_key: [id]
    unique: {one: [status], two: [customer_id, status], odd: ["we`ird.{x}"]}
    checks:
      positive: "customer_id >= 0 -- at least"
      no_brace: "status <> '{x}'"
      late: "date(at) > date'2020-01-01'"
      lower: "lower(status) = status"
    foreign_keys:
      customer: {columns: [customer_id], references: customers}
    indexes:
      by_customer: {columns: [customer_id, id], storing: [status]}
"""


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "scrub.yaml"
    path.write_text(CATALOG)
    return path


def exported(catalog: Path, table: str = "orders") -> ExportedSuite:
    return export_suite(load_catalog(catalog), table, Path("scrub.yaml"))


def by_part(suite: ExportedSuite) -> dict[str, dict[str, Any]]:
    return {one["meta"]["scrub"]: one for one in suite.document["expectations"]}


def test_what_built_in_expectations_can_say(catalog: Path) -> None:
    parts = by_part(exported(catalog))
    said = {name: (one["type"], one["kwargs"]) for name, one in parts.items()}
    assert said["not null id"] == ("expect_column_values_to_not_be_null", {"column": "id"})
    assert said["primary key primary_key"] == (
        "expect_column_values_to_be_unique",
        {"column": "id"},
    )
    assert said["unique one"] == ("expect_column_values_to_be_unique", {"column": "status"})
    assert said["unique two"] == (
        "expect_compound_columns_to_be_unique",
        {"column_list": ["customer_id", "status"], "ignore_row_if": "any_value_is_missing"},
    )
    assert said["index by_customer"] == (
        "expect_secondary_index_to_match_primary",
        {"catalog": "scrub.yaml", "table": "orders", "indexes": ["by_customer"]},
    )


@pytest.mark.parametrize(
    ("part", "query"),
    [
        ("check positive", "SELECT * FROM {batch} WHERE NOT (\ncustomer_id >= 0 -- at least\n)"),
        ("check no_brace", "SELECT * FROM {batch} WHERE NOT (\nstatus <> '{{x}}'\n)"),
        ("not null we`ird.{x}", "SELECT * FROM {batch} WHERE `we``ird.{{x}}` IS NULL"),
        (
            "foreign key customer",
            "SELECT child.* FROM {batch} AS child WHERE child.`customer_id` IS NOT NULL AND NOT "
            "EXISTS (SELECT 1 FROM `customers` AS parent WHERE parent.`id` = child.`customer_id`)",
        ),
    ],
)
def test_rows_are_selected_with_quoted_names_and_doubled_braces(
    catalog: Path, part: str, query: str
) -> None:
    one = by_part(exported(catalog))[part]
    assert one["type"] == "unexpected_rows_expectation"
    assert one["kwargs"] == {"unexpected_rows_query": query}


def test_a_table_that_refers_to_itself_is_the_batch(catalog: Path) -> None:
    one = by_part(exported(catalog, "customers"))["foreign key boss_of"]
    assert "FROM {batch} AS parent" in one["kwargs"]["unexpected_rows_query"]


def test_what_cannot_be_said_is_listed_and_still_looked_at(catalog: Path) -> None:
    suite = exported(catalog)
    listed = {one.constraint: one.reason for one in suite.not_said}
    assert list(listed) == ["late", "lower"]
    assert "time zone" in listed["late"]
    assert "language" in listed["lower"]
    assert [one["constraint"] for one in suite.document["meta"]["scrub"]["not_said"]] == [*listed]
    assert by_part(suite)["constraints"]["type"] == "expect_constraints_to_hold"
    assert "constraints" not in by_part(exported(catalog, "customers"))


def test_the_same_catalog_gives_the_same_bytes_and_ids_differ(catalog: Path) -> None:
    assert exported(catalog).text == exported(catalog).text
    ids = [one["id"] for one in exported(catalog).document["expectations"]]
    assert len({*ids, exported(catalog).document["id"]}) == len(ids) + 1


def test_the_command_writes_the_suite_and_names_what_it_leaves_out(
    catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["gx", "export", "orders", "--output", "suite.json"]) == 0
    told = capsys.readouterr()
    assert not told.out
    assert "late is left to ExpectConstraintsToHold: it depends on the time zone" in told.err
    assert "expectations are in suite.json" in told.err
    assert main.run(["gx", "export", "orders"]) == 0
    assert capsys.readouterr().out == Path("suite.json").read_text() == exported(catalog).text


def test_what_is_printed_moves_no_terminal_and_is_no_command_of_a_log(
    catalog: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog.write_text(CATALOG.replace("we`ird.{x}", "é##[add-mask]x"))
    assert main.run(["gx", "export", "orders"]) == 0
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert "##[" not in printed
    assert json.loads(printed) == exported(catalog).document


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["order"], "did you mean orders"),
        (["orders", "--output", "nowhere/suite.json"], "does not exist"),
        (["orders", "--catalog", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
@pytest.mark.usefixtures("catalog")
def test_mistakes_are_usage_errors(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main.run(["gx", "export", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_great_expectations_loads_every_expectation(catalog: Path, tmp_path: Path) -> None:
    import great_expectations as gx

    from scrub.gx import expectations, suites

    assert expectations
    context = gx.get_context(mode="file", project_root_dir=tmp_path)
    suite = exported(catalog)
    (tmp_path / "gx" / "expectations" / "orders.json").write_text(suite.text)
    loaded = suites.load_suite(context, "orders")
    assert len(loaded.expectations) == suite.expectations
    stored = json.loads(suite.text)["expectations"]
    assert [one.id for one in loaded.expectations] == [one["id"] for one in stored]
