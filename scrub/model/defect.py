# SPDX-License-Identifier: Apache-2.0
"""A defect: a disagreement between a table and one of its indexes, or a value that cannot be."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

Value = str | int | float | bool | None

CONTENT_SEPARATOR = "."
"""Between the two parts of a content digest; one without it covers names only."""


class DefectKind(StrEnum):
    """What is wrong. The strings appear in reports and waivers: never rename one."""

    MISSING = "missing_secondary_index"  # a row's expected entry is absent
    DANGLING = "dangling_secondary_index"  # an entry's row is absent, or does not produce it
    WRONG_STORED_VALUE = "wrong_stored_value"  # key present, stored columns differ
    DUPLICATE_ENTRY = "duplicate_index_entry"  # an entry more often than its row
    DUPLICATE_KEY = "duplicate_primary_key"  # a row more often than its entry
    UNIQUE_VIOLATION = "unique_violation"  # two rows share a key that is unique
    INVALID_ENCODING = "invalid_encoding"  # bytes that cannot be read
    INVALID_COMPOSITE = "invalid_composite_encoding"  # key and value of a column disagree
    NONCANONICAL = "noncanonical_encoding"  # bytes that read well, but should be others
    MISSING_FAMILY = "missing_family"  # a row without the pair that every row has
    UNEXPECTED_KEY = "unexpected_key"  # a key outside every known index
    KEY_ORDER = "key_order"  # a pair behind one that it belongs before
    NULL_VIOLATION = "null_violation"  # NULL in a column that is never NULL
    CHECK_VIOLATION = "check_violation"  # a row for which a CHECK is false
    FOREIGN_KEY_VIOLATION = "foreign_key_violation"  # a row that refers to no row


INDEX_KINDS = (
    DefectKind.MISSING,
    DefectKind.DANGLING,
    DefectKind.WRONG_STORED_VALUE,
    DefectKind.DUPLICATE_ENTRY,
    DefectKind.DUPLICATE_KEY,
    DefectKind.UNIQUE_VIOLATION,
)
"""What can be wrong between rows and the entries of their indexes."""

PHYSICAL_KINDS = (
    DefectKind.INVALID_ENCODING,
    DefectKind.INVALID_COMPOSITE,
    DefectKind.NONCANONICAL,
    DefectKind.MISSING_FAMILY,
    DefectKind.UNEXPECTED_KEY,
    DefectKind.KEY_ORDER,
    DefectKind.NULL_VIOLATION,
)
"""What can be wrong with bytes and values."""

CONSTRAINT_KINDS = (DefectKind.CHECK_VIOLATION, DefectKind.FOREIGN_KEY_VIOLATION)
"""What only a constraint forbids; those of unique keys and NULL have kinds of other checks."""

ALIASES: Mapping[str, DefectKind] = {
    "missing_index_entry": DefectKind.MISSING,
    "missing_secondary_index_entry": DefectKind.MISSING,
    "dangling_index_reference": DefectKind.DANGLING,
    "dangling_secondary_index_entry": DefectKind.DANGLING,
    "unique_constraint_violation": DefectKind.UNIQUE_VIOLATION,
    "duplicate_unique_value": DefectKind.UNIQUE_VIOLATION,
}
"""The names that CockroachDB's SCRUB and INSPECT shipped, for people who come from there."""


def kind_named(name: str) -> DefectKind:
    """The kind of a name, or of one that it had elsewhere; a ValueError names all there are."""
    try:
        return ALIASES.get(name) or DefectKind(name)
    except ValueError:
        known = ", ".join(kind.value for kind in DefectKind)
        raise ValueError(f"{name}: there is no such kind; there are {known}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """One disagreement, with everything that a repair and its undo need.

    Values are JSON-ready: decimals and times as text, binaries as hex, NaN and infinities as text.
    """

    kind: DefectKind
    table: str
    index: str | None
    primary_key: Mapping[str, Value] | None
    index_key: Mapping[str, Value] | None
    expected: Mapping[str, Value] | None  # None: nothing should be here
    actual: Mapping[str, Value] | None  # None: nothing is here
    snapshot: str
    detail: str = ""
    key_hex: str | None = None
    value_hex: str | None = None
    column: str | None = None  # what is wrong is the value, or the type, of this column
    file: str | None = None  # what is wrong concerns a whole file
    stored_type: str | None = None  # how that file, or the relation, stores the column
    row_digest: str | None = None  # of a whole row, where its key does not tell which row it is
    constraint: str | None = None  # the constraint of the table that the row violates

    @property
    def id(self) -> str:
        """The same for the same defect in every run, whatever else was found.

        The name of a file is no part of it: a compaction writes the same rows to other files.
        """
        identity: list[object] = [self.kind, self.table, self.index]
        identity += [self.primary_key, self.index_key]
        # A NULL is in a column of a row, whether pairs hold the row or not.
        of_column = self.kind is DefectKind.NULL_VIOLATION and self.index is None
        is_of_bytes = self.primary_key is None or (self.kind in PHYSICAL_KINDS and not of_column)
        if is_of_bytes and self.key_hex is not None:
            identity.append(self.key_hex)  # a row has several pairs; and all that some of them tell
        if self.column is not None or self.row_digest is not None:
            identity += [self.column, self._place]
        if self.constraint is not None:
            identity.append({"constraint": self.constraint})
        return _digest(identity)

    @property
    def _place(self) -> Mapping[str, str] | None:
        """What a key does not tell of where a fault of a column is; None if it tells everything."""
        if self.row_digest is not None:
            return {"row": self.row_digest}
        return None if self.stored_type is None else {"stored_type": self.stored_type}

    def content(self, salt: str = "", *, names_only: bool = False) -> str:
        """A digest of what is wrong, beside `id`, which tells where.

        Its first part covers the kind and the names of differing columns, its second the values.
        """
        names = _digest([salt, self.kind, sorted(self.differing_columns)])
        if names_only:
            return names
        # A constraint is about values: how pairs hold them is nothing that it forbids.
        octets = [self.key_hex, self.value_hex] if self.constraint is None else [None, None]
        values: list[object] = [self.expected, self.actual, *octets]
        if self.kind is DefectKind.DUPLICATE_KEY and self.constraint is not None:
            # How many rows have the key, which every check tells first: one more is something new.
            values.append(self.detail.partition(" ")[0])
        return f"{names}{CONTENT_SEPARATOR}{_digest([salt, self.kind, *values])}"

    @property
    def differing_columns(self) -> tuple[str, ...]:
        """The columns whose expected and actual values differ, when there are both."""
        if self.expected is None or self.actual is None:
            return ()
        return tuple(name for name in self.expected if self.expected[name] != self.actual.get(name))


def same_content(one: str, other: str) -> bool:
    """Whether two content digests of one salt agree, as far as both of them tell."""
    (names, _, values), (of_names, _, of_values) = (
        digest.partition(CONTENT_SEPARATOR) for digest in (one, other)
    )
    return names == of_names and (not values or not of_values or values == of_values)


def _digest(identity: list[object]) -> str:
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
