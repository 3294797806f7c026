# SPDX-License-Identifier: Apache-2.0
"""Where the tasks of a check run."""

import re
from dataclasses import dataclass

IN_PROCESS_BYTES = "scrub.inProcessBytes"
"""The setting: checks that read no more bytes than this do not start Spark; with 0, all do."""

IN_PROCESS_BYTES_VARIABLE = "SCRUB_IN_PROCESS_BYTES"
IN_PROCESS_BYTES_DEFAULT = 2 << 30

_SIZE = re.compile(r"(\d+)\s*(?:([kmgt])(?:i?b)?|b)?", re.IGNORECASE | re.ASCII)
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024
_POWERS = {"k": 10, "m": 20, "g": 30, "t": 40}


def parse_size(text: str) -> int:
    """A number of bytes: `0`, `500 MiB`, `2g`; ValueError if it is none."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"'{text}' is no number of bytes")
    return int(found[1]) << _POWERS.get((found[2] or "").lower(), 0)


def in_units(size: int) -> str:
    """A number of bytes for people."""
    amount, unit = float(size), 0
    while amount >= _STEP and unit < len(_UNITS) - 1:
        amount, unit = amount / _STEP, unit + 1
    return f"{amount:.3g} {_UNITS[unit]}"


@dataclass(frozen=True, slots=True)
class Place:
    """In threads of the process itself, or on Spark; and why there."""

    in_process: bool
    reason: str

    def __str__(self) -> str:
        return f"{'in process' if self.in_process else 'on Spark'}, {self.reason}"
