# SPDX-License-Identifier: Apache-2.0
"""What a check loads before it begins."""

import subprocess
import sys


def test_a_check_of_columns_does_not_load_the_loops_of_pairs() -> None:
    """Loading them takes a second, before every check."""
    program = "import sys, checks.run\nprint([m for m in sys.modules if 'codec.kv' in m])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
