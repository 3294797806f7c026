# SPDX-License-Identifier: Apache-2.0
"""Places in the write-ahead log, as numbers and as PostgreSQL writes them."""


def lsn_text(lsn: int) -> str:
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def lsn_number(text: str) -> int:
    """Of a text such as 16/B374D848. Raises ValueError."""
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)
