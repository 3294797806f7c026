# SPDX-License-Identifier: Apache-2.0
"""The check of a stream's indexes, at one moment of table and indexes, while the stream goes on."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrub.app.building.gate import NAMED_MAX, strict_verdict, why_not
from scrub.app.checking.tables import run_check
from scrub.app.gating.judging import DEFECTIVE
from scrub.app.streaming.snapshots import SnapshotPair
from scrub.errors import ScrubError
from scrub.model.gate import Judged
from scrub.model.progress import ProgressListener, ignore_progress
from scrub.model.request import CheckRequest, SparkOptions
from scrub.model.stream.requests import StreamRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class StreamCheck:
    """What checks at a pair of snapshots."""

    request: StreamRequest
    spark: "SparkSession | None" = None
    spark_options: SparkOptions | None = None
    on_progress: ProgressListener = ignore_progress
    limit: int = NAMED_MAX

    def __call__(self, indexes: Sequence[str], pair: SnapshotPair) -> Judged:
        result = run_check(
            CheckRequest(
                catalog=self.request.catalog,
                tables=(self.request.table,),
                indexes=tuple(indexes),
                checks=("index",),
                fresh=True,
                being_built=True,
                limit=self.limit,
            ),
            spark=self.spark,
            spark_options=self.spark_options,
            on_progress=self.on_progress,
            placed=pair.placing(self.request.table),
        )
        return Judged(result=result, verdict=strict_verdict(result, self.request.table, indexes))


@dataclass(slots=True)
class CheckBeside:
    """One check in a thread of its own, so that changes flow meanwhile."""

    check: StreamCheck
    indexes: tuple[str, ...]
    pair: SnapshotPair
    judged: Judged | None = None
    error: BaseException | None = None
    _thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, name="scrub-stream-check", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.judged = self.check(self.indexes, self.pair)
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits for it
            self.error = error


def refusal_of(beside: CheckBeside) -> tuple[str | None, str | None]:
    """Why the indexes are not published: what is defective, or what could not be looked at."""
    if isinstance(beside.error, ScrubError):
        return None, beside.error.with_hint
    if beside.error is not None:
        raise beside.error
    assert beside.judged is not None, "a check ends with a result or an error"
    judged = beside.judged
    reason = why_not(judged.result, judged.verdict)
    if reason is None:
        return None, None
    return (reason, None) if judged.verdict.exit_code == DEFECTIVE else (None, reason)
