# SPDX-License-Identifier: Apache-2.0
"""Tests whether expressions of an index are immutable, by evaluating them with other settings.

If an expression has another value under another TimeZone, what the index should hold depends on who
wrote the row and on who asks, and a comparison proves nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scrub.stores.postgres.own_indexes.description import OwnIndex
from scrub.stores.postgres.own_indexes.functions import Suspect, suspect_expressions
from scrub.stores.postgres.own_indexes.plan_proof import Demand, ReadingRefused, Way
from scrub.stores.postgres.own_indexes.readings import digest
from scrub.stores.postgres.own_indexes.sessions import IndexSessions

# Of the two zones, one shows another date for any instant; neither has whole hours. No database of
# zones is needed for them. Whatever a server is set to, one of each pair is something else.
_OTHERS: Mapping[str, tuple[str, str]] = {
    "TimeZone": ("<+1345>-13:45", "<-1130>+11:30"),
    "DateStyle": ("SQL, DMY", "German"),
    "IntervalStyle": ("sql_standard", "iso_8601"),
    "extra_float_digits": ("0", "-15"),
    "bytea_output": ("escape", "hex"),
    "default_text_search_config": ("pg_catalog.simple", "pg_catalog.english"),
    "xmlbinary": ("hex", "base64"),
    "xmloption": ("document", "content"),
    "array_nulls": ("off", "on"),
    "quote_all_identifiers": ("on", "off"),
    "lc_monetary": ("C", "C"),
    "lc_numeric": ("C", "C"),
    "lc_time": ("C", "C"),
}
_BOTH = (0, 1)


@dataclass(frozen=True, slots=True)
class Instability:
    """A column of the index, or (None) its condition, that is not immutable, and why."""

    number: int | None
    reason: str


def instabilities(sessions: IndexSessions, index: OwnIndex, seed: int) -> tuple[Instability, ...]:
    """The expressions of an index that are not immutable, whatever their functions say."""
    if not index.has_expressions and not index.predicate:
        return ()
    with sessions.session({}) as connection:
        of_expressions, of_condition = suspect_expressions(connection, index.oid)
    numbers = [n for n, column in enumerate(index.columns) if column.is_expression]
    looked_at: dict[int | None, Suspect | None] = {
        **dict(zip(numbers, of_expressions, strict=True)),
        None: of_condition,
    }
    doubtful = {number: suspect for number, suspect in looked_at.items() if suspect is not None}
    certain = {number: one.reason for number, one in doubtful.items() if one.reason}
    tried = [number for number in doubtful if number not in certain]
    found = _Trial(sessions, index, seed, tried).found() if tried else {}
    return tuple(Instability(number, reason) for number, reason in {**certain, **found}.items())


@dataclass(frozen=True, slots=True)
class _Trial:
    """Evaluates expressions for all rows, and again with other settings."""

    sessions: IndexSessions
    index: OwnIndex
    seed: int
    numbers: Sequence[int | None]

    def found(self) -> dict[int | None, str]:
        """Why some of them give something else than usual."""
        usual = self._sums({})
        all_others = [{name: pair[way] for name, pair in _OTHERS.items()} for way in _BOTH]
        together = set().union(*(self._changed(usual, others) for others in all_others))
        reasons: dict[int | None, str] = {}
        for name in (None, *_OTHERS):  # without any change first: some differ each time
            left = together - set(reasons)
            if not left:
                break
            others = [{name: value} for value in _OTHERS[name]] if name else [{}]
            changed = set().union(*(self._changed(usual, settings) for settings in others))
            told = f"depends on {name}" if name else "gives something else each time"
            reasons |= dict.fromkeys(changed & left, told)
        return {**dict.fromkeys(together, "depends on settings of the session"), **reasons}

    def _changed(self, usual: Sequence[int | None], settings: Mapping[str, str]) -> set[int | None]:
        """Those that give something else with these settings; all if one of them fails."""
        try:
            sums = self._sums(settings)
        except ReadingRefused:
            return set(self.numbers)
        triples = zip(self.numbers, usual, sums, strict=True)
        return {number for number, before, now in triples if before != now}

    def _sums(self, settings: Mapping[str, str]) -> Sequence[int | None]:
        """The sums of what each of them gives, over all rows."""
        index = self.index
        demand = Demand(table=index.table_name, index=index.name, ways=(Way.ROWS,))
        values = ", ".join(f"pg_catalog.sum({self._digest(number)})" for number in self.numbers)
        query = f"SELECT {values} FROM ONLY {index.table_sql}"
        (row,) = self.sessions.rows(query, demand, settings)
        return tuple(row)

    def _digest(self, number: int | None) -> str:
        """Of what a row gives; rows outside the condition need not give anything."""
        condition = self.index.predicate or "true"
        if number is None:
            return digest([condition], self.seed)
        value = digest([self.index.columns[number].expression], self.seed)
        return f"CASE WHEN {condition} THEN {value} END"
