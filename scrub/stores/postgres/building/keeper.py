# SPDX-License-Identifier: Apache-2.0
"""The function that keeps an index when its table is written to.

What it does in a state is compiled into it. Were the state read from a table, a transaction at
REPEATABLE READ that began before a change of state would go on in the old one for as long as it
lives; the text of a function is the same for everybody.

It fires once for each row that was written, but other triggers may have written the same row again
before its turn comes: then it is called for the later version first. So what an event says is used
to remove an entry only. What is put is the entry of the row as it is now, read by its key:
whichever event comes last, it leaves the entry of the last version.

Its deletes are conditional on the owner, and its puts overwrite: one statement may swap two unique
values, and then the new owner comes before the old one has left. Whoever is overwritten becomes a
suspect, to be looked at again before the index is published. A writer never fails over that.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from scrub.model.build import Duties, Duty
from scrub.model.entry_shape import MARK
from scrub.stores.postgres.building.firing import (
    MAY_READ,
    Firing,
    build_again,
    refused,
    trigger_function,
)
from scrub.stores.postgres.building.row_reading import RowReading
from scrub.stores.postgres.entry_parts import Arbiter, EntryPart
from scrub.stores.postgres.entry_sql import EntrySql
from scrub.stores.postgres.quoting import identifier, literal

_MARK = identifier(MARK)
_BRANCHES_MAX = 3  # columns that may be NULL and get a branch of their own; see `_matching`

_HIDDEN = "Its values are shown only to roles that may read the whole table."

_FORGETS = (Duty.DELETE,)
_PUTS = (Duty.PUT_AND_TOMBSTONE, Duty.PUT_AND_DELETE, Duty.RECORD, Duty.ENFORCE)


def keeping(entry: EntrySql, duties: Duties, create: str) -> str:
    """The function for these duties, to be created or replaced."""
    return trigger_function(create, entry.keeper, entry, _body(entry, duties))


def _body(entry: EntrySql, duties: Duties) -> str:
    if duties == Duties(Duty.NOTHING):
        return "\nBEGIN RETURN NULL; END"
    # The temporary index first, always: whoever merges locks its records before the entries.
    keepers = [
        _Keeper(entry, relation, duty)
        for relation, duty in ((entry.temporary, duties.temporary), (entry.relation, duties.index))
        if duty is not Duty.NOTHING
    ]
    reading, last, next_ = RowReading(entry), _variables("a", entry), _variables("b", entry)
    deletes = "\n".join(keeper.delete() for keeper in keepers)
    puts = "\n".join(keeper.put() for keeper in keepers if keeper.duty in _PUTS + _FORGETS)
    return f"""
#variable_conflict use_column
<<scrub>>
DECLARE
    {Firing.DECLARED}
    {RowReading.DECLARED}
    o record;
    n record;
    d record;
    {_declared("a", entry)}
    {_declared("b", entry)}
    {_declared("c", entry)}
    had boolean := false;
BEGIN
    {Firing(entry, "AFTER ROW").look()}
    IF TG_OP OPERATOR(pg_catalog.<>) 'INSERT' THEN
        {reading.entry_of("OLD", "o")}
        had := rows OPERATOR(pg_catalog.>) 0;
    END IF;
    {_unless_unchanged(reading) if duties.index is Duty.ENFORCE else ""}
    IF had THEN
        {deletes}
    END IF;
    {_putting(reading, puts, last, next_) if puts else ""}
    RETURN NULL;
