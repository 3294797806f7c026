# SPDX-License-Identifier: Apache-2.0
"""`scrub repair`, `undo` and `journal` as typed, with defects of an earlier result: no Spark."""

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repair.planning import plan_repair
from reports import as_json, as_jsonl
from reports.redaction import redact_result
from reports.repair_records import repair_record
from reports.repairs import repair_as_text
from scrub.app.repairing.earlier_result import read_result
from scrub.catalog import load_catalog
from scrub.errors import UsageError
from scrub.model.defect import Defect, DefectKind
from scrub.model.journal import RunRecord
from scrub.model.repair import Entry, RepairPlan, RepairReport
from scrub.model.result import Status
from tests.postgres_server import Database
from tests.reports.results import RESULTS, a_check, a_run, a_table
from tests.scrub.cli.exit_codes import exit_code
from tests.scrub.stores.postgres.repairs.postgres_ground import Ground, defect_of

Scrub = Callable[..., int]
ROWS = 100
INAPPLICABLE = a_check("by_customer", Status.NOT_APPLICABLE, reason="--where names status")
BEFORE = {
    "incomplete": RESULTS["incomplete"](),
    "not_applicable": a_run(a_table(INAPPLICABLE)),
    "defective_and_incomplete": RESULTS["defective_and_incomplete"](),
}


@pytest.fixture
def ground(database: Database, tmp_path: Path) -> Ground:
    """Orders with three defects, and a second table in the same database."""
    database.run(
        "CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, status text)",
        "CREATE TABLE orders__by_customer (customer_id bigint, id bigint, status text)",
        "CREATE TABLE others (id bigint PRIMARY KEY)",
        f"INSERT INTO orders SELECT i, i % 7, 'open' FROM generate_series(1, {ROWS}) AS i",
        "INSERT INTO orders__by_customer SELECT customer_id, id, status FROM orders",
        "DELETE FROM orders__by_customer WHERE id = 17",
        "UPDATE orders__by_customer SET status = 'sent' WHERE id = 42",
        "INSERT INTO orders__by_customer VALUES (5, 1005, 'open')",
    )
    columns = {"id": {"type": "bigint"}, "customer_id": {"type": "bigint"}}
    orders = {
        "store": "shop",
        "columns": {**columns, "status": {"type": "string"}},
        "primary_key": ["id"],
        "indexes": {"by_customer": {"columns": ["customer_id"], "storing": ["status"]}},
    }
    others = {"store": "shop", "columns": {"id": {"type": "bigint"}}, "primary_key": ["id"]}
    document = {
        "version": 1,
        "stores": {"shop": {"kind": "postgres", "url": database.url}},
        "tables": {"orders": orders, "others": others},
    }
    catalog = tmp_path / "scrub.yaml"
    catalog.write_text(json.dumps(document))
    return Ground(database, load_catalog(catalog).tables["orders"])


@pytest.fixture
def scrub(ground: Ground, tmp_path: Path) -> Scrub:
    def run(command: str, *arguments: object) -> int:
        return exit_code(*command.split(), *arguments, "--catalog", tmp_path / "scrub.yaml")

    return run


def result_file(
    folder: Path, defects: Sequence[Defect], rows: int | None = ROWS, lines: bool = False
) -> Path:
    """As `scrub check` writes it."""
    check = {"type": "check", "table": "orders", "index": "by_customer", "rows": rows}
    told = [
        {
            "kind": d.kind,
            "table": d.table,
            "index": d.index,
            "primary_key": d.primary_key,
            "index_key": d.index_key,
            "expected": d.expected,
            "actual": d.actual,
        }
        for d in defects
    ]
    path = folder / "result.json"
    if lines:
        records = [check, *({"type": "defect", **one} for one in told)]
        path.write_text("\n".join(map(json.dumps, records)))
    else:
        tables = [{"table": "orders", "checks": [check]}]
        path.write_text(json.dumps({"schema_version": 1, "tables": tables, "defects": told}))
    return path


