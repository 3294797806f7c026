# SPDX-License-Identifier: Apache-2.0
"""How fast a check may read, as its user asks for it."""

from dataclasses import dataclass
from pathlib import Path

from scrub.model.place import in_units, parse_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What reading must keep to; None is no limit."""

    rows_per_second: float | None = None  # rows of tables and entries of indexes
    bytes_per_second: float | None = None
    pause_file: Path | None = None  # nothing is read while it exists

    def __bool__(self) -> bool:
        return any((self.rows_per_second, self.bytes_per_second, self.pause_file))

    @property
    def has_rate(self) -> bool:
        """Whether reading takes longer for them."""
        return bool(self.rows_per_second or self.bytes_per_second)

    def seconds(self, rows: float, octets: float) -> float:
        """How long it takes at least to read so much."""
        of_rows = rows / self.rows_per_second if self.rows_per_second else 0.0
        of_bytes = octets / self.bytes_per_second if self.bytes_per_second else 0.0
        return max(of_rows, of_bytes)

    def divided(self, by: int) -> "Limits":
        """The share of one of so many who read at the same time."""
        return Limits(
            rows_per_second=self.rows_per_second and self.rows_per_second / by,
            bytes_per_second=self.bytes_per_second and self.bytes_per_second / by,
            pause_file=self.pause_file,
        )

    def __str__(self) -> str:
        rates = []
        if self.rows_per_second:
            rates.append(f"{self.rows_per_second:,.0f} rows")
        if self.bytes_per_second:
            rates.append(in_units(int(self.bytes_per_second)))
        told = [f"at most {' and '.join(rates)} a second"] if rates else []
        told += [f"paused while {self.pause_file} exists"] if self.pause_file else []
        return "; ".join(told)


def parse_rate(text: str) -> int:
    """A number of bytes a second, spelled as a size; ValueError if it is none, or no bytes."""
    octets = parse_size(text)
    if octets == 0:
        raise ValueError("it must be more than 0 bytes; leave the option out for no limit")
    return octets
