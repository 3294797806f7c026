# SPDX-License-Identifier: Apache-2.0
"""How far a run has come, from reports that may be late, repeated, or based on estimates.

Within a phase neither rows nor percentage ever fall. A phase whose rows start again is another
pass, and is called so. Only the time in which a phase reports rows counts for its rate.
"""

from dataclasses import dataclass, field

from scrub.model.progress import Progress

_WHOLE = 100
_MINUTE = 60


@dataclass(slots=True)
class _Phase:
    """What is known of a phase, however often the run comes back to it."""

    name: str
    number: int = 1
    rows: int = 0
    total: int | None = None
    percent: int = 0
    began: float = 0.0  # since when this rate is measured
    rows_before: int = 0

    @property
    def label(self) -> str:
        return self.name if self.number == 1 else f"{self.name}, pass {self.number}"

    def starts_again(self, progress: Progress) -> bool:
        """Late reports have the total of those before them; another pass has its own."""
        return progress.rows_done == 0 < self.rows and progress.rows_total != self.total

    def note(self, progress: Progress) -> None:
        self.rows = max(self.rows, progress.rows_done)
        self.total = progress.rows_total
        self.percent = max(self.percent, self.percent_now)

    @property
    def percent_now(self) -> int:
        """Of the total as it is estimated now; less than before if that has grown."""
        return min(self.rows * _WHOLE // self.total, _WHOLE) if self.total else 0

    def measure_from(self, now: float) -> None:
        self.began, self.rows_before = now, self.rows


@dataclass(slots=True)
class Course:
    """Takes reports in and describes the latest state; the caller sees to threads."""

    _phases: dict[str, _Phase] = field(default_factory=dict)
    _now_in: _Phase | None = None

    def take(self, progress: Progress, now: float) -> bool:
        """Whether a phase, or another pass of one, has begun with this report."""
        phase = self._phases.get(progress.phase)
        is_new = phase is None or phase.starts_again(progress) or self._is_another_pass(progress)
        if phase is None or (is_new and phase.rows):
            number = phase.number + 1 if phase else 1
            phase = self._phases[progress.phase] = _Phase(progress.phase, number)
        has_changed = phase is not self._now_in
        phase.note(progress)
        if has_changed:
            phase.measure_from(now)  # what was done in between is not counted for its rate
            self._now_in = phase
        return has_changed

    def describe(self, now: float) -> str:
        """The phase, and what is known of its rows, rate and time left."""
        if self._now_in is None:
            return ""
        return ", ".join([self._now_in.label, *_rows(self._now_in), *_rate(self._now_in, now)])

    def _is_another_pass(self, progress: Progress) -> bool:
        """After another phase, fewer rows than before are not late, but new."""
        phase = self._phases[progress.phase]
        return phase is not self._now_in and progress.rows_done < phase.rows


def _rows(phase: _Phase) -> list[str]:
    if not phase.rows:
        return []
    if not phase.total:
        return [f"{phase.rows:,} rows"]
    of = f" of {phase.total:,}" if phase.rows <= phase.total else ""
    share = f" ({phase.percent}%)" if phase.percent_now == phase.percent else ""
    return [f"{phase.rows:,}{of} rows{share}"]


def _rate(phase: _Phase, now: float) -> list[str]:
    rows, seconds = phase.rows - phase.rows_before, now - phase.began
    if rows <= 0 or seconds <= 0:
        return []
    rate = rows / seconds
    left = (phase.total or 0) - phase.rows
    return [f"{rate:,.0f} rows/s"] + ([f"{_duration(left / rate)} left"] if left > 0 else [])


def _duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < _MINUTE else f"{whole // _MINUTE} min {whole % _MINUTE} s"