END"""


def _unless_unchanged(reading: RowReading) -> str:
    """Only of a public index is the entry known to be there; before, an update may bring it.

    Compared byte by byte: 1.0 and 1.00 are equal, and not the same.
    """
    return f"""IF TG_OP OPERATOR(pg_catalog.=) 'UPDATE' THEN
        {reading.entry_of("NEW", "n")}
        IF had OPERATOR(pg_catalog.<>) (rows OPERATOR(pg_catalog.>) 0) THEN
            NULL;
        ELSIF NOT had OR o OPERATOR(pg_catalog.*=) n THEN
            RETURN NULL;
        END IF;
    END IF;"""


def _putting(reading: RowReading, puts: str, last: Sequence[str], next_: Sequence[str]) -> str:
    """Put what the rows of the new key and of the old one have by now.

    The old one is seldom there; if it is, its entry may be what was just deleted.
    """
    entry = reading.entry
    same = " AND ".join(
        f"{a} {key.equality} {b}" for a, b, key in zip(last, next_, entry.primary_key, strict=True)
    )
    moving = "\n".join(f"{b} := {a};" for a, b in zip(last, next_, strict=True))
    return f"""
    IF TG_OP OPERATOR(pg_catalog.<>) 'INSERT' THEN
        {reading.key_of("OLD", last)}
    END IF;
    FOR step IN 1..2 LOOP
        IF step OPERATOR(pg_catalog.=) 1 THEN
            CONTINUE WHEN TG_OP OPERATOR(pg_catalog.=) 'DELETE';
            {reading.key_of("NEW", next_)}
        ELSE
            EXIT WHEN TG_OP OPERATOR(pg_catalog.=) 'INSERT'
                OR (TG_OP OPERATOR(pg_catalog.=) 'UPDATE' AND {same});
            {moving}
        END IF;
        {reading.entry_now(next_, "n")}
        IF rows OPERATOR(pg_catalog.=) 0 THEN
            CONTINUE;
        END IF;
        {_demand_known(entry)}
        {puts}
    END LOOP;"""


def _demand_known(entry: EntrySql) -> str:
    """A column that was NOT NULL when the index was built may have lost that since."""
    known = [part for part in entry.indexed + entry.suffix if not part.nullable]
    hint = f"The column was NOT NULL when the index was built; {build_again(entry)}"
    message = literal(f"scrub: index {entry.index} has no place for NULL in an indexed column")
    return f"""IF {" OR ".join(f"n.{part.name} IS NULL" for part in known) or "false"} THEN
            {refused(message, hint)}
        END IF;"""


def _variables(letter: str, entry: EntrySql) -> list[str]:
    """Variables for a primary key; with the block's name, so that no column is meant."""
    return [f"scrub.{letter}{n}" for n in range(len(entry.primary_key))]


def _declared(letter: str, entry: EntrySql) -> str:
    return "\n    ".join(f"{letter}{n} {key.type};" for n, key in enumerate(entry.primary_key))


