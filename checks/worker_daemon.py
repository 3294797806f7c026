# SPDX-License-Identifier: Apache-2.0
"""The process that Spark's Python workers are forked from, with everything that tasks import.

`python -m checks.worker_daemon` is started by the JVM of a session of our own, in the place of
`pyspark.daemon`. Without it, every worker imports for itself what tasks need, and PySpark once more
from an archive of sources, which Python compiles each time: two seconds a core.

Nothing of this may start threads, which a fork leaves behind, but for that of an allocator which
knows of forks.
"""

import sys
from collections.abc import Sequence
from gc import collect as collect_garbage
from gc import freeze
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path

from scrub.unused_libraries import leave_out

_NEEDED = (
    "pyspark.worker",
    "pyarrow.parquet",
    "scrub.codec.xxh64",
    "scrub.spark.tasks",
    "checks.spark_work",
    "checks.columns.split_sums",
)


def main() -> None:
    """Import what tasks need, and wait for whoever wants a worker."""
    prepare()
    from pyspark.daemon import manager

    manager()


def prepare() -> None:
    """Import what tasks need."""
    sys.path[:] = without_archives(sys.path)
    leave_out(users=())  # pyarrow and numba look for libraries that no task uses
    for module in _NEEDED:
        import_module(module)
    # Workers collect garbage after each task: not what they share, which they would have to copy.
    collect_garbage()
    freeze()


def without_archives(path: Sequence[str]) -> list[str]:
    """The path without PySpark's archives of sources where the same is installed beside them."""
    archives = [place for place in path if _is_archive(place)]
    others = [place for place in path if place not in archives]
    pyspark, py4j = (PathFinder.find_spec(name, others) for name in ("pyspark", "py4j"))
    if pyspark is None or pyspark.origin is None or py4j is None:
        return list(path)
    installed = Path(pyspark.origin).parent
    return [place for place in path if place in others or installed not in Path(place).parents]


def _is_archive(place: str) -> bool:
    name = Path(place).name
    return name == "pyspark.zip" or (name.startswith("py4j-") and name.endswith("-src.zip"))


if __name__ == "__main__":
    main()