@pytest.mark.parametrize("lines", [False, True], ids=["json", "jsonl"])
def test_a_repair_is_previewed_executed_shown_and_undone(
    ground: Ground, scrub: Scrub, tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: bool
) -> None:
    file = result_file(tmp_path, ground.defects(), lines=lines)
    before = ground.contents("by_customer")
    assert scrub("repair table orders --from", file) == 1
    assert "nothing was changed; 3 changes would be made" in capsys.readouterr().out
    assert ground.contents("by_customer") == before
    assert ground.database.rows("SELECT to_regclass('scrub_runs')") == [(None,)]

    assert scrub("repair table orders --execute --from", file) == 0
    said = re.search(r"3 done; to undo it: scrub undo (\w+) --execute", capsys.readouterr().out)
    assert said
    assert ground.defects() == []

    assert scrub("journal list") == 0
    assert capsys.readouterr().out.count(said[1]) == 1, "two tables share the journal"
    assert scrub("journal show", said[1]) == 0
    shown = capsys.readouterr().out
    assert "id=42" in shown
    assert "put the missing entry" in shown
    assert scrub("undo", said[1]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"what had been done +as it was left +comes back", shown)
    assert re.search(r"put the missing entry +\S.*id=\d+.* absent *$", shown, re.MULTILINE)
    assert "did 3 changes that can be undone" in shown
    assert "id=1005" in shown, "each change is shown"
    assert ground.defects() == []
    assert scrub("undo --execute", said[1]) == 0
    assert "3 undone, 0 refused" in capsys.readouterr().out
    assert ground.contents("by_customer") == before
    assert scrub("undo --execute", said[1]) == 0
    assert f"run {said[1]} of table orders was already undone, by" in capsys.readouterr().out
    assert scrub("journal list") == 0
    (line,) = (
        text for text in capsys.readouterr().out.splitlines() if text.startswith(f"{said[1]} ")
    )
    assert re.search(r" 3  \w{12}$", line), "three changes, undone by another run"
    assert ground.database.rows("SELECT count(*) FROM scrub_runs") == [(2,)], "no empty run"
    assert scrub("journal prune --older-than 0") == 0
    assert "2 runs would be removed from the journal" in capsys.readouterr().out
    assert scrub("journal prune --older-than 0 --execute") == 0
    assert "2 runs removed from the journal" in capsys.readouterr().out
    assert scrub("undo", said[1]) == 2


