# SPDX-License-Identifier: Apache-2.0
"""Predicates over Arrow batches agree with SQL's logic written out in plain Python."""

import operator
import pickle
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrub.codec.arrow_types import to_arrow
from scrub.codec.predicate import evaluate, truth
from scrub.model import predicate
from scrub.model.predicate import BOOLEAN, Node, Operator
from scrub.model.types import ColumnType, parse_type

COLUMNS = {
    "tiny": parse_type("tinyint"),
    "big": parse_type("bigint"),
    "text": parse_type("string"),
    "coded": parse_type("string"),
    "flag": parse_type("boolean"),
    "day": parse_type("date"),
    "price": parse_type("decimal(6,2)"),
}
FEW = {
    "tiny": st.sampled_from([-128, -1, 0, 1, 127]),
    "big": st.sampled_from([-(2**63), -1, 0, 1, 127, 2**63 - 1]),
    # Above the surrogates, UTF-8 order and UTF-16 order part ways.
    "text": st.sampled_from(["", "a", "A", "é", "z", "\uffee", "\U0001f600"]),
    "coded": st.sampled_from(["", "a", "A", "é", "z", "\uffee", "\U0001f600"]),
    "flag": st.booleans(),
    "day": st.dates(date(2024, 2, 27), date(2024, 3, 2)),
    "price": st.sampled_from([Decimal("-0.01"), Decimal("0.00"), Decimal("1.50"), Decimal("9999")]),
}
PAIRS = [("tiny", "big"), ("text", "coded"), ("flag", "flag"), ("day", "day"), ("price", "price")]
PYTHON = {
    Operator.EQUAL: operator.eq,
    Operator.NOT_EQUAL: operator.ne,
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
}

columns = st.sampled_from(list(COLUMNS)).map(lambda name: predicate.ColumnTerm(name, COLUMNS[name]))
operators = st.sampled_from(Operator)
rows = st.lists(
    st.fixed_dictionaries({name: st.none() | values for name, values in FEW.items()}), max_size=6
)


@st.composite
def comparisons(draw: st.DrawFn) -> predicate.Comparison:
    column = draw(columns)
    literal = predicate.LiteralTerm(draw(FEW[column.name]), column.type)
    sides = draw(st.permutations([column, literal]))
    return predicate.Comparison(sides[0], draw(operators), sides[1])


def _column_pair(names: tuple[str, str], by: Operator) -> predicate.Comparison:
    left, right = (predicate.ColumnTerm(name, COLUMNS[name]) for name in names)
    return predicate.Comparison(left, by, right)


memberships = columns.flatmap(
    lambda column: st.lists(FEW[column.name], min_size=1, max_size=3).map(
        lambda values: predicate.IsIn(column, tuple(values))
    )
)
leaves = (
    comparisons()
    | st.builds(_column_pair, st.sampled_from(PAIRS), operators)
    | memberships
    | columns.map(predicate.IsNull)
    | st.just(predicate.ColumnTerm("flag", BOOLEAN))
    | st.booleans().map(lambda value: predicate.LiteralTerm(value, BOOLEAN))
)


