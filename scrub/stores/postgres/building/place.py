# SPDX-License-Identifier: Apache-2.0
"""Where a build is."""

from dataclasses import dataclass

from scrub.model.build import Method
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.index_names import IndexNames


@dataclass(frozen=True, slots=True)
class BuildPlace:
    """Where a build is and what it makes: all that a task must be told."""

    conninfo: str
    schema: str
    table_relation: str
    build: int
    runner: str
    method: Method
    entries: tuple[EntrySql, ...]
    names: tuple[IndexNames, ...] = ()  # of what is only to be removed

    @property
    def made(self) -> tuple[IndexNames, ...]:
        """The indexes of the build."""
        return self.entries or self.names
