# SPDX-License-Identifier: Apache-2.0
"""Which Delta tables can be read from their files alone."""

from typing import Any

from scrub.errors import first_line

READ_RIGHT = frozenset(
    {
        "columnMapping",  # when its mode is none, see below
        "deletionVectors",  # when no file of the version carries one, see below
        "timestampNtz",
        "typeWidening",  # older files hold narrower values, which the scan widens
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    }
)
_PURGE = "REORG TABLE ... APPLY (PURGE)"


def unsupported(table: Any) -> str | None:
    """Why the files alone do not give the rows of an opened table; None if they do."""
    features = set(table.protocol().reader_features or ())
    if strange := sorted(features - READ_RIGHT):
        return f"uses the table feature {', '.join(strange)}, which scrub does not read"
    mode = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    if mode != "none":
        return f"uses column mapping (mode {mode}), so its files name columns otherwise"
    if "deletionVectors" in features:
        return _deletion_vectors(table)
    return None


def _deletion_vectors(table: Any) -> str | None:
    from deltalake.exceptions import DeltaError

    try:
        carried = any(batch.num_rows for batch in table.deletion_vectors())
    except DeltaError as error:
        return f"has deletion vectors that could not be read ({first_line(error)})"
    if carried:
        return f"uses deletion vectors, so its files hold deleted rows (to purge them: {_PURGE})"
    return None
