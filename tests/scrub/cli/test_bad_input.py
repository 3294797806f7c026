# SPDX-License-Identifier: Apache-2.0
"""Bad input is answered with a clear error and the right exit code, and nothing is half-written.

What can be known without Spark is answered without starting it.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.forked import Ended, run_forked
from tests.programs import scrub_telling_of_spark as PROGRAM
from tests.scrub.cli.small_lake import (
    BY_CUSTOMER,
    COLUMNS,
    INDEXES,
    ORDERS,
    described,
    write_catalog,
    write_orders,
)
from tests.scrub.stores.delta.delta_tables import commit

ROOT = Path(__file__).parents[3]
RESULTS = ("--output", "result.txt", "--all-defects", "all.jsonl")


@dataclass(frozen=True)
class Answer:
    code: int | None
    out: str
    error: list[str]  # the lines on standard error
    started_spark: bool


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder with a catalog and a healthy lake."""
    write_catalog(tmp_path, orders=described())
    write_orders(tmp_path / "files")
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT), "SCRUB_STATE_DIR": str(folder / ".state")}


def scrub(folder: Path, *arguments: str) -> Answer:
    """The command in this folder, in a process of its own that has made its imports."""
    return answer(run_forked(PROGRAM, *arguments, cwd=folder, env=environment(folder)))


def scrub_in_a_shell(folder: Path, *arguments: str, **how: Any) -> Answer:
    """The command as a shell runs it in this folder."""
    name = PROGRAM.__name__
    program = f"import sys; from tests.programs import {name}; {name}(*sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
        **how,
    )
    return answer(Ended(done.returncode, done.stdout, done.stderr))


def answer(ended: Ended) -> Answer:
    *lines, jvm = ended.err.splitlines()
    return Answer(ended.code, ended.out, lines, jvm == "a JVM was started")


def refused(folder: Path, *arguments: str) -> list[str]:
    """The error of a command that must answer 2 at once and leave the folder as it was."""
    before = contents(folder)
    answer = scrub(folder, "check", *arguments)
    assert (answer.code, answer.out, answer.started_spark) == (2, "", False), answer
    assert contents(folder) == before
    return answer.error


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_shell_is_answered_as_a_process_that_has_made_its_imports(lake: Path) -> None:
    arguments = ("check", "database", "--catalog", "nope.yaml")
    assert scrub_in_a_shell(lake, *arguments) == scrub(lake, *arguments)


def test_a_missing_catalog(lake: Path) -> None:
    error = refused(lake, "database", "--catalog", "nope.yaml", *RESULTS)
    assert error[0] == "error: there is no catalog nope.yaml"
    assert error[1].startswith("hint: `scrub init DIR` writes a first one")


def test_a_catalog_that_is_no_text(lake: Path) -> None:
    (lake / "scrub.yaml").write_bytes(b"PAR1\xff\x00")
    assert refused(lake, "database", *RESULTS) == [
        "error: the catalog scrub.yaml is not UTF-8 text"
    ]


def test_an_unknown_table(lake: Path) -> None:
    assert refused(lake, "table", "oders", *RESULTS) == [
        "error: the catalog has no table oders",
        "hint: did you mean orders?",
    ]


def test_an_unknown_index(lake: Path) -> None:
    assert refused(lake, "table", "orders", "--index", "by_custmer", *RESULTS) == [
        "error: there is no index by_custmer of orders",
        "hint: did you mean by_customer?",
    ]


@pytest.mark.parametrize("store", ["files", "lake"])
def test_every_relation_that_is_not_there_is_named(store: str, lake: Path) -> None:
    write_orders(lake / "lake")
    write_catalog(lake, orders=described(store), order=described(store))
    what = "parquet relation" if store == "files" else "Delta table"
    error = refused(lake, "table", "order", *RESULTS)
    assert error[0].startswith("error: ")
    assert sorted(line.removeprefix("error: ") for line in error) == [
        f"there is no {what} {lake}/{store}/{name}; did you mean {meant}?"
        for name, meant in [
            ("order", "orders"),
            ("order__by_customer", "orders__by_customer"),
            ("order__by_status", "orders__by_status"),
        ]
    ]


