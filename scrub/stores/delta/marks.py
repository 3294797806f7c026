# SPDX-License-Identifier: Apache-2.0
"""What the log of an index says: which version of the table it shows, and how far a build is.

The version is a transaction in the log, so it is committed together with the entries. The state of
a build is a table property. An index that scrub did not build has no such property, and is public.
"""

from enum import StrEnum

from scrub.errors import ScrubError
from scrub.stores.delta.snapshot import DeltaSnapshot

STATE = "scrub.state"
TABLE_ID = "scrub.table_id"
_APPLICATION = "scrub-follow"


class BuildState(StrEnum):
    """Whether readers may use an index."""

    BUILDING = "building"
    PUBLIC = "public"
    REMOVING = "removing"  # files may be gone already; nobody may write to it


def follow_mark(table_relation: str) -> str:
    """The application ID that commits of a following index carry."""
    return f"{_APPLICATION}:{table_relation}"


def followed_version(snapshot: DeltaSnapshot, table_relation: str) -> int | None:
    """The version of its table that an index shows; None if it does not follow it."""
    version = snapshot.table.transaction_version(follow_mark(table_relation))
    return None if version is None else int(version)


def require_same_table(
    index: DeltaSnapshot, table: DeltaSnapshot, name: str, error: type[ScrubError]
) -> None:
    """Raise an error if the table is not the one that the index of this name was built from."""
    known = index.configuration.get(TABLE_ID)
    if known is not None and known != table.id:
        raise error(
            f"{table.relation} is another table than the one that index {name} was built from: it "
            "was recreated",
            hint="rebuild the index",
        )


def build_state(snapshot: DeltaSnapshot) -> BuildState:
    return BuildState(snapshot.configuration.get(STATE, BuildState.PUBLIC))
