# SPDX-License-Identifier: Apache-2.0
"""Workers of a build as threads: each opens its own connection and works off free ranges.

What they do is done by the server, so there is nothing to gain from processes, or from Spark.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from threading import Event

from repair.working_off import Worker, WorkSettings
from scrub.errors import ScrubError
from scrub.stores.building import Clash, IndexBuild, Superseded

OpenBuild = Callable[[], IndexBuild]
"""Opens the build in a thread, with a connection of its own."""


def work_off_in_threads(
    open_build: OpenBuild, settings: WorkSettings, phase: str
) -> Sequence[Clash]:
    """Work off the ranges of a phase; what stopped a worker is raised when all have stopped."""
    stopping = Event()

    def work() -> Sequence[Clash]:
        with closing(open_build()) as build:
            return Worker(build, settings, is_wanted=lambda: not stopping.is_set()).work_off(phase)

    with ThreadPoolExecutor(settings.workers, thread_name_prefix="scrub-worker") as pool:
        workers = [pool.submit(work) for _ in range(settings.workers)]
        try:
            wait(workers)
        except BaseException:
            stopping.set()  # at the end of the steps that are under way
            raise
    # Clashes come first: they are why the other workers were stopped.
    failed = [error for worker in workers if (error := worker.exception()) is not None]
    clashes = [clash for worker in workers if not worker.exception() for clash in worker.result()]
    if clashes and all(isinstance(error, ScrubError | Superseded) for error in failed):
        return clashes
    for error in failed:
        raise error
    return ()
