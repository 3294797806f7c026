# SPDX-License-Identifier: Apache-2.0
"""Repairs of pairs of bytes, in Delta and PostgreSQL: each kind of defect, races, and undoing."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from repair.pair_planning import ROW_UNREADABLE
from reports import as_json
from reports.repairs import repair_as_text
from scrub.app import run_check
from scrub.app.repairing.journal import execute_undo
from scrub.app.repairing.patch import write_patch
from scrub.app.repairing.repair import execute_repair, preview_repair
from scrub.app.repairing.stores import open_repairs
from scrub.errors import RelationMismatch, UsageError
from scrub.model.defect import Defect, DefectKind
from scrub.model.repair import ActionKind, ActionOutcome, RepairRequest
from scrub.model.request import CheckRequest
from scrub.stores.base import no_session
from scrub.stores.delta import journalled
from tests.checks.pairs.pair_ground import COLUMNS, INDEXES, ONE_FAMILY, TWO_FAMILIES, row
from tests.postgres_server import Database
from tests.repair.pair_store_ground import (
    APART,
    DatabaseOfPairs,
    LakeOfPairs,
    PairGround,
    StoredPair,
)
from tests.scrub.codec.kv.reference_pairs import encode_value
from tests.scrub.stores.postgres.building.ground import Background, until

DONE, ROW_CHANGED = ActionOutcome.DONE, ActionOutcome.ROW_CHANGED
ROWS = 40
ALL_APART = {name: index | {"relation": name} for name, index in INDEXES.items()}
OTHER = {4: Decimal("9.90")}  # an amount that no row has
PRICED = {"columns": COLUMNS | {"amount": {"type": "decimal(10,2)", "nullable": False}}}
CUSTOMERS = {"index_id": 2, "columns": ["customer_id"], "storing": ["note"]}
NAMED = {"columns": COLUMNS | {"email": {"type": "string", "nullable": False}}}
EMAILS_APART: dict[str, Any] = {"mail": {"id": 1, "columns": ["email"]}}
NOTE_IS_NULL = b"\x11"  # a tag: the next column is NULL, which nobody writes


@pytest.fixture(params=["delta", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., PairGround]:
    def ground(*described: dict[str, Any]) -> PairGround:
        if request.param == "delta":
            return LakeOfPairs(tmp_path, *described)
        database: Database = request.getfixturevalue("database")
        return DatabaseOfPairs(database, tmp_path, *described)

    return ground


Make = Callable[..., PairGround]


def flipped(value: bytes | None, at: int) -> bytes:
    octets = bytearray(value or b"")
    octets[at] ^= 1
    return bytes(octets)


def padded(key: bytes) -> bytes:
    """The same key, its first column spelled with a length that it does not need."""
    return key[:2] + b"\xf6" + bytes([key[2] - 0x88]) + key[3:]


def mixed(with_key: StoredPair, with_value: StoredPair) -> StoredPair:
    """A key that says one thing of a decimal, and a value that says another."""
    return with_key[0], encode_value(with_key[0], (with_value[1] or b"")[4:])


def respelled(pair: StoredPair, more: bytes) -> StoredPair:
    key, value = pair
    return key, encode_value(key, (value or b"")[4:] + more)


def moved(pair: StoredPair) -> StoredPair:
    key = padded(pair[0])
    return key, encode_value(key, (pair[1] or b"")[4:])


def repaired(ground: PairGround) -> list[str]:
    """As many runs as it takes: what cannot be read hides what is missing."""
    runs: list[str] = []
    for number in range(4):
        actions = ground.plan().actions
        if not actions:
            return runs
        runs.append(f"run {number}")
        done = ground.repair(runs[-1], actions)
        assert {one.outcome for one in done} <= {DONE, ActionOutcome.ALREADY_RIGHT}
        assert all(one.in_order for one in done), done
    raise AssertionError("there is always more to do")


@pytest.mark.parametrize(
    ("families", "indexes"), [(ONE_FAMILY, INDEXES), (TWO_FAMILIES, APART)], ids=["shared", "apart"]
)
def test_every_kind_is_mended_and_brought_back_to_the_byte(
    make: Make, families: dict[str, Any], indexes: dict[str, Any]
) -> None:
    ground = make(families, indexes)
    sound = ground.sound(ROWS)
    ground.write_all(sound)
    assert ground.defects() == []
    right = ground.pairs()

    pairs = {name: list(of) for name, of in sound.items()}
    customers, emails, rows = pairs["by_customer"], pairs["by_email"], pairs["primary"]
    entry = ground.entry
    customers.remove(entry("by_customer", row(1)))
    emails.remove(entry("by_email", row(2)))
    customers.append(entry("by_customer", row(500)))
    emails.append(entry("by_email", row(501)))
    customers.remove(entry("by_customer", row(3)))
    customers.append(entry("by_customer", row(3) | {5: b"other"}))
    emails.remove(entry("by_email", row(4)))
    emails.append(entry("by_email", row(4) | {1: 999}))
    for index, number, damage in [
        ("by_customer", 6, lambda pair: (pair[0], flipped(pair[1], -1))),
        ("by_email", 8, lambda pair: (pair[0], flipped(pair[1], 0))),
        ("by_customer", 9, lambda pair: (pair[0][:4], pair[1])),
        ("by_customer", 10, lambda pair: respelled(pair, NOTE_IS_NULL)),
        ("by_customer", 11, moved),
        ("by_customer", 17, lambda pair: mixed(pair, entry("by_customer", row(17) | OTHER))),
        ("by_customer", 18, lambda pair: mixed(entry("by_customer", row(18) | OTHER), pair)),
        ("by_customer", 12, lambda pair: (pair[0], None)),
        ("by_email", 13, lambda pair: (pair[0], b"")),
    ]:
        whole = entry(index, row(number))
        pairs[index][pairs[index].index(whole)] = damage(whole)
    with_note = ground.row_pairs(row(15))[-1]
    rows[rows.index(with_note)] = respelled(with_note, b"\x21" if families else NOTE_IS_NULL)
    if len(ground.names) > 1 or isinstance(ground, LakeOfPairs):
        emails += [entry("by_email", row(16))] * 2
    ground.write_all(pairs)
    damaged = ground.pairs()
    kinds = {defect.kind for defect in ground.defects()}
    assert kinds >= {
        DefectKind.DANGLING,
        DefectKind.WRONG_STORED_VALUE,
        DefectKind.INVALID_ENCODING,
        DefectKind.INVALID_COMPOSITE,
        DefectKind.NONCANONICAL,
    }

    runs = repaired(ground)
    assert ground.defects() == []
    assert ground.pairs() == right
    for run in reversed(runs):
        assert set(ground.undo(run)) == {DONE}
    assert ground.pairs() == damaged


def test_what_only_people_can_decide_is_refused_and_left(make: Make) -> None:
    ground = make(ONE_FAMILY, INDEXES)
    pairs = ground.sound(ROWS)
    rows, emails = pairs["primary"], pairs["by_email"]
    rows[5] = (rows[5][0], flipped(rows[5][1], -1))
    rows[11] = moved(rows[11])
    rows[20] = respelled(rows[20], b"\x33\x02")  # a column that the catalog does not know
    twin = row(60) | {3: row(7)[3]}
    rows += ground.row_pairs(twin)
    pairs["by_customer"].append(ground.entry("by_customer", twin))
    foreign = bytes.fromhex("bd898a88")
    rows.append((foreign, encode_value(foreign, b"\x0a")))
    lost = ground.entry("by_email", row(30))
    emails[emails.index(lost)] = (lost[0], lost[1][:5] if lost[1] else None)
    ground.write_all(pairs)
    before = ground.pairs()
    plan = ground.plan()
    assert plan.actions == ()
    refused = Counter((refusal.defect_kind, refusal.index) for refusal in plan.refusals)
    assert refused == Counter(
        [
            (DefectKind.INVALID_ENCODING, None),
            (DefectKind.INVALID_ENCODING, "by_email"),
            (DefectKind.NONCANONICAL, None),
            (DefectKind.NONCANONICAL, None),
            (DefectKind.UNEXPECTED_KEY, None),
            (DefectKind.UNIQUE_VIOLATION, "by_email"),
            (DefectKind.UNIQUE_VIOLATION, "by_email"),
        ]
    )
    assert all(refusal.reason and refusal.remedy for refusal in plan.refusals)
    assert ground.pairs() == before


def test_a_defect_that_names_the_key_of_another_index_touches_nothing(make: Make) -> None:
    ground = make(ONE_FAMILY, INDEXES)
    pairs = ground.sound(10)
    pairs["primary"][3] = (pairs["primary"][3][0] + b"\x00", pairs["primary"][3][1])
    ground.write_all(pairs)
    (bad,) = [d for d in ground.defects() if d.kind is DefectKind.INVALID_ENCODING]
    for kind in (DefectKind.INVALID_ENCODING, DefectKind.DANGLING):
        plan = ground.plan([replace(bad, index="by_email", kind=kind)])
        assert plan.actions == ()
        assert "begin otherwise" in plan.refusals[0].reason


def test_an_index_of_pairs_chosen_by_itself_keeps_what_others_tell_of_a_lost_row(
    make: Make,
) -> None:
    """Only with the entry of another index do several agree; deleting takes being asked for."""
    ground = make(ONE_FAMILY, INDEXES)
    pairs = ground.sound(10)
    pairs["primary"].remove(ground.row_pairs(row(3))[0])
    ground.write_all(pairs)
    defects = ground.defects()
    chosen = [defect for defect in defects if defect.index == "by_email"]
    others = [defect for defect in defects if defect.index != "by_email"]
    assert [action.kind for action in ground.plan(chosen).actions] == [ActionKind.DELETE]
    kept = ground.plan(chosen, others)
    assert kept.actions == ()
    assert {refusal.index for refusal in kept.refusals} == {"by_email"}
    assert "--delete-last-copies" in kept.refusals[0].remedy
    meant = ground.plan(chosen, others, delete_last_copies=True)
    assert [(action.kind, action.index) for action in meant.actions] == [
        (ActionKind.DELETE, "by_email")
    ]
    assert meant.deletes_last_copies
    assert len(meant.lost_rows) == 1


@pytest.mark.parametrize("lost", [b"", None])
def test_entries_of_a_row_that_lost_its_value_are_never_deleted(
    make: Make, lost: bytes | None
) -> None:
    """Not even by a result that called them dangling, and not if last copies may go."""
    ground = make(ONE_FAMILY, INDEXES)
    pairs = ground.sound(10)
    (of_row,) = ground.row_pairs(row(3))
    pairs["primary"].remove(of_row)
    ground.write_all(pairs)
    dangling = [defect for defect in ground.defects() if defect.index == "by_email"]
    pairs["primary"].append((of_row[0], lost))
    ground.write_all(pairs)
    assert [(d.kind, d.index) for d in ground.defects()] == [(DefectKind.INVALID_ENCODING, None)]
    plan = ground.plan(dangling, delete_last_copies=True)
    assert plan.actions == ()
    assert [refusal.reason for refusal in plan.refusals] == [ROW_UNREADABLE[0]]


def test_rows_that_several_indexes_agree_on_are_not_forgotten(make: Make) -> None:
    ground = make(ONE_FAMILY, INDEXES)
    pairs = ground.sound(10)
    pairs["primary"].remove(ground.row_pairs(row(3))[0])
    ground.write_all(pairs)
    plan = ground.plan()
    assert plan.actions == ()
    (lost,) = plan.lost_rows
    assert lost.columns == {
        "id": 3,
        "customer_id": 3,
        "amount": "0.30",
        "note": "note 3",
        "email": "user3@example.org",
    }


def test_nothing_is_done_that_the_rows_no_longer_ask_for(make: Make) -> None:
    ground = make(ONE_FAMILY, INDEXES)
    pairs = ground.sound(10)
    by_customer = pairs["by_customer"]
    by_customer.remove(ground.entry("by_customer", row(1)))
    by_customer.append(ground.entry("by_customer", row(50)))
    by_customer.append(ground.entry("by_customer", row(51)))
    wrong = ground.entry("by_customer", row(4) | {5: b"other"})
    by_customer[by_customer.index(ground.entry("by_customer", row(4)))] = wrong
    spelled = pairs["primary"][5]
    pairs["primary"][5] = respelled(spelled, NOTE_IS_NULL)
    ground.write_all(pairs)
    actions = ground.plan().actions
    assert sorted(action.kind for action in actions) == [
        ActionKind.DELETE,
        ActionKind.DELETE,
        ActionKind.PUT,
        ActionKind.REPLACE,
        ActionKind.REPLACE,
    ]
    rows = pairs["primary"]
    rows[1] = ground.row_pairs(row(1) | {5: b"later"})[0]
    rows[4] = ground.row_pairs(row(4) | {5: b"other"})[0]
    rows[5] = ground.row_pairs(row(5) | {5: b"later"})[0]
    rows += ground.row_pairs(row(50))
    (unreadable,) = ground.row_pairs(row(51))
    rows.append((unreadable[0], flipped(unreadable[1], -1)))
    ground.write_all(pairs)
    before = ground.pairs()
    done = ground.repair("run", actions)
    assert {one.outcome for one in done} == {ROW_CHANGED}
    assert ground.pairs() == before


def with_dangling_entry(ground: PairGround) -> StoredPair:
    """Five rows and their entries, and one entry of a row that is absent."""
    pairs = ground.sound(5)
    dangling = ground.entry("by_customer", row(50))
    pairs["by_customer"].append(dangling)
    ground.write_all(pairs)
    return dangling


def test_the_entry_of_an_insert_in_flight_is_put_back(database: Database, tmp_path: Path) -> None:
    """Its writer found the dangling entry and put none; repair deletes it, waits, looks again."""
    ground = DatabaseOfPairs(database, tmp_path, ONE_FAMILY)
    dangling = with_dangling_entry(ground)
    actions = ground.plan().actions
    with psycopg.connect(database.url) as writer:
        writer.execute("INSERT INTO pairs VALUES (%s, %s)", ground.row_pairs(row(50))[0])
        repair = Background(lambda: ground.repair("run", actions))
        until(lambda: dangling not in ground.read("pairs"))
        assert not repair.is_done
    (done,) = repair.result()
    assert (done.outcome, done.in_order) == (ActionOutcome.PUT_BACK, True)
    assert dangling in ground.read("pairs")


@pytest.mark.parametrize(
    ("indexes", "outcome"),
    [(INDEXES, ROW_CHANGED), (ALL_APART, ActionOutcome.PUT_BACK)],
    ids=["shared", "apart"],
)
def test_a_row_that_comes_between_judgement_and_commit_keeps_its_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indexes: dict[str, Any], outcome: ActionOutcome
) -> None:
    """In a relation that both share, the commit itself fails; else the row is looked at again."""
    lake = LakeOfPairs(tmp_path, ONE_FAMILY, indexes)
    dangling = with_dangling_entry(lake)
    actions = lake.plan().actions
    commit, coming = journalled.commit_states, lake.row_pairs(row(50))

    def committed(*given: Any) -> bool:
        if coming:
            lake.write("pairs", [*lake.read("pairs"), coming.pop()])
        return commit(*given)

    monkeypatch.setattr(journalled, "commit_states", committed)
    (done,) = lake.repair("run", actions)
    assert (done.outcome, done.in_order) == (outcome, True)
    assert dangling in lake.read(lake.relation_of("by_customer"))


def test_an_entry_without_a_checksum_is_the_one_its_row_asks_for(make: Make) -> None:
    ground = make(ONE_FAMILY, INDEXES)
    pairs = ground.sound(10)
    key, value = ground.entry("by_customer", row(50))
    pairs["by_customer"].append((key, bytes(4) + (value or b"")[4:]))
    ground.write_all(pairs)
    actions = ground.plan().actions
    pairs["primary"] += ground.row_pairs(row(50))
    pairs["by_email"].append(ground.entry("by_email", row(50)))
    ground.write_all(pairs)
    assert ground.plan().actions == ()
    assert [one.outcome for one in ground.repair("run", actions)] == [ROW_CHANGED]


def test_undo_leaves_what_somebody_wrote_since(make: Make) -> None:
    ground = make(ONE_FAMILY, INDEXES)
    pairs = ground.sound(10)
    pairs["by_customer"].append(ground.entry("by_customer", row(50)))
    missing = ground.entry("by_customer", row(1))
    pairs["by_customer"].remove(missing)
    ground.write_all(pairs)
    ground.repair("run", ground.plan().actions)
    (relation,) = ground.names
    later = (missing[0], ground.entry("by_customer", row(1) | {5: b"later"})[1])
    ground.write(relation, [later if p == missing else p for p in ground.read(relation)])
    assert sorted(ground.undo("run")) == [ActionOutcome.CONFLICT, DONE]
    assert later in ground.read(relation)


def test_entries_of_several_families_are_repaired_each(make: Make) -> None:
    by_family = {"by_family": True, "storing": ["note"]}
    unique = {"index_id": 3, "columns": ["email"], "unique": True, "by_family": True}
    ground = make(
        TWO_FAMILIES,
        {
            "by_customer": INDEXES["by_customer"] | by_family,
            "by_email": unique | {"storing": ["note"]},
        },
    )
    pairs = ground.sound(20)
    ground.write_all(pairs)
    right = ground.pairs()
    by_customer = pairs["by_customer"]
    of_row = [p for p in by_customer if p in ground.entries("by_customer", row(8))]
    assert len(of_row) > 1
    for pair in of_row:
        by_customer.remove(pair)
    other = ground.entries("by_customer", row(9))[-1]
    by_customer[by_customer.index(other)] = ground.entries("by_customer", row(9) | {5: b"x"})[-1]
    ground.write_all(pairs)
    repaired(ground)
    assert ground.pairs() == right
    ground.write_all(pairs | {"by_email": pairs["by_email"][1:]})
    refused = [refusal for refusal in ground.plan().refusals if refusal.index == "by_email"]
    assert "several families" in refused[0].reason
    lost = ground.sound(20)
    for pair in ground.row_pairs(row(8)):
        lost["primary"].remove(pair)
    ground.write_all(lost)
    plan = ground.plan()
    assert plan.actions == ()
    assert [row_lost.columns["note"] for row_lost in plan.lost_rows] == ["note 8"]


def test_versions_of_pairs_are_refused_by_name(database: Database, tmp_path: Path) -> None:
    lake = LakeOfPairs(tmp_path, ONE_FAMILY)
    versions = {"key": pa.array([b"k"], pa.binary()), "value": pa.array([b"v"], pa.binary())}
    write_deltalake(str(tmp_path / "pairs"), pa.table(versions | {"ts": pa.array([1])}))
    of_database = DatabaseOfPairs(database, tmp_path, ONE_FAMILY)
    database.run("ALTER TABLE pairs ADD COLUMN ts bigint")
    for ground in (lake, of_database):
        defects = missing_of(ground)
        with pytest.raises(RelationMismatch, match="versions of a pair"):
            ground.plan(defects)


def missing_of(ground: PairGround) -> list[Defect]:
    key, value = ground.entry("by_customer", row(1))
    return [
        Defect(
            kind=DefectKind.MISSING,
            table="pairs",
            index="by_customer",
            primary_key={"id": 1},
            index_key=None,
            expected=None,
            actual=None,
            snapshot="",
            key_hex=key.hex(),
            value_hex=(value or b"").hex(),
        )
    ]


def test_stores_that_are_only_read_are_refused(tmp_path: Path) -> None:
    class Files(LakeOfPairs):
        def store(self) -> dict[str, str]:
            return {"kind": "spark", "format": "parquet", "path": "."}

    ground = Files(tmp_path, ONE_FAMILY)
    with pytest.raises(UsageError, match="only read"):
        open_repairs(ground.catalog, ground.table, no_session)


def test_a_patch_of_pairs_is_refused_by_name(tmp_path: Path) -> None:
    ground = LakeOfPairs(tmp_path, ONE_FAMILY)
    request = RepairRequest(table="pairs", catalog=ground.path)
    with pytest.raises(UsageError, match="no patch"):
        write_patch(request, tmp_path / "fixes")
    assert not (tmp_path / "fixes").exists()


def only_refused(ground: PairGround, *indexes: str) -> None:
    """The entries of these indexes are refused, and whatever is asked for, nothing is planned."""
    before = ground.pairs()
    plan = ground.plan()
    assert plan.actions == ()
    blamed = [blame(ground, index) for index in indexes]
    told = ground.plan(blamed)
    assert told.actions == ()
    assert len(told.refusals) == len(blamed)
    assert all("its entries are unknown" in refusal.reason for refusal in told.refusals)
    assert ground.pairs() == before


def blame(ground: PairGround, index: str) -> Defect:
    """What an older check may have said of the sound entry of row 7."""
    key, value = ground.entry(index, row(7))
    (missing,) = missing_of(ground)
    named = {"index": index, "primary_key": {"id": 7}, "key_hex": key.hex()}
    kind = DefectKind.DANGLING if index == "by_email" else DefectKind.WRONG_STORED_VALUE
    return replace(missing, kind=kind, value_hex=(value or b"").hex(), **named)


def test_a_row_whose_key_and_value_disagree_is_copied_into_no_index(make: Make) -> None:
    priced = PRICED | {"primary_key": ["amount", "id"]}
    ground = make(ONE_FAMILY, INDEXES | {"by_customer": CUSTOMERS}, priced)
    pairs = ground.sound(ROWS)
    (sound,) = ground.row_pairs(row(7))
    pairs["primary"].remove(sound)
    pairs["primary"].append(mixed(sound, ground.row_pairs(row(7) | OTHER)[0]))
    ground.write_all(pairs)
    assert {d.kind for d in ground.defects()} == {DefectKind.INVALID_COMPOSITE}
    only_refused(ground, "by_customer", "by_email")


def test_the_entry_of_a_row_that_lost_a_family_is_the_last_copy_and_stays(make: Make) -> None:
    ground = make(EMAILS_APART, INDEXES, NAMED)
    pairs = ground.sound(ROWS)
    pairs["primary"].remove(ground.row_pairs(row(7))[-1])
    ground.write_all(pairs)
    (absent,) = ground.defects()
    assert (absent.kind, absent.primary_key) == (DefectKind.NULL_VIOLATION, {"id": 7})
    assert absent.column == "email"
    only_refused(ground, "by_email")
    (refusal,) = ground.plan().refusals
    assert refusal.defect_kind is DefectKind.NULL_VIOLATION


@pytest.mark.parametrize(
    ("column", "value"), [(3, b"caf\xe9"), (4, Decimal("123456789.012")), (2, 1 << 40)]
)
def test_a_value_that_its_column_cannot_have_is_copied_into_no_index(
    make: Make, column: int, value: Any
) -> None:
    ground = make(ONE_FAMILY, INDEXES, {"columns": COLUMNS | {"customer_id": {"type": "int"}}})
    pairs = ground.sound(ROWS)
    (sound,) = ground.row_pairs(row(7))
    pairs["primary"].remove(sound)
    pairs["primary"] += ground.row_pairs(row(7) | {column: value})
    ground.write_all(pairs)
    (unfit,) = ground.defects()
    assert (unfit.kind, unfit.primary_key) == (DefectKind.INVALID_ENCODING, {"id": 7})
    only_refused(ground, "by_email" if column == 3 else "by_customer")
    (refusal,) = ground.plan().refusals
    assert "no index holds" in refusal.reason


def test_a_unique_entry_of_another_row_makes_room_for_the_one_that_is_missing(make: Make) -> None:
    ground = make(ONE_FAMILY, INDEXES)
    pairs = ground.sound(ROWS)
    ground.write_all(pairs)
    right = ground.pairs()
    emails = pairs["by_email"]
    emails[emails.index(ground.entry("by_email", row(4)))] = ground.entry(
        "by_email", row(4) | {1: 999}
    )
    ground.write_all(pairs)
    damaged = ground.pairs()
    found = {defect.kind: defect for defect in ground.defects()}
    assert set(found) == {DefectKind.MISSING, DefectKind.DANGLING}
    assert found[DefectKind.DANGLING].primary_key == {"id": 999}
    assert {a.kind for a in ground.plan().actions} == {ActionKind.DELETE, ActionKind.PUT}
    alone = ground.plan([found[DefectKind.MISSING]])
    assert alone.actions == ()
    assert "another row" in alone.refusals[0].reason
    (run,) = repaired(ground)
    assert ground.pairs() == right
    assert set(ground.undo(run)) == {DONE}
    assert ground.pairs() == damaged


def test_minus_zero_is_put_as_it_is_in_its_row(make: Make) -> None:
    ground = make(ONE_FAMILY, INDEXES, {"columns": COLUMNS | {"amount": {"type": "double"}}})
    some = [row(number) | {4: amount} for number, amount in enumerate((-0.0, 0.0, 1.5), start=1)]
    pairs = {"primary": [pair for one in some for pair in ground.row_pairs(one)]}
    for index in ("by_customer", "by_email"):
        pairs[index] = [ground.entry(index, one) for one in some]
    ground.write_all(pairs)
    right = ground.pairs()
    ground.write_all(pairs | {"by_customer": []})
    assert len(ground.defects()) == 3
    repaired(ground)
    assert ground.pairs() == right


@pytest.mark.parametrize("seed", range(10))
def test_random_damage_is_mended_and_brought_back(make: Make, seed: int) -> None:
    chance = random.Random(seed)
    families, indexes = chance.choice([(ONE_FAMILY, INDEXES), (TWO_FAMILIES, APART)])
    ground = make(families, indexes)
    sound = ground.sound(12)
    ground.write_all(sound)
    right = ground.pairs()
    pairs = {name: list(of) for name, of in sound.items()}
    for name, damage in damages(chance):
        damage(pairs[name])
    ground.write_all(pairs)
    damaged = ground.pairs()
    runs = repaired(ground)
    mended = ground.pairs()
    for relation, before in damaged.items():
        assert (before & right[relation]) <= mended[relation], "what was right stays"
    if not ground.plan().refusals:
        assert mended == right
    for run in reversed(runs):
        assert set(ground.undo(run)) == {DONE}
    assert ground.pairs() == damaged


def damages(chance: random.Random) -> Iterator[tuple[str, Callable[[list[StoredPair]], None]]]:
    def somewhere(pairs: list[StoredPair]) -> int:
        return chance.randrange(len(pairs))

    def lose(pairs: list[StoredPair]) -> None:
        pairs.pop(somewhere(pairs))

    def flip(pairs: list[StoredPair]) -> None:
        at = somewhere(pairs)
        key, value = pairs[at]
        pairs[at] = (key, flipped(value, chance.randrange(len(value))) if value else b"?")

    def swap(pairs: list[StoredPair]) -> None:
        one, other = somewhere(pairs), somewhere(pairs)
        key, value = pairs[one][0], (pairs[other][1] or b"")[4:]
        pairs[one] = (key, encode_value(key, value))

    def spell(pairs: list[StoredPair]) -> None:
        at = somewhere(pairs)
        pairs[at] = respelled(pairs[at], NOTE_IS_NULL)

    def bury(pairs: list[StoredPair]) -> None:
        at = somewhere(pairs)
        pairs[at] = (pairs[at][0], chance.choice([None, b""]))

    for _ in range(chance.randint(1, 5)):
        yield (
            chance.choice(["by_customer", "by_email"]),
            chance.choice([lose, flip, swap, spell, bury]),
        )
    if chance.random() < 0.5:
        yield "primary", spell


@pytest.mark.spark
def test_what_a_check_finds_is_repaired_as_typed(make: Make, spark: Any) -> None:
    ground = make(ONE_FAMILY, APART)
    pairs = ground.sound(100)
    ground.write_all(pairs)
    right = ground.pairs()
    entry = ground.entry
    pairs["by_customer"].remove(entry("by_customer", row(1)))
    pairs["by_email"].append(entry("by_email", row(501)))
    emails = pairs["by_email"]
    emails[emails.index(entry("by_email", row(4)))] = entry("by_email", row(4) | {1: 999})
    pairs["primary"][15] = respelled(pairs["primary"][15], NOTE_IS_NULL)
    ground.write_all(pairs)
    damaged = ground.pairs()
    file = ground.root / "result.json"
    result = run_check(CheckRequest(catalog=ground.path), spark=spark)
    file.write_text(as_json.render(result))
    request = RepairRequest(table="pairs", catalog=ground.path, from_file=file)
    assert len(preview_repair(request).plan.actions) == 5
    assert ground.pairs() == damaged
    report = execute_repair(request)
    assert report.plan.refusals == ()
    assert ground.pairs() == right
    assert report.run is not None
    undone = execute_undo(ground.path, report.run)
    assert {one.outcome for one in undone.done} == {DONE}
    assert ground.pairs() == damaged
    assert "the table" in repair_as_text(report)


@pytest.mark.spark
def test_one_index_of_pairs_as_typed_keeps_the_last_copies_of_a_lost_row(
    make: Make, spark: Any
) -> None:
    ground = make(ONE_FAMILY, APART)
    pairs = ground.sound(100)
    pairs["primary"].remove(ground.row_pairs(row(3))[0])
    pairs["by_email"].append(ground.entry("by_email", row(501)))
    ground.write_all(pairs)
    request = RepairRequest(table="pairs", catalog=ground.path, indexes=("by_email",))
    report = preview_repair(request, spark=spark)
    assert [(action.primary_key or {})["id"] for action in report.plan.actions] == [501]
    assert [refusal.primary_key for refusal in report.plan.refusals] == [{"id": 3}]
    meant = preview_repair(replace(request, delete_last_copies=True), spark=spark)
    assert {(action.primary_key or {})["id"] for action in meant.plan.actions} == {3, 501}