def test_a_relation_without_a_column(lake: Path) -> None:
    indexes = INDEXES | {"by_customer": {"columns": ["customer_id"], "storing": ["qty"]}}
    write_catalog(lake, orders=described(indexes=indexes))
    assert refused(lake, "database", "--index", "by_customer", *RESULTS) == [
        "error: index orders.by_customer: relation orders__by_customer has no column qty; "
        "known columns: customer_id, id, status",
        "hint: correct the catalog, or the relation",
    ]


def test_all_types_that_do_not_match_at_once(lake: Path) -> None:
    write_catalog(lake, orders=described(columns=COLUMNS | {"customer_id": "string", "id": "int"}))
    both = "is stored as bigint, the catalog says"
    assert refused(lake, "database", *RESULTS) == [
        f"error: table orders: column id of orders {both} int",
        f"table orders: column customer_id of orders {both} string",
        f"index orders.by_customer: column customer_id of orders__by_customer {both} string",
        f"index orders.by_customer: column id of orders__by_customer {both} int",
        f"index orders.by_status: column id of orders__by_status {both} int",
        "hint: correct the catalog, or the relation",
    ]


def test_an_indexes_where_that_does_not_parse(lake: Path) -> None:
    indexes = {"open": {"columns": ["id"], "where": "status ="}}
    catalog = write_catalog(lake, orders=described(indexes=indexes))
    line = next(n for n, text in enumerate(catalog.read_text().splitlines(), 1) if "where" in text)
    (error, *_) = refused(lake, "database", *RESULTS)
    assert error == (
        f"error: scrub.yaml:{line}: 'where' of index 'open' does not parse as Spark SQL: "
        "unexpected or incomplete near '=', character 8"
    )


@pytest.mark.parametrize(
    ("where", "says", "hints"),
    [
        ("id >", "does not parse as Spark SQL: unexpected or incomplete near '>', character 4", ()),
        ("ide > 3", "uses an unknown column 'ide'", ("did you mean id?",)),
        ("id > (SELECT 1)", "contains a subquery", ()),
        (
            "to_date('today') > id",
            "uses 'today', whose value changes from one run to the next",
            ("write a date or time that stays, such as '2026-01-31'",),
        ),
    ],
)
def test_a_where_on_the_command_line_that_means_nothing(
    where: str, says: str, hints: tuple[str, ...], lake: Path
) -> None:
    error = refused(lake, "database", "--where", where, *RESULTS)
    assert error[0].startswith(f"error: --where {where!r} {says}")
    first, *others = (*hints, "it applies to the rows of orders")
    assert error[1:] == [f"hint: {first}", *others]


@pytest.mark.parametrize("option", ["--output", "--all-defects"])
def test_a_result_into_a_folder_that_is_not_there(option: str, lake: Path) -> None:
    error = refused(lake, "database", option, "no/such/result.txt")
    assert error == [f"error: {option}: the folder 'no/such' does not exist"]


def test_the_native_engine_where_an_expression_needs_spark(lake: Path) -> None:
    index = {
        "columns": [{"expr": "initcap(status)", "as": "status"}],
        "relation": "orders__by_status",
    }
    write_catalog(lake, orders=described(indexes={"by_words": index}))
    assert refused(lake, "database", "--engine", "native", *RESULTS) == [
        "error: --engine native cannot read orders: expressions of by_words need Spark",
        "hint: use --engine auto",
    ]


@pytest.mark.parametrize("option", ["--master=spark://127.0.0.1:1", "--remote=sc://127.0.0.1:1"])
def test_a_master_that_does_not_answer(option: str, lake: Path) -> None:
    assert refused(lake, "database", option, *RESULTS) == [
        "error: no Spark master answers at 127.0.0.1:1 (Connection refused)",
        "hint: check --master or --remote, or leave it out to run on this machine",
    ]


