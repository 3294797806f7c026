# SPDX-License-Identifier: Apache-2.0
"""The classes that Spark loads at every start, kept ready in one file (Java's class data sharing).

Such an archive lies in the Python environment that it was made in, and goes with it. The JVM itself
decides whether it fits: with another Java, or other jars, it starts as if there were none. But one
that was cut off would end the JVM, so its name tells how long it is.
"""

import sys
from pathlib import Path

import pyspark

_QUIET = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off")


def archive_directory() -> Path:
    return Path(sys.prefix) / "share" / "scrub"


def keep_archive(made: Path) -> Path:
    """Have later sessions start from an archive, and from no earlier one; where it is then."""
    kept = archive_directory() / _name(made)
    made.replace(kept)
    for path in archive_directory().glob("spark-*.jsa"):
        if path != kept:
            path.unlink(missing_ok=True)  # whoever has started from it keeps it
    return kept


def using_archive() -> list[str]:
    """Options of a JVM that starts from the archive, if there is one."""
    for path in archive_directory().glob(f"spark-{pyspark.__version__}-*.jsa"):
        try:
            is_whole = path.name == _name(path)
        except FileNotFoundError:
            continue  # a newer one has just taken its place
        if is_whole:
            return [f'"-XX:SharedArchiveFile={path}"', *_QUIET]
    return []


def writing_archive(path: Path) -> list[str]:
    """Options of a JVM that writes down what it has loaded, when it ends."""
    return [f'"-XX:ArchiveClassesAtExit={path}"', *_QUIET]


def _name(archive: Path) -> str:
    """What an archive of this length is called."""
    return f"spark-{pyspark.__version__}-{archive.stat().st_size}.jsa"
