# SPDX-License-Identifier: Apache-2.0
"""How reports write counts, sizes and durations."""

_BYTES_STEP = 1000


def count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun: `1 defect`, `2 defects`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(number: int) -> str:
    """Bytes in the largest unit that leaves at least one whole."""
    amount = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < _BYTES_STEP:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= _BYTES_STEP
    return f"{amount:.1f} TB"


def rate(rows: int, seconds: float) -> str:
    return f"{rows / seconds:,.0f} rows/s" if seconds > 0 else "- rows/s"
