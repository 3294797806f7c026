# SPDX-License-Identifier: Apache-2.0
"""Work that is divided among tasks, whoever runs them.

A task is a plain function of what it is given, and yields Arrow batches. `checks.jobs` decides
where tasks run: in threads of this process, or on Spark. They return the same.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from checks.task_rows import arrow_schema
from scrub.codec.arrow_types import arrow_schema_of
from scrub.model.table import Column

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondTasks:
    """What is done with the rows that first tasks returned, once those of a place are together."""

    place: tuple[str, ...]  # the columns by which rows belong together
    partitions: int
    task: Callable[[Batches], Batches]  # is given all rows of one place, or of several
    schema: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Tasks, and what they return."""

    given: Sequence[Any]  # by task
    task: Callable[[Any], Batches]
    schema: str | tuple[Column, ...]  # what Spark calls it, or columns in the catalog's types
    second: SecondTasks | None = None

    @property
    def arrow_schema(self) -> pa.Schema:
        """What all of it returns, in Arrow's types."""
        schema = self.schema if self.second is None else self.second.schema
        return arrow_schema(schema) if isinstance(schema, str) else arrow_schema_of(schema)
