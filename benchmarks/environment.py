# SPDX-License-Identifier: Apache-2.0
"""Where figures were measured."""

import os
import platform
import re
import subprocess
from importlib.metadata import version

import psutil

PACKAGES = ("pyspark", "pyarrow", "numba", "deltalake", "duckdb", "datacompy")


def environment() -> dict[str, str]:
    """Cores, memory, load and versions, for the line above the table."""
    return {
        "cores": str(os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "load before": f"{os.getloadavg()[0]:.1f}",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "Java": _java_version(),
        "scrub": version("scrub"),
    } | {package: version(package) for package in PACKAGES}


def _java_version() -> str:
    java = (
        os.path.join(os.environ["JAVA_HOME"], "bin", "java")
        if "JAVA_HOME" in os.environ
        else "java"
    )
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    found = re.search(r'"(.+?)"', said)
    return found[1] if found else said.splitlines()[0]
