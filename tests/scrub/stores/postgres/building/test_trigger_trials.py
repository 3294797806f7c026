# SPDX-License-Identifier: Apache-2.0
"""Random triggers, alterations, types and roles beside a build; `make torture` has many of them."""

import os
import random

import pytest

from tests.postgres_server import Database
from tests.scrub.stores.postgres.building.trigger_trials import Trial

pytestmark = pytest.mark.slow

TRIALS = int(os.environ.get("SCRUB_TRIGGER_TRIALS", "8"))


@pytest.mark.parametrize("seed", range(TRIALS))
def test_index_is_the_table_and_no_writer_fails_that_would_not_without_it(
    database: Database, seed: int
) -> None:
    trial = Trial(database, random.Random(seed))
    try:
        assert trial.run().startswith(("public", "refused"))
    except Exception as error:
        error.add_note("\n".join(trial.log[-12:]))
        raise
