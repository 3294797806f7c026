# SPDX-License-Identifier: Apache-2.0
"""Where a build is, and what its own session knows of it."""

from dataclasses import dataclass

from scrub.model.build import Method
from scrub.stores.building import Superseded
from scrub.stores.postgres.building.builds import Build, Builds, Range
from scrub.stores.postgres.building.session import BuildSession
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


@dataclass(frozen=True, slots=True)
class OpenBuild:
    """A build in the session in which its steps run."""

    place: BuildPlace
    builds: Builds
    session: BuildSession

    def record(self) -> Build:
        """What the database remembers of the build now."""
        return self.builds.get(self.session.connection, self.place.build)

    def range(self, phase: str, number: int) -> Range:
        with self.session.watched():
            return self.builds.range(self.session.connection, self.place.build, phase, number)

    def gave_way(self, phase: str, number: int, unless: str = "false") -> None:
        """Count a chunk that others were in the way of; `unless` is another reason, in SQL."""
        self.builds.gave_way(self.session.connection, self.place.build, phase, number, unless)

    def demand_runner(self, record: Build | None = None) -> None:
        """Raises Superseded if the build, as a record or now, is run by another process."""
        self.demand_is_runner((record or self.record()).runner)

    def demand_is_runner(self, runner: str | None) -> None:
        if runner != self.place.runner:
            raise Superseded(f"build {self.place.build} is run by another process")
