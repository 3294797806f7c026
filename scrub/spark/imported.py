# SPDX-License-Identifier: Apache-2.0
"""Whether this process has imported PySpark, which takes as long as checking a small table.

Nobody raises Spark's exceptions, and no session is active, before that.
"""

import sys


def spark_is_imported() -> bool:
    return "pyspark" in sys.modules