def lost_commit(lake: Path) -> str:
    commit(lake / "lake" / "orders", 1).unlink()
    return (
        "commit 1 is missing and no later checkpoint replaces it, so version 3 cannot be determined"
    )


def cut_commit(lake: Path) -> str:
    path = commit(lake / "lake" / "orders", 2)
    path.write_bytes(path.read_bytes()[:100])
    return "Delta log of orders: "


@pytest.mark.parametrize("damage", [lost_commit, cut_commit])
def test_a_damaged_delta_log_leaves_nothing_to_compare(
    damage: Callable[[Path], str], lake: Path
) -> None:
    write_orders(lake / "lake")
    write_catalog(lake, orders=described("lake"))
    reason = damage(lake)
    answer = scrub(lake, "check", "database", "--engine", "sql")
    assert (answer.code, answer.error, answer.started_spark) == (3, [], False)
    for index in INDEXES:
        (told,) = [line for line in answer.out.splitlines() if f"- orders.{index}, error" in line]
        assert reason in told
    assert "exit code 3 (no defect found, but not everything could be checked)" in answer.out


def test_no_file_that_can_be_read_leaves_nothing_to_compare(lake: Path) -> None:
    for file in (lake / "files" / "orders").iterdir():
        file.write_text("these are not the rows you are looking for")
    answer = scrub(lake, "check", "database")
    assert (answer.code, answer.started_spark) == (3, False)
    assert "no Parquet footer" in answer.out


def test_a_where_that_no_entry_shows_says_what_was_not_looked_for(lake: Path) -> None:
    answer = scrub(lake, "check", "database", "--where", "qty > 1")
    assert (answer.code, answer.started_spark) == (0, False)
    assert "clean: 0 defects in 2 checks; dangling entries not looked for" in answer.out
    assert "dangling entries not looked for: --where uses qty" in answer.out


def no_override() -> None:
    """Take from root what lets it read any file, for this process and what it starts."""
    import ctypes

    drop_from_bounding_set, override, read_search = 24, 1, 2
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (override, read_search):
        if libc.prctl(drop_from_bounding_set, capability, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")


@pytest.mark.spark
@pytest.mark.parametrize("way", [("auto", "fingerprint"), ("sql", "merge")], ids="-".join)
def test_a_file_without_read_permission_is_named(way: tuple[str, str], lake: Path) -> None:
    engine, strategy = way
    kept = lake / "files" / "orders" / "part-2.parquet"
    kept.chmod(0)
    answer = scrub_in_a_shell(
        lake,
        *("check", "table", "orders", "--index", "by_status", "--master", "local[1]"),
        *("--engine", engine, "--strategy", strategy),
        preexec_fn=no_override if os.geteuid() == 0 else None,
    )
    kept.chmod(0o644)
    assert (answer.code, answer.error) == (3, [])
    (told,) = [line for line in answer.out.splitlines() if "orders.by_status, incomplete" in line]
    assert f"1 of 4 parts of orders were not read: {kept}: " in told
    assert "permission" in told.lower()
    assert "3 undecided differences, which data that was not read, or that" in answer.out


def test_a_relation_without_files_is_empty(lake: Path) -> None:
    """Planned like any other: what the table holds will be missing from it."""
    for file in (lake / "files" / "orders__by_status").iterdir():
        file.unlink()
    answer = scrub(lake, "check", "database", "--explain")
    assert (answer.code, answer.started_spark) == (0, False)


def test_files_of_other_schemas_are_no_mismatch_when_the_columns_are_there(lake: Path) -> None:
    """An index with further columns is planned, and the plan says what is ignored."""
    wider = BY_CUSTOMER.append_column("loaded_by", ORDERS["status"])
    for file in (lake / "files" / "orders__by_customer").iterdir():
        pq.write_table(wider, file)
    answer = scrub(lake, "check", "database", "--explain")
    assert (answer.code, answer.started_spark) == (0, False)
    assert "ignored columns: loaded_by" in answer.out
