# SPDX-License-Identifier: Apache-2.0
"""Committing files as the version that follows the one that was read, or not at all."""

import random
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scrub.errors import RelationMismatch, StoreUnavailable, first_line
from scrub.stores.delta.snapshot import DeltaSnapshot
from scrub.stores.locations import open_filesystem

ATTEMPTS_MAX = 60
_PAUSE_SECONDS_FIRST, _PAUSE_SECONDS_MAX = 0.02, 2.0
COMMIT_KEY = "scrub_commit"
"""Under this key, each commit of ours carries a number of its own."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A number that a commit carries in the name of an application, for those who come later."""

    application: str
    version: int


def commit_next(snapshot: DeltaSnapshot, actions: Sequence[Any], mark: Mark | None) -> bool:
    """Commit files as the version after the snapshot's; False if somebody else made that one.

    If the outcome of the commit is unknown, it raises: nothing of the commit may be removed.
    """
    from deltalake import CommitProperties, Transaction
    from deltalake.exceptions import CommitFailedError, DeltaError

    own = uuid.uuid4().hex
    properties = CommitProperties(
        custom_metadata={COMMIT_KEY: own},
        max_commit_retries=0,  # whoever comes between makes the next version ours no more
        app_transactions=[Transaction(mark.application, mark.version)] if mark else None,
    )
    try:
        snapshot.table.create_write_transaction(
            list(actions),
            "append",
            snapshot.table.schema(),
            list(snapshot.partition_columns),
            commit_properties=properties,
        )
    except (CommitFailedError, OSError) as error:
        text = commit_text(snapshot, snapshot.version + 1)
        if text is None:
            raise StoreUnavailable(
                f"Delta table {snapshot.relation}: the commit failed: {first_line(error)}"
            ) from error
        return own in text
    except DeltaError as error:
        raise RelationMismatch(
            f"Delta table {snapshot.relation} does not take the commit: {first_line(error)}"
        ) from error
    return True


def until_committed(
    relation: str,
    attempt: Callable[[], bool],
    sleep: Callable[[float], None] = time.sleep,
    hint: str | None = None,
) -> None:
    """Try to commit until nobody else comes first; raises StoreUnavailable after many times."""
    for number in range(ATTEMPTS_MAX):
        if attempt():
            return
        # Chance decides who goes first; who waits longer meets fewer others.
        longest = min(_PAUSE_SECONDS_FIRST * 2**number, _PAUSE_SECONDS_MAX)
        sleep(random.uniform(0, longest))
    raise StoreUnavailable(
        f"Delta table {relation}: others committed first, {ATTEMPTS_MAX} times in a row", hint=hint
    )


def commit_text(snapshot: DeltaSnapshot, version: int) -> str | None:
    """A commit as it stands in the log; None if it is not there."""
    path = f"{snapshot.uri}/_delta_log/{version:020}.json"
    filesystem, path = open_filesystem(path, snapshot.options)
    try:
        with filesystem.open_input_stream(path) as stream:
            return bytes(stream.read()).decode()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreUnavailable(
            f"Delta log of {snapshot.relation}: commit {version}: {first_line(error)}"
        ) from error
