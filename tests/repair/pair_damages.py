# SPDX-License-Identifier: Apache-2.0
"""One damage to sound pairs, by chance: what it touches, and whom a check may blame for it."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.checks.pairs.pair_ground import row
from tests.repair.pair_store_ground import PairGround, StoredPair
from tests.scrub.codec.kv.reference_pairs import encode_value

Pairs = dict[str, list[StoredPair]]

TOO_LONG, NO_TEXT, NO_INT = b"x" * 30, b"caf\xe9", 1 << 40


@dataclass(slots=True)
class Damage:
    """Damages one pair of `pairs`, and remembers the keys that may be blamed."""

    ground: PairGround
    chance: random.Random
    pairs: Pairs
    name: str = ""
    number: int = 0  # of the row that is concerned
    blamed: set[bytes] = field(default_factory=set)

    def strike(self) -> None:
        self.number = self.chance.randrange(1, 12)
        # Every damage gets its turn, whatever the seed is.
        kinds = [*self._of_rows(), *self._of_entries()]
        strike = self.chance.choice(kinds)
        self.name = getattr(strike, "__name__", "")
        strike()

    def _of_rows(self) -> list[Callable[[], None]]:
        return [
            self.lose_row,
            self.lose_last_family,
            self.spoil_row,
            self.null_in_row,
            self.unfit_row,
            self.respell_row,
            self.move_row,
            self.copy_row,
            self.other_row,
        ]

    def _of_entries(self) -> list[Callable[[], None]]:
        return [
            self.lose_entry,
            self.spoil_entry,
            self.unfit_entry,
            self.wrong_entry,
            self.steal_entry,
            self.move_entry,
            self.copy_entry,
            self.stray_entry,
            self.unknown_index,
        ]

    @property
    def _index(self) -> str:
        return self.chance.choice(["by_customer", "by_email"])

    def _exchange(self, name: str, old: StoredPair, *new: StoredPair) -> None:
        self.pairs[name].remove(old)
        self.pairs[name] += new
        self.blamed |= {key for key, _ in (old, *new)}

    def _spoiled(self, pair: StoredPair) -> StoredPair:
        """A byte that is another one, or some that are gone; the checksum is not set again."""
        key, value = pair[0], bytearray(pair[1] or b"")
        match self.chance.randrange(3):
            case 0:
                value[self.chance.randrange(len(value))] ^= 1 << self.chance.randrange(8)
            case 1:
                value = value[: self.chance.randrange(1, len(value))]
            case _:
                octets = bytearray(key)
                octets[self.chance.randrange(2, len(key))] ^= 1 << self.chance.randrange(8)
                key = bytes(octets)
        return key, bytes(value)

    def _moved(self, pair: StoredPair) -> StoredPair:
        key = pair[0]
        number = key[2] - 0x88
        if 0 <= number < 110 and self.chance.random() < 0.5:
            key = key[:2] + b"\xf6" + bytes([number]) + key[3:]
        else:
            key += self.chance.choice([b"\x00", b"\x88", b"\x12"])
        return key, encode_value(key, (pair[1] or b"")[4:])

    # Rows

    def _row_pair(self) -> StoredPair:
        return self.chance.choice(self.ground.row_pairs(row(self.number)))

    def _instead_of_row(self, other: dict[int, Any]) -> None:
        for old in self.ground.row_pairs(row(self.number)):
            self.pairs["primary"].remove(old)
            self.blamed.add(old[0])
        self.pairs["primary"] += self.ground.row_pairs(other)

    def lose_row(self) -> None:
        """Its entries have no row then, which several of them tell."""
        for pair in self.ground.row_pairs(row(self.number)):
            new = [] if self.chance.random() < 0.5 else [(pair[0], None)]
            self._exchange("primary", pair, *new)
        for index in ("by_customer", "by_email"):
            self.blamed |= {key for key, _ in self.ground.entries(index, row(self.number))}

    def lose_last_family(self) -> None:
        """With the e-mail address, which is never NULL; or all of the row."""
        if len(self.ground.row_pairs(row(self.number))) == 1:
            self.lose_row()
        else:
            self._exchange("primary", self.ground.row_pairs(row(self.number))[-1])
            self.blamed.add(self.ground.row_pairs(row(self.number))[0][0])

    def spoil_row(self) -> None:
        pair = self._row_pair()
        self._exchange("primary", pair, self._spoiled(pair))
        self.blamed |= {key for key, _ in self.ground.row_pairs(row(self.number))}

    def null_in_row(self) -> None:
        self._instead_of_row(row(self.number) | {3: None})

    def unfit_row(self) -> None:
        values = [{3: NO_TEXT}, {2: NO_INT}, {5: TOO_LONG}, {4: Decimal("123456789.125")}]
        self._instead_of_row(row(self.number) | self.chance.choice(values))

    def respell_row(self) -> None:
        pair = self._row_pair()
        key, value = pair
        self._exchange("primary", pair, (key, encode_value(key, (value or b"")[4:] + b"\x11")))

    def move_row(self) -> None:
        pair = self._row_pair()
        self._exchange("primary", pair, self._moved(pair))
        self.blamed |= {key for key, _ in self.ground.row_pairs(row(self.number))}

    def copy_row(self) -> None:
        pair = self._row_pair()
        self._exchange("primary", pair, pair, pair)

    def other_row(self) -> None:
        """The same keys again, with other values."""
        for pair in self.ground.row_pairs(row(self.number) | {2: 99, 5: b"another note"}):
            self.pairs["primary"].append(pair)
            self.blamed.add(pair[0])

    # Entries

    def _entry(self) -> tuple[str, StoredPair]:
        """The entry of the row in one of the indexes."""
        index = self._index
        return index, self.ground.entry(index, row(self.number))

    def lose_entry(self) -> None:
        index, pair = self._entry()
        new = self.chance.choice([[], [(pair[0], None)], [(pair[0], b"")]])
        self._exchange(index, pair, *new)

    def spoil_entry(self) -> None:
        index, pair = self._entry()
        self._exchange(index, pair, self._spoiled(pair))

    def unfit_entry(self) -> None:
        index = self._index
        values: list[dict[int, Any]] = [{5: TOO_LONG}, {2: NO_INT}]
        other = self.chance.choice(values) if index == "by_customer" else {3: NO_TEXT}
        new = self.ground.entry(index, row(self.number) | other)
        self._exchange(index, self.ground.entry(index, row(self.number)), new)

    def wrong_entry(self) -> None:
        new = self.ground.entry("by_customer", row(self.number) | {5: b"other"})
        self._exchange("by_customer", self.ground.entry("by_customer", row(self.number)), new)

    def steal_entry(self) -> None:
        new = self.ground.entry("by_email", row(self.number) | {1: 999})
        self._exchange("by_email", self.ground.entry("by_email", row(self.number)), new)

    def move_entry(self) -> None:
        index, pair = self._entry()
        self._exchange(index, pair, self._moved(pair))

    def copy_entry(self) -> None:
        index, pair = self._entry()
        self._exchange(index, pair, pair, pair)

    def stray_entry(self) -> None:
        index = self._index
        pair = self.ground.entry(index, row(777))
        self.pairs[index].append(pair)
        self.blamed.add(pair[0])

    def unknown_index(self) -> None:
        key = self.ground.entry("by_email", row(self.number))[0]
        key = key[:1] + b"\x9f" + key[2:]
        self.pairs["primary"].append((key, encode_value(key, b"\x03\x89")))
        self.blamed.add(key)
