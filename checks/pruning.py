# SPDX-License-Identifier: Apache-2.0
"""Splits that need not be read: their partition values say that `--where` chooses no row of them.

A partition value is the same in every row of a split. A condition is worked out with these values
alone; where the rest of it decides, the split is read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

import pyarrow as pa

from scrub.codec.predicate import evaluate
from scrub.model.predicate import And, ColumnTerm, Node, Not, Or
from scrub.model.relation import RelationFacts, Split
from scrub.model.types import ColumnType, TypeName
from scrub.stores.files.partition_values import PartitionValueError, parse_partition_value

Truth = bool | None  # None: NULL
_ANYTHING: frozenset[Truth] = frozenset((True, False, None))


def pruned(
    facts: RelationFacts, condition: Node | None, types: Mapping[str, ColumnType]
) -> tuple[RelationFacts, tuple[Split, ...]]:
    """The relation without splits in which no row can fulfil a condition, and these splits.

    `types` are of the columns that the condition is about, as far as rows of the relation hold
    them. One split is left in any case: a relation without any is one that only Spark can list.
    """
    if condition is None:
        return facts, ()
    answers: dict[tuple[tuple[str, str | None], ...], bool] = {}
    left: list[Split] = []
    out: list[Split] = []
    for split in facts.splits:
        values = tuple(split.partition.items())
        if values not in answers:
            answers[values] = _may_fulfil(split, condition, types)
        (left if answers[values] else out).append(split)
    if not left and out:
        left.append(out.pop(0))
    if not out:
        return facts, ()
    rows = [split.rows for split in left]
    known = None if None in rows else sum(number for number in rows if number is not None)
    size = sum(split.bytes for split in left)
    return replace(facts, splits=tuple(left), rows=known, bytes=size), tuple(out)


def _may_fulfil(split: Split, condition: Node, types: Mapping[str, ColumnType]) -> bool:
    known: dict[str, pa.Array] = {}
    for name, text in split.partition.items():
        # A time without a zone is another instant for each of those who read it.
        if name not in types or types[name].name is TypeName.TIMESTAMP:
            continue
        try:
            known[name] = pa.repeat(parse_partition_value(text, types[name]), 1)
        except PartitionValueError:
            continue  # whoever reads the split says what is wrong with it
    return not known or True in _truths(condition, pa.RecordBatch.from_pydict(known))


def _truths(node: Node, known: pa.RecordBatch) -> frozenset[Truth]:
    """What a condition can be in rows with these values."""
    match node:
        case Not(operand=operand):
            return frozenset(None if t is None else not t for t in _truths(operand, known))
        case And(operands=operands):
            return _joined([_truths(operand, known) for operand in operands], decided_by=False)
        case Or(operands=operands):
            return _joined([_truths(operand, known) for operand in operands], decided_by=True)
    if not set(_columns_of(node)) <= set(known.schema.names):
        return _ANYTHING
    try:
        return frozenset(evaluate(node, known).to_pylist())
    except (ArithmeticError, ValueError):  # it raises for the rows, too, and is reported then
        return _ANYTHING


def _joined(operands: list[frozenset[Truth]], *, decided_by: bool) -> frozenset[Truth]:
    """What AND can be, which one false operand decides, or OR."""
    possible: set[Truth] = set()
    if any(decided_by in truths for truths in operands):
        possible.add(decided_by)
    if all((not decided_by) in truths for truths in operands):
        possible.add(not decided_by)
    if any(None in truths for truths in operands):
        possible.add(None)
    return frozenset(possible)


def _columns_of(node: object) -> Iterator[str]:
    """The columns that a node is about, whatever it is made of."""
    if isinstance(node, ColumnTerm):
        yield node.name
    elif isinstance(node, tuple):
        for part in node:
            yield from _columns_of(part)
    elif is_dataclass(node):
        for field in fields(node):
            yield from _columns_of(getattr(node, field.name))