@dataclass(frozen=True, slots=True)
class _Keeper:
    """What one duty towards one relation is, in statements."""

    entry: EntrySql
    relation: str
    duty: Duty

    @property
    def _has_mark(self) -> bool:
        return self.duty is not Duty.ENFORCE

    def delete(self) -> str:
        if self.duty in (Duty.DELETE, Duty.PUT_AND_DELETE, Duty.ENFORCE):
            return self._delete_rows("o")
        return self._by_arbiter("o", self._tombstone)

    def put(self) -> str:
        if self.duty in _FORGETS:
            return self._delete_rows("n")
        return self._by_arbiter("n", self._put)

    def _by_arbiter(self, record: str, statement: Callable[[Arbiter], str]) -> str:
        first, *others = self.entry.arbiters
        if not others:
            return statement(first)
        # The first is for entries without NULL.
        known = [f"{record}.{p.name} IS NOT NULL" for p in self.entry.indexed if p.nullable]
        return f"""IF {" AND ".join(known)} THEN
            {statement(first)}
        ELSE
            {statement(others[0])}
        END IF;"""

    def _tombstone(self, arbiter: Arbiter) -> str:
        """Keep the place, whether anything was there or not."""
        owner = self.entry.same_owner("t", "excluded")
        condition = f" WHERE {owner}" if arbiter.owners_may_differ else ""
        return f"""INSERT INTO {self.relation} AS t ({self._columns}, {_MARK})
            VALUES ({self._record("o")}, true)
            ON CONFLICT {arbiter.target} DO UPDATE SET {_MARK} = true{condition};"""

    def _put(self, arbiter: Arbiter) -> str:
        mark, value = (f", {_MARK}", ", false") if self._has_mark else ("", "")
        upsert = f"""INSERT INTO {self.relation} AS t ({self._columns}{mark})
            VALUES ({self._record("n")}{value})
            ON CONFLICT {arbiter.target} DO UPDATE SET {self._set_from("excluded")}"""
        if not arbiter.owners_may_differ:
            return f"{upsert};"
        free = f"t.{_MARK} OR " if self._has_mark else ""
        key = _key_of("t", arbiter, "n")
        displace = self._refuse if self.duty is Duty.ENFORCE else self._suspect
        # An entry whose WHERE is false is locked all the same, so it stays what it is.
        return f"""{upsert} WHERE {free}{self.entry.same_owner("t", "excluded")};
        IF NOT FOUND THEN
            {displace(arbiter)}
            UPDATE {self.relation} AS t SET {self._set_from("n")} WHERE {key};
        END IF;"""

    def _suspect(self, arbiter: Arbiter) -> str:
        owner = ", ".join(f"t.{name}" for name in self.entry.owner)
        return f"""INSERT INTO {self.entry.suspects}
                SELECT {owner} FROM {self.relation} AS t WHERE {_key_of("t", arbiter, "n")};"""

    def _refuse(self, arbiter: Arbiter) -> str:
        """A unique index that is public forbids what would give two rows one key.

        As with an index of the server's own, who may not read the table is not told the key: it may
        have columns that the writer neither wrote nor sees.
        """
        entry = self.entry
        owner = ", ".join(f"t.{name} AS k{n}" for n, name in enumerate(entry.owner))
        same = " AND ".join(part.equal("d", "n") for part in entry.indexed)
        told = literal(f"unique index {entry.index}: another row has this key")
        shown = ", ".join(part.text("n") for part in entry.indexed)
        keys = _variables("c", entry)
        taken = " ".join(f"{key} := k.k{n};" for n, key in enumerate(keys))
        return f"""SELECT {owner} INTO k FROM {self.relation} AS t
                WHERE {_key_of("t", arbiter, "n")};
            {taken}
            {RowReading(entry).entry_now(keys, "d")}
            IF rows OPERATOR(pg_catalog.>) 0 THEN
                IF {same} THEN
                    RAISE unique_violation USING
                        MESSAGE = {told},
                        DETAIL = CASE WHEN {MAY_READ} THEN pg_catalog.concat_ws(', ', {shown})
                            ELSE {literal(_HIDDEN)} END,
                        CONSTRAINT = {literal(entry.relation_name)};
                END IF;
            END IF;"""

    def _delete_rows(self, record: str) -> str:
        """Delete the entry, if it is this row's; each branch can use the index."""
        owner = self.entry.same_owner("t", record)

        def delete(matching: str) -> str:
            return f"DELETE FROM {self.relation} AS t WHERE {matching} AND {owner};"

        deletes = "\n".join(_matching(record, self.entry.indexed, (), delete))
        # A transaction with an older snapshot neither sees nor deletes what the builder put since.
        # To put the entry and delete that again fails if there is such a one, else it is nothing.
        return f"""{deletes}
        IF NOT FOUND AND pg_catalog.current_setting('transaction_isolation')
                OPERATOR(pg_catalog.<>) 'read committed' THEN
            {self._by_arbiter(record, partial(self._probe, record))}
            {deletes}
        END IF;"""

    def _probe(self, record: str, arbiter: Arbiter) -> str:
        return f"""INSERT INTO {self.relation} AS t ({self._columns})
            VALUES ({self._record(record)}) ON CONFLICT {arbiter.target} DO NOTHING;"""

    @property
    def _columns(self) -> str:
        return ", ".join(self.entry.names)

    def _record(self, record: str) -> str:
        return ", ".join(f"{record}.{name}" for name in self.entry.names)

    def _set_from(self, record: str) -> str:
        mark = [f"{_MARK} = false"] if self._has_mark else []
        return ", ".join([*(f"{name} = {record}.{name}" for name in self.entry.names), *mark])


def _key_of(alias: str, arbiter: Arbiter, record: str) -> str:
    """The entry of the record's key; asked only where no column of it can be NULL."""
    return " AND ".join(part.equal(alias, record) for part in arbiter.parts)


def _matching(
    record: str,
    parts: Sequence[EntryPart],
    found: tuple[str, ...],
    statement: Callable[[str], str],
    branches: int = _BRANCHES_MAX,
) -> Iterator[str]:
    """The statement for each combination of NULLs: an index finds `= x` and `IS NULL`, not both."""
    if not parts:
        yield statement(" AND ".join(found))
        return
    part, *others = parts
    equal = part.equal("t", record)
    if not part.nullable:
        yield from _matching(record, others, (*found, equal), statement, branches)
    elif not branches:
        same = (*found, part.same("t", record))
        yield from _matching(record, others, same, statement, branches)
    else:
        yield f"IF {record}.{part.name} IS NULL THEN"
        is_null = f"t.{part.name} IS NULL"
        yield from _matching(record, others, (*found, is_null), statement, branches - 1)
        yield "ELSE"
        yield from _matching(record, others, (*found, equal), statement, branches - 1)
        yield "END IF;"
