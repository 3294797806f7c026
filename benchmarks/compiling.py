# SPDX-License-Identifier: Apache-2.0
"""What a first use waits for: the compiled loops, in a fresh process with nothing kept."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial

from benchmarks.line import Line, Target
from benchmarks.measurements import Measurements

_ALL = "from scrub.app.prepare import compile_loops; compile_loops()"
_OF_COLUMNS = "from scrub.app.prepare import compile_column_loops as loops; loops()"


def compiling(m: Measurements) -> Iterator[Line]:
    """The process with its imports; the ratio is its seconds."""
    whole, columns = m.in_turn(
        ("all loops", partial(_from_nothing, _ALL)),
        ("loops of column checks", partial(_from_nothing, _OF_COLUMNS)),
    )
    yield Line(
        measurement="seconds to compile all loops",
        timing=whole,
        ratio=whole.median,
        target=Target("<=", 20),
    )
    yield Line(
        measurement="seconds to compile the loops of column checks",
        timing=columns,
        ratio=columns.median,
        target=Target("<=", 4),
    )


def _from_nothing(program: str) -> None:
    with tempfile.TemporaryDirectory() as empty:
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"NUMBA_CACHE_DIR": empty},
            check=True,
        )