def test_what_a_cut_off_run_left_is_looked_at_even_if_there_is_nothing_to_repair(
    ground: Ground, scrub: Scrub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It had deleted an entry whose row came at that moment."""
    (dangling,) = (d for d in ground.defects() if d.kind is DefectKind.DANGLING)
    actions = plan_repair([dangling], {"orders": ground.table}).actions
    with ground.repairs() as store:
        started = datetime.now(UTC)
        store.begin(RunRecord(run="cut", command="repair", table="orders", started=started))
        store.apply("cut", ground.table, ground.table.index("by_customer"), actions)
    ground.database.run("INSERT INTO orders VALUES (1005, 5, 'open')")
    assert scrub("journal list") == 0
    assert "cut off" in capsys.readouterr().out
    assert scrub("repair table orders --execute --from", result_file(tmp_path, [])) == 0
    assert "(5,1005,open)" in ground.contents("by_customer")
    capsys.readouterr()
    assert scrub("journal list") == 0
    assert "cut off" not in capsys.readouterr().out


def test_runs_are_forgotten_after_the_days_that_the_catalog_says(
    ground: Ground, scrub: Scrub, tmp_path: Path
) -> None:
    catalog = tmp_path / "scrub.yaml"
    catalog.write_text(json.dumps({**json.loads(catalog.read_text()), "journal_days": 30}))
    with ground.repairs() as store:
        started = datetime.now(UTC)
        for run in ("old", "new"):
            store.begin(RunRecord(run=run, command="repair", table="orders", started=started))
            store.end(run)
    ground.database.run(
        "UPDATE scrub_runs SET finished = now() - interval '31 days' WHERE run = 'old'",
        "UPDATE scrub_runs SET finished = now() - interval '29 days' WHERE run = 'new'",
    )
    file = result_file(tmp_path, ground.defects())
    assert scrub("repair table orders --execute --from", file) == 0
    runs = [run for (run,) in ground.database.rows("SELECT run FROM scrub_runs")]
    assert "old" not in runs
    assert "new" in runs
    assert len(runs) == 2


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (ROWS, ["--max-changes=2"]),
        (ROWS, ["--max-fraction=0.02"]),
        (0, []),
    ],
    ids=["changes", "fraction", "a table that is empty"],
)
def test_over_a_limit_nothing_is_written_not_even_a_journal(
    ground: Ground,
    scrub: Scrub,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rows: int,
    options: list[str],
) -> None:
    before = ground.contents("by_customer")
    file = result_file(tmp_path, ground.defects(), rows=rows)
    assert scrub("repair table orders --execute --from", file, *options) == 2
    told = capsys.readouterr().out
    assert re.search(r"nothing was changed: 3 changes (of index by_customer )?are", told)
    assert ground.contents("by_customer") == before
    assert ground.database.rows("SELECT to_regclass('scrub_runs')") == [(None,)]
    assert (told_to_add := re.search(r"if they are meant, add (--max-\S+ \S+)\n", told))
    assert scrub("repair table orders --execute --from", file, *told_to_add[1].split()) == 0
    assert ground.defects() == []


def test_the_share_of_changes_is_that_of_each_index_and_not_of_all_together(
    ground: Ground, scrub: Scrub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Formerly the changes of all indexes were divided by the rows of the table."""
    ground.database.run(
        "CREATE TABLE orders__by_status (status text, id bigint)",
        "INSERT INTO orders__by_status SELECT status, id FROM orders WHERE id > 3",
    )
    add_index(tmp_path, "by_status", {"columns": ["status"]})
    table = load_catalog(tmp_path / "scrub.yaml").tables["orders"]
    both = Ground(ground.database, table)
    file = result_file(tmp_path, both.defects())
    document = json.loads(file.read_text())
    check = {"type": "check", "table": "orders", "index": "by_status", "rows": ROWS}
    document["tables"][0]["checks"].append(check)
    file.write_text(json.dumps(document))
    assert scrub("repair table orders --from", file, "--max-fraction=0.029") == 2
    assert "3 changes of index by_" in capsys.readouterr().out
    assert scrub("repair table orders --execute --from", file, "--max-fraction=0.03") == 0
    assert both.defects() == []


def test_an_index_that_is_wrong_throughout_is_repaired_when_the_share_is_typed_as_told(
    ground: Ground, scrub: Scrub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every entry is another row's: each place has one too many, and each row lacks one."""
    ground.database.run("UPDATE orders__by_customer SET customer_id = customer_id + 1000")
    file = result_file(tmp_path, ground.defects())
    assert scrub("repair table orders --execute --from", file) == 2
    told = capsys.readouterr().out
    assert (enough := re.search(r"add (--max-fraction (\S+))\n", told))
    assert float(enough[2]) > 1
    assert scrub("repair table orders --execute --from", file, *enough[1].split()) == 0
    assert ground.defects() == []


def test_only_the_chosen_kinds_are_repaired(ground: Ground, scrub: Scrub, tmp_path: Path) -> None:
    file = result_file(tmp_path, ground.defects())
    kinds = ["--kind", "missing_index_entry", "--kind", "wrong_stored_value"]
    assert scrub("repair table orders --execute --from", file, *kinds) == 0
    assert [defect.kind for defect in ground.defects()] == [DefectKind.DANGLING]


def test_what_is_refused_is_listed_and_the_rest_is_done(
    ground: Ground, scrub: Scrub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry: Entry = {"customer_id": 1, "id": 1, "status": "open"}
    clash = defect_of(ground.table, "by_customer", DefectKind.UNIQUE_VIOLATION, expected=entry)
    file = result_file(tmp_path, [*ground.defects(), clash])
    assert scrub("repair table orders --execute --format json --from", file) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["counts"] == {"done": 3}
    assert (told["executed"], told["exit_code"], told["from"]["file"]) == (True, 1, str(file))
    assert [refusal["defect_kind"] for refusal in told["refusals"]] == ["unique_violation"]
    assert {action["in_order"] for action in told["actions"]} == {True}


def test_defects_that_the_foreground_fixed_since_are_left_alone_and_reported_so(
    ground: Ground, scrub: Scrub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = result_file(tmp_path, ground.defects())
    ground.database.run(
        "DELETE FROM orders__by_customer",
        "INSERT INTO orders__by_customer SELECT customer_id, id, status FROM orders",
    )
    assert scrub("repair table orders --execute --from", file) == 0
    told = capsys.readouterr().out
    assert "3 left alone: it was right already" in told
    assert "scrub undo" not in told, "there is nothing to undo"
    ((run,),) = ground.database.rows("SELECT run FROM scrub_runs")
    assert scrub("undo", run) == 0
    assert f"run {run} of table orders changed nothing" in capsys.readouterr().out


def add_index(folder: Path, name: str, index: dict[str, Any]) -> None:
    """One more in the catalog; its relation may not be there."""
    catalog = folder / "scrub.yaml"
    document = json.loads(catalog.read_text())
    document["tables"]["orders"]["indexes"][name] = index
    catalog.write_text(json.dumps(document))


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("chosen", [["--index", "by_customer"], []], ids=["by name", "by file"])
def test_what_was_repaired_is_verified_and_no_index_that_is_not_built_yet(
    ground: Ground,
    scrub: Scrub,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    chosen: list[str],
) -> None:
    """Formerly all indexes were checked afterwards, and one that is not there failed the run."""
    file = result_file(tmp_path, ground.defects())
    add_index(tmp_path, "by_status", {"columns": ["status"]})
    code = scrub("repair table orders --execute --verify", *chosen, "--from", file)
    told = capsys.readouterr().out
    assert "could not run" not in told
    assert "After: " in told
    assert re.search(r"3 done; to undo it: scrub undo \w+ --execute", told)
    assert code == 0


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_what_was_repaired_is_told_when_the_check_afterwards_cannot_run(
    ground: Ground, scrub: Scrub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another index that was asked for is not there."""
    file = result_file(tmp_path, ground.defects())
    add_index(tmp_path, "by_status", {"columns": ["status"]})
    both = ["--index", "by_customer", "--index", "by_status"]
    code = scrub("repair table orders --execute --verify", *both, "--from", file)
    told = capsys.readouterr().out
    assert "orders.by_status, error: index by_status of table orders is not there" in told
    assert "orders__by_status" in told
    assert re.search(r"3 done; to undo it: scrub undo \w+ --execute", told)
    assert code == 3
    assert ground.defects() == []


def test_a_file_that_was_cut_by_a_limit_is_not_told_as_everything(
    ground: Ground, scrub: Scrub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = result_file(tmp_path, ground.defects())
    document = json.loads(file.read_text())
    counts = {"missing_secondary_index": 191, "wrong_stored_value": 1}
    document["tables"][0]["checks"][0]["counts"] = counts | {"dangling_secondary_index": 1}
    file.write_text(json.dumps(document))
    assert scrub("repair table orders --execute --from", file) == 1
    assert f"{file} holds 3 of 193 defects" in capsys.readouterr().out
    assert scrub("repair table orders --execute --kind wrong_stored_value --from", file) == 0


def test_a_file_of_an_incomplete_check_or_of_another_table_is_no_all_clear(
    ground: Ground, scrub: Scrub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = result_file(tmp_path, [])
    document = json.loads(file.read_text())
    check = {"status": "incomplete", "incomplete": True, "reason": "no route to host"}
    document["tables"][0]["checks"][0] |= check
    file.write_text(json.dumps(document))
    assert scrub("repair table orders --from", file) == 3
    assert "no route to host" in capsys.readouterr().out
    assert scrub("repair table others --from", file) == 3
    assert "has no check of table others" in capsys.readouterr().out


def test_nothing_of_what_was_asked_for_is_said_so(
    ground: Ground, scrub: Scrub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = result_file(tmp_path, ground.defects())
    assert scrub("repair table orders --kind null_violation --from", file) == 0
    told = capsys.readouterr().out
    assert f"none of the 3 defects in {file} is one that was asked for" in told
    assert "nothing to repair" not in told


def test_a_preview_from_a_file_says_that_the_file_says_so(
    ground: Ground, scrub: Scrub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = result_file(tmp_path, ground.defects()[:1])
    assert scrub("repair table orders --from", file) == 1
    told = capsys.readouterr().out
    assert f"1 change would be made, as {file} says; it is checked again then. To make it" in told


@pytest.mark.parametrize("command", ["journal list", "undo abc", "journal prune --older-than 1"])
def test_a_store_that_cannot_be_opened_is_an_error_and_not_an_empty_journal(
    scrub: Scrub, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    catalog = tmp_path / "scrub.yaml"
    document = json.loads(catalog.read_text())
    document["stores"]["shop"]["url"] = "postgresql://u@h:no/d"
    catalog.write_text(json.dumps(document))
    assert scrub(command) == 2
    told = capsys.readouterr()
    assert "remember" not in told.out + told.err
    assert "url" in told.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--verify"], "add --execute"),
        (["--from", __file__, "--where", "id > 1"], "--index and --kind"),
    ],
)
def test_options_that_do_not_go_together_say_what_to_do(
    scrub: Scrub, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    assert scrub("repair table orders", *options) == 2
    assert says in capsys.readouterr().err


def test_real_results_are_read_back_and_redacted_ones_are_refused(tmp_path: Path) -> None:
    result = RESULTS["defective"]()
    path = tmp_path / "result"
    for renderer in (as_json, as_jsonl):
        path.write_text(renderer.render(result))
        told = read_result(path).defects
        assert [defect.id for defect in told] == [defect.id for defect in result.defects]
        assert [d.expected for d in told] == [d.expected for d in result.defects]
        path.write_text(renderer.render(redact_result(result)))
        with pytest.raises(UsageError, match="--redact"):
            read_result(path)


def test_a_value_that_looks_redacted_in_part_is_a_value(ground: Ground, tmp_path: Path) -> None:
    entry: Entry = {"customer_id": 1, "id": 1, "status": "was [redacted] before"}
    defect = defect_of(ground.table, "by_customer", DefectKind.DANGLING, actual=entry)
    assert len(read_result(result_file(tmp_path, [defect])).defects) == 1


@pytest.mark.parametrize("name", ["incomplete", "not_applicable", "defective_and_incomplete"])
def test_an_incomplete_check_before_a_repair_is_never_told_as_nothing_left(name: str) -> None:
    report = RepairReport(
        table="orders",
        plan=RepairPlan((), ()),
        before=BEFORE[name],
        is_executed=True,
    )
    told, record = repair_as_text(report), repair_record(report)
    assert report.exit_code == record["exit_code"] == 3
    assert "nothing to repair" not in told
    assert str(BEFORE[name].outcomes[-1].reason) in told
    assert record["incomplete"] is record["before"]["incomplete"] is True
    assert record["executed"] is True


def test_a_clean_check_before_a_repair_is_an_all_clear() -> None:
    report = RepairReport(table="orders", plan=RepairPlan((), ()), before=RESULTS["clean"]())
    assert report.exit_code == 0
    assert "there is nothing to repair" in repair_as_text(report)


BROKEN = [
    "{",
    "[]",
    "7",
    '"defects"',
    '{"defects": 3}',
    '{"defects": [3]}',
    '{"defects": [{}]}',
    '{"defects": [], "tables": [{"checks": [{}]}]}',
    '{"type": "check", "table": "t", "rows": []}',
    '{"type": "defect", "kind": "no such kind", "table": "t"}',
    '{"type": "defect", "kind": "dangling_secondary_index", "table": 7}',
    '{"type": "defect", "kind": "dangling_secondary_index", "table": "t", "actual": "x"}',
    '{"type": "defect", "kind": "dangling_secondary_index", "table": "t", "actual": {"k": [1]}}',
    "[" * 100_000,
]


@pytest.mark.parametrize("text", BROKEN, ids=[text[:60] for text in BROKEN])
def test_a_file_that_is_no_result_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"broken\.json") as caught:
        read_result(path)
    assert caught.value.hint


def test_a_file_of_other_bytes_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(b"\xff\xfe\x00PAR1")
    with pytest.raises(UsageError, match=r"broken\.json"):
        read_result(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "kind", "table", "defects", "tables", "checks", "rows", "actual"]
            ),
            inner | st.sampled_from(["defect", "check", "run", *DefectKind]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(document=JSON)
def test_any_json_is_read_or_refused_and_never_crashes(
    tmp_path_factory: pytest.TempPathFactory, document: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(document))
    with contextlib.suppress(UsageError):
        read_result(path)
