# SPDX-License-Identifier: Apache-2.0
"""Predicates evaluated over Arrow batches, with SQL's three-valued logic.

A batch holds every column in the catalog's type; strings may be dictionary-encoded.
"""

from collections.abc import Callable
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scrub.codec.arrow_types import to_arrow
from scrub.model import predicate
from scrub.model.predicate import Node, Operator, Term

_COMPARE = {
    Operator.EQUAL: pc.equal,
    Operator.NOT_EQUAL: pc.not_equal,
    Operator.LESS: pc.less,
    Operator.LESS_OR_EQUAL: pc.less_equal,
    Operator.GREATER: pc.greater,
    Operator.GREATER_OR_EQUAL: pc.greater_equal,
}
_MIRRORED = {
    Operator.LESS: Operator.GREATER,
    Operator.LESS_OR_EQUAL: Operator.GREATER_OR_EQUAL,
    Operator.GREATER: Operator.LESS,
    Operator.GREATER_OR_EQUAL: Operator.LESS_OR_EQUAL,
}


def truth(node: Node, batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    """One flag per row: whether the node is true. NULL is not true."""
    flags: npt.NDArray[np.bool_] = (
        evaluate(node, batch).fill_null(False).to_numpy(zero_copy_only=False)
    )
    return flags


def evaluate(node: Node, batch: pa.RecordBatch) -> pa.Array:
    """One value per row, NULL included."""
    match node:
        case predicate.ColumnTerm(name=name):
            column = batch.column(name)
            return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        case predicate.LiteralTerm():
            return pa.repeat(_scalar(node), batch.num_rows)
        case predicate.Comparison(left=left, operator=operator, right=right):
            return _compare(left, operator, right, batch)
        case predicate.IsNull(term=term):
            # A NULL index of a dictionary has no value to be valid or not: it is NULL as well.
            valid = _for_each_value(batch.column(term.name), pc.is_valid)
            return pc.invert(valid.fill_null(False))
        case predicate.IsIn(term=term, values=values):
            wanted = pa.array(values, to_arrow(term.type))
            return _for_each_value(batch.column(term.name), lambda v: _is_in(v, wanted))
        case predicate.Not(operand=operand):
            return pc.invert(evaluate(operand, batch))
        case predicate.And(operands=operands):
            return reduce(pc.and_kleene, (evaluate(operand, batch) for operand in operands))
        case predicate.Or(operands=operands):
            return reduce(pc.or_kleene, (evaluate(operand, batch) for operand in operands))


def _compare(left: Term, operator: Operator, right: Term, batch: pa.RecordBatch) -> pa.Array:
    if isinstance(left, predicate.LiteralTerm) and isinstance(right, predicate.ColumnTerm):
        left, operator, right = right, _MIRRORED.get(operator, operator), left
    compare = _COMPARE[operator]
    if isinstance(left, predicate.ColumnTerm) and isinstance(right, predicate.LiteralTerm):
        scalar = _scalar(right)
        return _for_each_value(batch.column(left.name), lambda v: compare(v, scalar))
    return compare(evaluate(left, batch), evaluate(right, batch))


def _for_each_value(column: pa.Array, test: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """The test's answer per row; a dictionary's values are tested once, not once per row."""
    if not pa.types.is_dictionary(column.type):
        return test(column)
    answers = test(column.dictionary)
    nulls = answers.null_count or column.indices.null_count
    if len(answers) and not nulls and answers.true_count in (0, len(answers)):
        # A CHECK usually is true of all values: then no row needs to be looked at.
        return pa.repeat(answers[0], len(column))
    return answers.take(column.indices)


def _is_in(values: pa.Array, wanted: pa.Array) -> pa.Array:
    # Arrow answers false for NULL, SQL answers NULL.
    return pc.if_else(pc.is_valid(values), pc.is_in(values, value_set=wanted), None)


def _scalar(literal: predicate.LiteralTerm) -> pa.Scalar:
    return pa.scalar(literal.value, to_arrow(literal.type))