def _joined(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(children, min_size=2, max_size=3).map(tuple)
    return children.map(predicate.Not) | several.map(predicate.And) | several.map(predicate.Or)


conditions = st.recursive(leaves, _joined, max_leaves=6)


def reference(node: Node, row: dict) -> object:
    """What SQL says, one row at a time."""
    match node:
        case predicate.ColumnTerm(name=name):
            return row[name]
        case predicate.LiteralTerm(value=value):
            return value
        case predicate.Comparison(left=left, operator=by, right=right):
            sides = [reference(side, row) for side in (left, right)]
            if None in sides:
                return None
            if isinstance(sides[0], str):
                sides = [side.encode() for side in sides]
            return PYTHON[by](*sides)
        case predicate.IsNull(term=term):
            return row[term.name] is None
        case predicate.IsIn(term=term, values=values):
            return None if row[term.name] is None else row[term.name] in values
        case predicate.Not(operand=operand):
            value = reference(operand, row)
            return None if value is None else not value
        case predicate.And(operands=operands):
            values = [reference(operand, row) for operand in operands]
            return False if False in values else None if None in values else True
        case predicate.Or(operands=operands):
            values = [reference(operand, row) for operand in operands]
            return True if True in values else None if None in values else False


def batch_of(found: list[dict]) -> pa.RecordBatch:
    arrays = {
        name: pa.array([row[name] for row in found], to_arrow(column_type))
        for name, column_type in COLUMNS.items()
    }
    arrays["coded"] = arrays["coded"].dictionary_encode()
    return pa.RecordBatch.from_pydict(arrays)


@settings(max_examples=300, deadline=None)
@given(conditions, rows)
def test_evaluation_agrees_with_sql_logic_written_out(condition: Node, found: list[dict]) -> None:
    batch = batch_of(found)
    wanted = [reference(condition, row) for row in found]
    assert evaluate(condition, batch).to_pylist() == wanted
    assert truth(condition, batch).tolist() == [value is True for value in wanted]


@settings(max_examples=50, deadline=None)
@given(conditions, rows)
def test_a_predicate_survives_the_way_to_a_task(condition: Node, found: list[dict]) -> None:
    assert pickle.loads(pickle.dumps(condition)) == condition


def test_null_among_a_dictionarys_values_is_null() -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", None]))
    batch = pa.RecordBatch.from_pydict({"coded": coded})
    column = predicate.ColumnTerm("coded", COLUMNS["coded"])
    assert truth(predicate.IsNull(column), batch).tolist() == [False, True, True]
    assert evaluate(predicate.IsIn(column, ("a",)), batch).to_pylist() == [True, None, None]
    equals = predicate.Comparison(column, Operator.EQUAL, predicate.LiteralTerm("a", column.type))
    assert evaluate(predicate.Not(equals), batch).to_pylist() == [False, None, None]


@pytest.mark.parametrize(
    ("values", "wanted", "expected"),
    [
        (["a", "b", "a"], ("a", "b"), [True, True, True]),
        (["a", "b", "a"], ("c",), [False, False, False]),
        (["a", None, "b"], ("a", "b"), [True, None, True]),
        (["a", "b", "a"], ("a",), [True, False, True]),
        ([], ("a",), []),
        ([None, None], ("a",), [None, None]),
    ],
)
def test_an_answer_that_all_values_of_a_dictionary_share_is_every_rows(
    values: list[str | None], wanted: tuple[str, ...], expected: list[bool | None]
) -> None:
    coded = pa.array(values, pa.string()).dictionary_encode()
    batch = pa.RecordBatch.from_arrays([coded], ["coded"])
    node = predicate.IsIn(predicate.ColumnTerm("coded", parse_type("string")), wanted)
    assert evaluate(node, batch).to_pylist() == expected


def test_a_slice_of_a_batch_answers_for_its_own_rows() -> None:
    batch = batch_of([dict.fromkeys(COLUMNS) | {"coded": word} for word in "abcabc"]).slice(3, 2)
    column = predicate.ColumnTerm("coded", COLUMNS["coded"])
    equals = predicate.Comparison(column, Operator.EQUAL, predicate.LiteralTerm("b", column.type))
    assert truth(equals, batch).tolist() == [False, True]


@pytest.mark.parametrize("text", ["float", "double", "timestamp", "binary"])
def test_is_null_works_on_types_that_are_not_compared(text: str) -> None:
    column_type: ColumnType = parse_type(text)
    batch = pa.RecordBatch.from_pydict({"x": pa.array([None], to_arrow(column_type))})
    assert truth(predicate.IsNull(predicate.ColumnTerm("x", column_type)), batch).tolist() == [True]


def test_nan_is_not_null() -> None:
    batch = pa.RecordBatch.from_pydict({"x": pa.array([float("nan")])})
    assert truth(
        predicate.IsNull(predicate.ColumnTerm("x", parse_type("double"))), batch
    ).tolist() == [False]


def test_truth_is_a_numpy_array_of_flags() -> None:
    flags = truth(predicate.LiteralTerm(True, BOOLEAN), batch_of([]))
    assert flags.dtype == np.bool_
    assert len(flags) == 0
