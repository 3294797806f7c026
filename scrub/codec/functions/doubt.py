# SPDX-License-Identifier: Apache-2.0
"""What a function says of rows that only Spark can decide.

For some of them Spark might raise; the value of others differs from one version of Unicode, or of
the list of time zones, to the next.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


class InDoubt(Exception):
    """Only Spark knows the value of an expression for some row; the reason is for people."""


def demand_all(holds: Any, reason: str) -> None:
    """Raise InDoubt unless a flag is true, or NULL, for every row."""
    if pc.all(holds, min_count=0).as_py() is False:
        raise InDoubt(reason)


@contextmanager
def doubting(reason: str) -> Iterator[None]:
    """Raise InDoubt where Arrow finds that a value does not fit."""
    try:
        yield
    except pa.ArrowInvalid as error:
        raise InDoubt(reason) from error
