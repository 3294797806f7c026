# SPDX-License-Identifier: Apache-2.0
"""Whatever happens in between: in the end the output is the table, and nothing false is claimed.

SCRUB_STREAM_TRIALS asks for another number of interleavings, different ones each time.
"""

import os
import random

import pytest

from tests.repair.streaming.trials import CLASSES, Trial

_ASKED = os.environ.get("SCRUB_STREAM_TRIALS")
TRIALS = int(_ASKED or 2000) // len(CLASSES)
FIRST = random.randrange(1 << 40) if _ASKED else 0


@pytest.mark.slow
@pytest.mark.parametrize("source_class", CLASSES)
def test_random_interleavings(source_class: str) -> None:
    for seed in range(FIRST, FIRST + TRIALS):
        try:
            Trial(seed, source_class).run()
        except Exception as error:
            error.add_note(f"seed {seed} of {source_class}")
            raise
