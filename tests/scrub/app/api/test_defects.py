# SPDX-License-Identifier: Apache-2.0
"""Defects are a tuple, and a table on request."""

import json

import pyarrow as pa

from reports.records import defect_record
from scrub.app import Defects
from scrub.app.api.defects import with_tables
from scrub.model.defect import DefectKind
from tests.reports.results import RESULTS, a_defect, a_run, a_table

MISSING = a_defect(DefectKind.MISSING, actual=None)
OTHER = a_defect(table="tickets", primary_key={"number": "a"}, snapshot="version 3")


def test_they_are_what_they_were() -> None:
    result = RESULTS["defective"]()
    told = with_tables(result)
    assert told.defects == result.defects
    assert isinstance(told.defects, tuple)
    assert (told.status, told.exit_code, told.tables) == (
        result.status,
        result.exit_code,
        result.tables,
    )


def test_a_table_has_the_fields_of_the_json_result() -> None:
    defects = Defects((MISSING, OTHER))
    table = defects.to_arrow()
    assert table.column_names == list(defect_record(MISSING))
    first, second = table.to_pylist()
    assert first["kind"] == "missing_secondary_index"
    assert first["id"] == MISSING.id
    assert json.loads(first["primary_key"]) == {"id": 17}
    assert first["actual"] is None
    assert json.loads(second["primary_key"]) == {"number": "a"}
    assert second["differing_columns"] == ["status"]


def test_without_defects_the_table_has_the_same_columns() -> None:
    table = Defects().to_arrow()
    assert table.num_rows == 0
    assert table.schema == Defects((MISSING,)).to_arrow().schema
    assert table.schema.field("differing_columns").type == pa.list_(pa.string())


def test_pandas_gets_the_same() -> None:
    frame = Defects((MISSING, OTHER)).to_pandas()
    assert list(frame["table"]) == ["orders", "tickets"]
    assert frame.loc[0, "actual"] is None


def test_redacted_it_shows_keys_only() -> None:
    told = with_tables(a_run(a_table(), defects=(OTHER,)), redact=True)
    (row,) = told.defects.to_arrow().to_pylist()
    assert json.loads(row["expected"])["status"] == "[redacted]"
    assert told.redacted
