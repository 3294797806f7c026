# SPDX-License-Identifier: Apache-2.0
"""What the user asks of a check."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from scrub.model.command_line import DEFAULT_CATALOG
from scrub.model.pace import Limits


class Engine(StrEnum):
    """Who scans: the task itself (native), or Spark SQL's built-in functions."""

    AUTO = "auto"
    NATIVE = "native"
    SQL = "sql"


class Strategy(StrEnum):
    """How sides are compared: by fingerprints with a drill-down, or by joining everything."""

    AUTO = "auto"
    FINGERPRINT = "fingerprint"
    MERGE = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOf:
    """A version (of the relation named, or else of the table) or a moment (of everything)."""

    version: int | None = None
    time: datetime | None = None
    relation: str | None = None  # an index's or table's name


def parse_as_of(text: str) -> AsOf:
    """`12`, `NAME=12`, or a time, which is UTC unless it says otherwise."""
    relation, _, version = text.rpartition("=")
    if version.isascii() and version.isdigit():
        return AsOf(version=int(version), relation=relation or None)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"'{text}' is neither a version (12), nor a version of one table or index "
            "(by_email=12), nor a time (2026-11-16T09:00:00Z)"
        ) from None
    return AsOf(time=time if time.tzinfo else time.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """One `scrub check`, as typed; no tables means every table of the catalog."""

    catalog: Path = DEFAULT_CATALOG
    tables: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()  # empty: all
    constraints: tuple[str, ...] = ()  # empty: all
    checks: tuple[str, ...] = ()  # empty: as the layout and the constraints of a table suggest
    checks_beside: tuple[
        tuple[str | None, str], ...
    ] = ()  # of a table, or of all; if none is named
    strategy: Strategy = Strategy.AUTO
    engine: Engine = Engine.AUTO
    as_of: tuple[AsOf, ...] = ()
    where: str | None = None
    settle_seconds: float | None = None
    limit: int = 100
    redact: bool = False
    all_defects: Path | None = None  # every defect goes here as JSON lines, whatever the limit
    fresh: bool = False  # do not resume an interrupted check
    rows_per_second: int | None = None
    bytes_per_second: int | None = None
    pause_file: Path | None = None
    constraints_unasked: bool = True  # check constraints where nobody names the checks to make
    being_built: bool = False  # check indexes that are not published yet: the gate before that

    @property
    def limits(self) -> Limits:
        """How fast the check may read."""
        return Limits(
            rows_per_second=self.rows_per_second,
            bytes_per_second=self.bytes_per_second,
            pause_file=self.pause_file,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """How to get a session when none is active."""

    master: str | None = None
    remote: str | None = None
    conf: tuple[tuple[str, str], ...] = ()
    verbose: bool = False
    short_lived: bool = False  # the process ends with the session, and so does its JVM
