# SPDX-License-Identifier: Apache-2.0
"""The long run: a million rows, eight clients, twenty kills for each method, a server restarted.

    python -m tests.scrub.stores.postgres.building.campaign [--rows N] [--kills N] [--rate N]
        [--seed N] [--only METHOD]

It ends with 0 only if every index was published without a difference and no transaction failed.
"""

import argparse
import random
import sys
import time

from scrub.model.build import Method, State
from tests.scrub.stores.postgres.building.kills import Kills, Moment, any_moments
from tests.scrub.stores.postgres.building.load import QUICK_JVM, shop


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=20, help="for each method")
    parser.add_argument("--rate", type=int, default=300, help="transactions a second")
    parser.add_argument("--pace", type=int, default=25_000, help="rows a second, at most")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--only", type=Method, choices=list(Method), help="one of the methods")
    given = parser.parse_args()
    began = time.monotonic()

    def tell(line: str) -> None:
        sys.stdout.write(f"{time.monotonic() - began:7.1f} s  {line}\n")
        sys.stdout.flush()

    tell(f"{given.rows:,} rows, {given.kills} kills a method, seed {given.seed}")
    chance = random.Random(given.seed)
    options = (*QUICK_JVM, "--rows-per-second", str(given.pace))
    with shop(given.rows) as orders:
        for method in [given.only] if given.only else Method:
            kills = Kills(orders, method, options, tell)
            moments = any_moments(method, chance, given.rows)
            with orders.traffic(given.rate) as traffic:
                kills.survive(moments, given.kills)
            tell(f"{method}: {kills.made} kills, {traffic.count():,} transactions, none failed")
            kills.verify()
            kills.remove()
            middle = chance.randint(1, given.rows)
            last = State.MERGING if method is Method.MERGE else State.VALIDATING
            for moment in (Moment(State.BACKFILLING, rows=middle), Moment(last, 0.2)):
                count = kills.survive_restart(moment, given.rate)
                kills.verify()
                tell(f"{method} restarted: {count:,} transactions after it, none failed")
                kills.remove()
    tell("all is well")
    return 0


if __name__ == "__main__":
    sys.exit(main())
