# SPDX-License-Identifier: Apache-2.0
"""What the plugin `pgoutput` says, and what the server says around it."""

from dataclasses import dataclass
from typing import TypeAlias

from scrub.model.stream.changes import Unchanged

Sent: TypeAlias = str | Unchanged | None
"""A value as text, NULL, or one that the server left out because it did not change."""


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction follows; transactions come in the order of their commits."""

    commit_lsn: int
    xid: int  # without the epoch, so of 32 bits


@dataclass(frozen=True, slots=True)
class Commit:
    """The transaction is complete; the next commit is at `end_lsn` or behind it."""

    commit_lsn: int
    end_lsn: int


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A column as it was when the following changes were made."""

    name: str
    type_oid: int
    type_modifier: int
    is_identity: bool  # old rows have it


@dataclass(frozen=True, slots=True)
class Relation:
    """What a relation was when the following changes were made."""

    oid: int
    schema: str
    name: str
    replica_identity: str  # d, n, f or i
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class OldRow:
    """A row before a change: all of it, or only the columns of its identity."""

    values: tuple[Sent, ...]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Insert:
    """A row that is there now."""

    relation: int
    new: tuple[Sent, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """A row that is another one now; the old one comes if its identity changed or is all of it."""

    relation: int
    old: OldRow | None
    new: tuple[Sent, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """A row that is gone."""

    relation: int
    old: OldRow


@dataclass(frozen=True, slots=True)
class Truncate:
    """Relations that were emptied."""

    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Other:
    """A message that says nothing about rows: an origin, a type, or an application's own."""

    kind: str


Message: TypeAlias = Begin | Commit | Relation | Insert | Update | Delete | Truncate | Other


@dataclass(frozen=True, slots=True)
class Keepalive:
    """How far the server has come; everything that was committed before it has been sent."""

    wal_end: int
    wants_reply: bool


@dataclass(frozen=True, slots=True)
class Payload:
    """One message of the plugin."""

    message: Message
