# SPDX-License-Identifier: Apache-2.0
"""The statement that rebuilds an own index of PostgreSQL while readers and writers continue."""

from scrub.model.table import Index, Store
from scrub.stores.postgres.quoting import qualified


def reindex_statement(index: str) -> str:
    """Rebuild the index that SQL calls so; without a semicolon."""
    return f"REINDEX INDEX CONCURRENTLY {index}"


def reindex_of(store: Store, index: Index) -> str:
    """The statement for an index of the catalog."""
    return reindex_statement(qualified(store.schema or "public", index.relation))
