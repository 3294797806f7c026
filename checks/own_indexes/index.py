# SPDX-License-Identifier: Apache-2.0
"""The check of one of the database's own B-tree indexes, with all its partitions."""

from collections.abc import Callable

from checks.own_indexes.contents import look_at_contents
from checks.own_indexes.defects import OwnIndexDefects
from checks.own_indexes.findings import OwnIndexFindings
from checks.own_indexes.leaf import look_at_leaf
from checks.own_indexes.report import LeafReport
from checks.own_indexes.searched import look_and_search
from scrub.errors import RelationMismatch
from scrub.model.table import Index, Table
from scrub.stores.postgres.own_indexes.description import (
    BTREE,
    OwnIndex,
    describe_index,
    leaf_indexes,
)
from scrub.stores.postgres.own_indexes.plan_proof import Way
from scrub.stores.postgres.own_indexes.reader import OwnIndexReader
from scrub.stores.postgres.relations import find_relation
from scrub.stores.postgres.store import PostgresStore

__all__ = ["OwnIndexFindings", "check_own_index"]


def check_own_index(
    store: PostgresStore, table: Table, index: Index, limit: int
) -> OwnIndexFindings:
    """Look at the index that `index.relation` names, or at its partitions; name up to `limit`."""
    connection, identifier = store.snapshot.connection, store.snapshot.identifier
    findings = OwnIndexFindings(snapshot=f"snapshot {identifier}")
    described = find_own_index(store, table, index)
    findings.not_applicable = why_not_applicable(described)
    if findings.not_applicable:
        return findings
    _compare_with_catalog(index, described, findings)
    findings.find_unusable(described)
    for leaf in leaf_indexes(connection, described):
        reader = OwnIndexReader(store.conninfo, identifier, leaf)
        naming = OwnIndexDefects(table, index, leaf, findings.snapshot)
        LeafReport(reader, naming, findings, limit).make(_look_for(reader))
    return findings


def _look_for(reader: OwnIndexReader) -> Callable[[LeafReport], None]:
    """The look that tells most, by what the role and the index allow."""
    if not reader.index.is_readable:
        return look_at_contents
    # A condition, too, makes the planner follow all entries of an index that has it.
    follows = reader.readings.can_ask_for(Way.POINTERS, 0) or reader.index.predicate is not None
    return look_at_leaf if follows else look_and_search


def find_own_index(store: PostgresStore, table: Table, index: Index) -> OwnIndex:
    """The index as the server describes it; RelationMismatch if the table has no such one."""
    connection = store.snapshot.connection
    described = describe_index(connection, store.schema, index.relation)
    owner = find_relation(connection, store.schema, table.relation)
    if described.table_oid != owner.oid:
        raise RelationMismatch(
            f"index {index.relation} belongs to {described.table_name}, not to {owner.label}"
        )
    return described


def why_not_applicable(native: OwnIndex) -> str | None:
    """Why an index cannot be walked through in its order; None if it can."""
    if native.method != BTREE:
        return f"only B-trees can be read in their order; it is {native.method}"
    if any(key.order is None for key in native.keys):
        return "its operator class has no function to tell the order by"
    return None


def _compare_with_catalog(index: Index, native: OwnIndex, findings: OwnIndexFindings) -> None:
    names = [column.name for column in native.keys]
    meant = [column.source for column in index.key]
    plain = not native.has_expressions and not any(c.is_expression for c in index.key)
    if meant and (len(names) != len(meant) or (plain and names != meant)):
        findings.note(
            f"the catalog says ({', '.join(meant)}), the index is on ({', '.join(names)})"
        )
    if index.unique != native.is_unique:
        findings.note(f"in the database the index is {'' if native.is_unique else 'not '}unique")
