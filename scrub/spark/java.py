# SPDX-License-Identifier: Apache-2.0
"""Whether there is a Java that Spark could start, asked before it is started."""

import os
import shutil
from pathlib import Path

from scrub.errors import SparkUnavailable


def require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if home and not Path(home, "bin", "java").exists():
        # Spark then starts no other, whatever there is on PATH.
        raise SparkUnavailable(
            f"JAVA_HOME is {home}, and there is no bin/java in it",
            hint="let it name the folder of a Java 17 or newer, or unset it to use the java on "
            "PATH",
        )
    if home or shutil.which("java"):
        return
    raise SparkUnavailable(
        "Spark needs Java 17 or newer, and no java was found on PATH",
        hint="on Debian or Ubuntu: apt-get install openjdk-17-jre-headless",
    )
