# SPDX-License-Identifier: Apache-2.0
"""Expressions evaluated over Arrow batches, with SQL's three-valued logic.

A batch holds every column in the catalog's type; strings may be dictionary-encoded. What depends on
one such column is computed once for each value of its dictionary. InDoubt is raised where only
Spark can tell the value for some row.
"""

from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scrub.codec.arrow_types import to_arrow
from scrub.codec.functions.doubt import InDoubt
from scrub.codec.functions.table import computed
from scrub.model import predicate
from scrub.model.predicate import Case, Coalesce, Node, Operator, columns_in, node_type

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


Flags = npt.NDArray[np.bool_]


def truth(node: Node, batch: pa.RecordBatch) -> Flags:
    """One flag per row: whether the node is true. NULL is not true."""
    return _is_true(evaluate(node, batch))


def evaluate(node: Node, batch: pa.RecordBatch) -> pa.Array:
    """One value per row, NULL included."""
    return _decoded(evaluate_coded(node, batch))


def evaluate_coded(node: Node, batch: pa.RecordBatch) -> pa.Array:
    """The same; strings that depend on a dictionary may come as one."""
    if isinstance(node, predicate.ColumnTerm):
        return batch.column(node.name)
    names = columns_in(node)
    if len(names) == 1:
        (name,) = names
        column = batch.column(name)
        if pa.types.is_dictionary(column.type) and len(column.dictionary) < len(column):
            return _for_each_value(node, name, column)
    return _computed(node, batch)


def evaluate_where(node: Node, batch: pa.RecordBatch, needed: Flags) -> pa.Array:
    """The value for the rows where it is needed; others may have any, and are never in doubt."""
    try:
        return evaluate_coded(node, batch)
    except InDoubt:
        mask = pa.array(needed)
    values = evaluate(node, _plain(batch).filter(mask))
    return pc.replace_with_mask(pa.nulls(batch.num_rows, values.type), mask, values)


def _computed(node: Node, batch: pa.RecordBatch) -> pa.Array:
    match node:
        case predicate.LiteralTerm():
            return pa.repeat(_scalar(node), batch.num_rows)
        case predicate.Comparison(left=left, operator=operator, right=right):
            return _compare(left, operator, right, batch)
        case predicate.IsNull(term=term):
            return pc.is_null(evaluate(term, batch))
        case predicate.IsIn(term=term, values=values):
            wanted = pa.array(values, to_arrow(node_type(term)))
            return _is_in(evaluate(term, batch), wanted)
        case predicate.Not(operand=operand):
            return pc.invert(evaluate(operand, batch))
        case predicate.And(operands=operands):
            return reduce(pc.and_kleene, (evaluate(operand, batch) for operand in operands))
        case predicate.Or(operands=operands):
            return reduce(pc.or_kleene, (evaluate(operand, batch) for operand in operands))
        case Case():
            return _chosen(node, batch)
        case Coalesce():
            return _first_valid(node, batch)
        case predicate.Call():
            return computed(node, [_operand(operand, batch) for operand in node.operands])
    raise AssertionError(f"no node: {node}")


def _operand(node: Node, batch: pa.RecordBatch) -> pa.Array | pa.Scalar:
    return _scalar(node) if isinstance(node, predicate.LiteralTerm) else evaluate(node, batch)


def _compare(left: Node, operator: Operator, right: Node, batch: pa.RecordBatch) -> pa.Array:
    if isinstance(left, predicate.LiteralTerm):
        left, operator, right = right, _MIRRORED.get(operator, operator), left
    return _COMPARE[operator](evaluate(left, batch), _operand(right, batch))


def _chosen(node: Case, batch: pa.RecordBatch) -> pa.Array:
    result = pa.nulls(batch.num_rows, to_arrow(node.type))
    left = np.ones(batch.num_rows, np.bool_)
    for condition, value in (*node.branches, (None, node.otherwise)):
        if not left.any():
            break
        holds = left
        if condition is not None:
            holds = left & _is_true(evaluate_where(condition, batch, left))
        if value is not None and holds.any():
            values = _decoded(evaluate_where(value, batch, holds))
            result = pc.if_else(pa.array(holds), values, result)
        left = left & ~holds
    return result


def _first_valid(node: Coalesce, batch: pa.RecordBatch) -> pa.Array:
    first, *others = node.operands
    result = evaluate(first, batch)
    for operand in others:
        if not result.null_count:
            break
        missing = result.is_null().to_numpy(zero_copy_only=False)
        result = pc.coalesce(result, _decoded(evaluate_where(operand, batch, missing)))
    return result


def _for_each_value(node: Node, name: str, column: pa.DictionaryArray) -> pa.Array:
    """The answer per row, from those per value: these are fewer."""
    values, codes = column.dictionary, column.indices
    if codes.null_count:  # a row without a code has NULL, of which a node may make something
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
        codes = codes.fill_null(len(values) - 1)
    answers = _computed(node, pa.RecordBatch.from_arrays([values], [name]))
    if pa.types.is_string(answers.type) and not answers.null_count:
        return pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), answers)
    is_flag = pa.types.is_boolean(answers.type) and len(answers) and not answers.null_count
    if is_flag and answers.true_count in (0, len(answers)):
        # A CHECK usually is true of all values: then no row needs to be looked at.
        return pa.repeat(answers[0], len(column))
    return answers.take(codes)


def _is_true(values: pa.Array) -> Flags:
    flags: Flags = values.fill_null(False).to_numpy(zero_copy_only=False)
    return flags


def _is_in(values: pa.Array, wanted: pa.Array) -> pa.Array:
    # Arrow answers false for NULL, SQL answers NULL.
    return pc.if_else(pc.is_valid(values), pc.is_in(values, value_set=wanted), None)


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without dictionaries: those may hold values that none of some rows has."""
    return pa.RecordBatch.from_arrays([*map(_decoded, batch.columns)], batch.schema.names)


def _decoded(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _scalar(literal: predicate.LiteralTerm) -> pa.Scalar:
    return pa.scalar(literal.value, to_arrow(literal.type))
