# SPDX-License-Identifier: Apache-2.0
"""Entries of an index beside the rows they lead to, position by position; pure.

Both are walks through the same tree at one snapshot. The second one leaves out entries whose row is
gone, so it is a part of the first. Which ones it left out is told by their keys: more entries have
them than rows do. Where such entries are mixed with others that point to wrong rows, the walks may
have several explanations, of which one is given.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from scrub.model.defect import DefectKind
from scrub.stores.postgres.own_indexes.reader import EntryRead, Imbalance, PointerRead, RowPointers


@dataclass(frozen=True, slots=True)
class WrongEntry:
    """An entry that is not the one of the row it leads to; `leads_to` is None if there is none."""

    entry: EntryRead
    leads_to: PointerRead | None

    @property
    def has_same_key(self) -> bool:
        """Whether only what the index stores beside the key differs."""
        return self.leads_to is not None and self.leads_to.key_digest == self.entry.key_digest


def wrong_entries(
    entries: Iterable[EntryRead],
    pointers: Iterable[PointerRead],
    surplus: dict[int, int],
    rowless: int,
) -> Iterator[WrongEntry]:
    """Entries that differ from their rows; `rowless` of them have none, and some of `surplus`."""
    following = iter(pointers)
    pointer = next(following, None)
    for entry in entries:
        if pointer is not None and entry.digest == pointer.digest:
            pointer = next(following, None)
        elif pointer is None or (rowless > 0 and surplus.get(entry.digest, 0) > 0):
            rowless -= 1
            surplus[entry.digest] = surplus.get(entry.digest, 0) - 1
            yield WrongEntry(entry, None)
        else:
            yield WrongEntry(entry, pointer)
            pointer = next(following, None)


def kinds_of_row(found: RowPointers, wrong: int) -> list[DefectKind]:
    """What is wrong with a row to which entries lead, `wrong` of them with another key."""
    right = found.pointers - wrong
    kinds = []
    if found.is_due and right == 0:
        kinds.append(DefectKind.MISSING)
    if not found.is_due and right > 0:
        kinds.append(DefectKind.DANGLING)
    if right > 1:
        kinds.append(DefectKind.DUPLICATE_ENTRY)
    return kinds


def hidden_entries(
    imbalance: Mapping[int, Imbalance], spare: Mapping[int, int], seen: Mapping[int, int]
) -> Iterator[int]:
    """The digests of dangling entries that nobody sees any more, each as often as there are any.

    If one entry led to each row, all entries that are more than rows would dangle. `spare` counts
    those that lead to a row although it has another, and less one for each row that has none.
    """
    for digest in dict.fromkeys((*imbalance, *spare)):
        more = imbalance[digest].more if digest in imbalance else 0
        for _ in range(more - spare.get(digest, 0) - seen.get(digest, 0)):
            yield digest
