# SPDX-License-Identifier: Apache-2.0
"""A table of pairs as an entry source: entries are keys and values, compared as bytes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from checks.choose import Chosen
from checks.columns.sifting import ROWS_MAX
from checks.failures import Failure
from checks.findings import SlotFindings
from checks.jobs import HELD_MAX
from checks.named_defects import Counts, HeldDefect, NamedDefects, count
from checks.numbering import Slot, number_plan, relations_of
from checks.pairs.beside import DifferingRows, PairsBeside
from checks.pairs.defects import PairDefects
from checks.pairs.entries import SparkPairs, differences, rows_sharing_keys, told_apart
from checks.pairs.held_naming import name_held
from checks.pairs.judging import PairJudging
from checks.pairs.native import Bitmaps, NativePairs, sift
from checks.pairs.scan import ENTRY_SCHEMA, PairSpec
from checks.pairs.table import PairTable
from checks.pairs.unread import UnreadPairs
from checks.parts import Part, cut, numbered
from checks.registry import PHYSICAL
from checks.scan_state import ScanState
from checks.shown_defects import ShownDefects
from checks.source import Decided, Named, Reading
from checks.work import Work
from scrub.model.constraint import PRIMARY_KEY
from scrub.model.defect import Defect, DefectKind
from scrub.model.plan import CheckPlan
from scrub.stores.base import ComparingStore

UNDECIDED = "rows that lack a family may have had it in a pair that could not be read"


class PairSource:
    """One table in key-value layout; see `checks.source`."""

    joins_all = False  # tasks decode every pair anyway, so leaving out buckets costs nothing
    sets_aside = False
    shown_strategy: str | None = None
    glue = " and "
    state: ScanState

    def __init__(self, reading: Reading) -> None:
        self.reading, self.settings = reading, reading.settings
        self.jobs = reading.jobs
        (self.plan,) = reading.plan.tables
        self.table = PairTable(self.plan)
        self.is_physical = self.plan.of_check(PHYSICAL.name) is not None
        counted = {one.constraint.name for one in self.plan.constraints}
        self.slots, self.relations = number_plan(reading.plan)
        # Where Spark brings pairs together, they are one part, however many files there are.
        whole = (Part(0, self.relations[0], ()),)
        self.parts = cut(self.relations) if self.table.is_native else whole
        self.unread = UnreadPairs()
        self.words = PairDefects(self.table)
        self.judging = PairJudging(
            words=self.words,
            unread=self.unread,
            relations=self.relations,
            redact=self.settings.redact,
            is_needed=self.is_physical or bool(self.slots),
            counts_rows=PRIMARY_KEY not in counted,
        )
        self.riding = {PHYSICAL.name: self.judging}
        # Rows that are there twice, with different values.
        self.differing_copies: DifferingRows = None

    @cached_property
    def spec(self) -> PairSpec:
        """What tasks are given; no pair is shown from a scan if all are named afterwards."""
        named_later = (
            self.settings.on_defect is not None or self.plan.of_check(PHYSICAL.name) is None
        )
        return PairSpec(
            table=self.table.kv,
            indexes=self.table.indexes,
            salt=self.state.salt,
            bucket_bits=self.plan.bucket_bits,
            limit=0 if named_later else self.settings.limit,
            by_row=len(self.table.kv.families) > 1,
            sorted=self.table.looks_at_order and self.table.is_native,
        )

    def later(self, plan: CheckPlan) -> "PairSource":
        later = PairSource(replace(self.reading, plan=plan))
        later.state = self.state  # the same salt: buckets must mean the same
        return later

    def comparing_store(self, slot: Slot) -> ComparingStore | None:  # noqa: ARG002
        return None

    # Reading

    def choose_by_rows(self, slots: Sequence[Slot]) -> Chosen:  # noqa: ARG002
        """Nothing chooses among pairs."""
        return {}

    def fingerprints(self, parts: Sequence[Part], slots: frozenset[int]) -> Work | DataFrame:  # noqa: ARG002
        """All indexes are added up, since the same pass judges every pair."""
        return self._read(parts, self.spec).fingerprints()

    def _read(self, parts: Sequence[Part], spec: PairSpec) -> NativePairs | SparkPairs:
        """Some parts, as tasks open them; where Spark reads, there is only one."""
        if self.table.is_native:
            return NativePairs(self.jobs.cores, self.table, numbered(parts), spec)
        return SparkPairs(self.jobs.spark, self.table, self.reading.stores, spec)

    def set_aside(self, error: Failure, parts: Sequence[Part], slots: Sequence[Slot]) -> bool:  # noqa: ARG002
        return False

    def try_otherwise(self, error: Failure) -> bool:  # noqa: ARG002
        return False

    def counted_entries(self, slot: Slot) -> tuple[int, int]:
        sums = self.state.sums.slots[slot.number]
        return sums.expected, sums.actual

    def look_beside(self, shown: ShownDefects, found: Mapping[int, SlotFindings]) -> None:
        """Bad pairs, the order of keys, and keys that are there twice."""
        if not self.judging.is_needed:
            return
        if self.table.is_native:
            self.state.bytes_read.setdefault(self.table.table.name, 0)
        if self.judging.gave_up:
            return
        beside = PairsBeside(
            table=self.table,
            spec=self.spec,
            read=self._read,
            jobs=self.jobs,
            state=self.state,
            parts=self.unread.readable(self.parts),
            judging=self.judging,
            is_physical=self.is_physical,
        )
        indexes = {slot.index.name: found[slot.number] for slot in self.slots}
        self.differing_copies = beside.look(shown, indexes)

    # Naming

    @contextmanager
    def named(self, slots: Sequence[int], chosen: Chosen) -> Iterator[Named]:
        bitmaps = {number: self._bitmap(number, chosen) for number in slots}
        if few := self._few_entries(bitmaps):
            yield self._named_here(few)
            return
        entries = self._entries(bitmaps).persist()
        frames: list[DataFrame] = []
        doubts: list[DataFrame] = []
        sharing: dict[int, NamedDefects] = {}
        try:
            for number in slots:
                index = self.slots[number].index
                decided, doubted = told_apart(
                    entries.where(f"slot = {number}"),
                    doubtful=bool(self.unread.doubtful[index.name]),
                    copied=self._copied_frame(),
                    partial=self._lacks_pairs,
                )
                frames.append(differences(decided, index, number))
                if doubted is not None:
                    doubts.append(differences(doubted, index, number))
                if index.unique:
                    sharing[number] = NamedDefects(rows_sharing_keys(decided, number))
            yield Named(
                NamedDefects(reduce(DataFrame.unionAll, frames)),
                NamedDefects(reduce(DataFrame.unionAll, doubts)) if doubts else None,
                sharing,
            )
        finally:
            entries.unpersist()

    def _named_here(self, few: Mapping[int, pa.Table]) -> Named:
        """The same of entries that are held here."""
        copied = self.differing_copies
        assert not isinstance(copied, DataFrame), "entries are held only if these are"
        found = {
            number: name_held(
                entries,
                self.slots[number].index,
                number,
                doubtful=bool(self.unread.doubtful[self.slots[number].index.name]),
                copied=copied or (),
                partial=self._lacks_pairs,
            )
            for number, entries in few.items()
        }
        return Named(
            NamedDefects.holding(one for of in found.values() for one in of.defects),
            NamedDefects.holding(one for of in found.values() for one in of.doubted),
            {
                number: NamedDefects.holding(of.sharing)
                for number, of in found.items()
                if self.slots[number].index.unique
            },
        )

    @property
    def _lacks_pairs(self) -> bool:
        """Whether a row may lack a pair because that could not be read."""
        return self.unread.rows and self.spec.by_row

    def _copied_frame(self) -> DataFrame | None:
        copied = self.differing_copies
        if isinstance(copied, frozenset):
            rows = [(bytearray(row),) for row in copied]
            return self.jobs.spark.createDataFrame(rows, "row binary")
        return copied

    def _bitmap(self, number: int, chosen: Chosen) -> "np.ndarray[tuple[int], np.dtype[np.uint8]]":
        buckets = chosen[number]
        if buckets is not None:
            return buckets.bitmap
        return np.packbits(np.ones(1 << self.plan.bucket_bits, dtype=np.bool_), bitorder="little")

    def _entries(self, bitmaps: Bitmaps) -> DataFrame:
        parts = self.unread.readable(self.parts)
        if self.table.is_native and not parts:  # all files were removed before a later look
            return self.jobs.spark.createDataFrame([], ENTRY_SCHEMA)
        return self.jobs.frame(self._read(parts, self.spec).entries(bitmaps))

    def _few_entries(self, bitmaps: Bitmaps) -> dict[int, pa.Table]:
        """The entries of keys that disagree, if tasks open the files and few are to be read."""
        size = 1 << self.plan.bucket_bits
        rows = 0
        for number, bitmap in bitmaps.items():
            flags = np.unpackbits(bitmap, count=size, bitorder="little").astype(np.bool_)
            rows += int(self.state.sums.slots[number].buckets[flags, :2].sum())
        parts = self.unread.readable(self.parts) if self.table.is_native else ()
        if not parts or rows > ROWS_MAX or isinstance(self.differing_copies, DataFrame):
            return {}
        job = NativePairs(self.jobs.cores, self.table, numbered(parts), self.spec)
        gathered = self.jobs.arrow(job.gathered_entries(bitmaps))
        found = sift(gathered, self.spec.salt, list(bitmaps)) or {}
        return found if sum(of.num_rows for of in found.values()) <= HELD_MAX else {}

    def decide(self, named: Named) -> Decided:
        undecided: dict[int, int] = {}
        if named.doubted is not None:
            doubted = count(named.doubted, self.jobs)
            undecided = {slot: sum(kinds.values()) for slot, kinds in doubted.items()}
        return Decided(named.defects, count(named.defects, self.jobs), undecided)

    def why_undecided(self, slot: Slot, number: int) -> str:  # noqa: ARG002
        return UNDECIDED

    def once_per_row(self, defects: NamedDefects, counts: Counts) -> NamedDefects | None:  # noqa: ARG002
        """A pair belongs to one index."""
        return None

    def can_settle(self, slot: Slot) -> bool:
        return not self.unread.undecidable(slot, *relations_of(slot, self.relations))

    @contextmanager
    def sharing(self, slot: Slot) -> Iterator[NamedDefects | None]:  # noqa: ARG002
        """Rows that share a key ask for one pair, so that their index differs: see `named`."""
        yield None

    def to_defect(self, row: HeldDefect, slot: Slot) -> Defect:
        if row["kind"] == DefectKind.UNIQUE_VIOLATION.value:
            return self.words.of_shared_key(slot.index, row)
        return self.words.of_difference(slot.index, row)
