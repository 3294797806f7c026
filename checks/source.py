# SPDX-License-Identifier: Apache-2.0
"""Where the entries of a run come from.

An entry source says what a relation's parts are, how tasks turn a part into digests, how chosen
buckets become entries, and how a defect is named. `checks.columns.source` and `checks.pairs.source`
are the two there are. Everything else of a run is the same for both: see `checks.run`.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from checks.choose import Chosen
from checks.failures import Failure
from checks.findings import SlotFindings
from checks.jobs import Jobs
from checks.named_defects import Counts, HeldDefect, NamedDefects
from checks.numbering import Relation, Slot
from checks.parts import Part
from checks.riding import Riding
from checks.run_settings import RunSettings
from checks.scan_state import ScanState
from checks.shown_defects import ShownDefects
from checks.unread import Unread
from checks.work import Work
from scrub.model.defect import Defect
from scrub.model.plan import CheckPlan
from scrub.stores.base import ComparingStore, ReadableStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a source reads, and with what."""

    plan: CheckPlan
    stores: Mapping[str, ReadableStore]
    settings: RunSettings
    jobs: Jobs

    @property
    def spark(self) -> "SparkSession":
        """The session, which starts when it is first asked for."""
        return self.jobs.spark


@dataclass(frozen=True, slots=True)
class Named:
    """What the entries of some buckets show."""

    defects: NamedDefects
    doubted: NamedDefects | None = None  # differences of rows that prove nothing, apart from these
    sharing: Mapping[int, NamedDefects] = field(default_factory=dict)
    """By slot, rows that share a key of a unique index, where the same entries show them."""


@dataclass(frozen=True, slots=True)
class Decided:
    """Defects without those that rows which prove nothing could explain."""

    defects: NamedDefects
    counts: Counts
    undecided: Mapping[int, int]  # by slot, how many could be explained


class EntrySource(Protocol):
    """The entries of one plan, expected and actual."""

    reading: Reading
    slots: tuple[Slot, ...]
    relations: tuple[Relation, ...]
    parts: tuple[Part, ...]
    state: ScanState

    joins_all: bool  # whether joining everything can be cheaper than reading some buckets
    sets_aside: bool  # whether a failed job is searched for the part to blame
    shown_strategy: str | None  # what an outcome says where fingerprints were compared
    glue: str  # what stands between two reasons

    @property
    def unread(self) -> Unread:
        """What could not be read, and what follows from that."""

    @property
    def riding(self) -> Mapping[str, Riding]:
        """By name, the checks that share the scan."""

    def comparing_store(self, slot: Slot) -> ComparingStore | None:
        """The database that compares this index with its table, if the plan says so."""

    def choose_by_rows(self, slots: Sequence[Slot]) -> Chosen:
        """Learn the primary keys of chosen rows, by which the entries of indexes are found.

        Returns the indexes for which there are too many, so that they have to be joined.
        """

    def fingerprints(self, parts: Sequence[Part], slots: frozenset[int]) -> "Work | DataFrame":
        """A job that adds up parts of one engine for some indexes, with a report on each part."""

    def set_aside(self, error: Failure, parts: Sequence[Part], slots: Sequence[Slot]) -> bool:
        """Whether what made a job fail was found and set aside, so that it can be tried again."""

    def try_otherwise(self, error: Failure) -> bool:
        """Whether the same can be read another way from now on."""

    def named(self, slots: Sequence[int], chosen: Chosen) -> AbstractContextManager[Named]:
        """What is wrong with the entries of some buckets, computed once however often asked."""

    def decide(self, named: Named) -> Decided:
        """Leave out what rows that prove nothing could explain."""

    def why_undecided(self, slot: Slot, number: int) -> str:
        """Why so many differences are undecided."""

    def once_per_row(self, defects: NamedDefects, counts: Counts) -> NamedDefects | None:
        """The defects with a row that several indexes show counted once; None if there is none."""

    def counted_entries(self, slot: Slot) -> tuple[int, int]:
        """Expected and actual entries of an index that was joined without fingerprints."""

    def can_settle(self, slot: Slot) -> bool:
        """Whether a second look could tell lag from damage."""

    def later(self, plan: CheckPlan) -> "EntrySource":
        """The same source at later snapshots, with buckets that mean the same."""

    def sharing(self, slot: Slot) -> AbstractContextManager[NamedDefects | None]:
        """Rows that share a key of a unique index, if that takes a look of its own."""

    def to_defect(self, row: HeldDefect, slot: Slot) -> Defect:
        """A named defect in the words of the model."""

    def look_beside(self, shown: ShownDefects, found: Mapping[int, SlotFindings]) -> None:
        """Look at what the scan could not show; what is found may be shown at once."""
