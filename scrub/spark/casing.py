# SPDX-License-Identifier: Apache-2.0
"""Whether Spark changes the case of letters as no language does, or as the JVM's own one.

`lower('İ')` is another text in a JVM that is set to Turkish or Azeri, `lower('Ì')` in one that is
set to Lithuanian. Which language that is, was decided when the JVM started.
"""

from typing import TYPE_CHECKING

from scrub.spark.session import parallelism

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LETTERS = "IiİıÌi̇é"  # noqa: RUF001 - it is these letters that languages differ on
OF_A_LANGUAGE = (
    "its expressions change the case of letters, and the Spark session's JVM does that by the "
    "rules of its own language"
)
WHAT_TO_DO = "start its driver and executors with -Duser.language=en, or let scrub start a session"


def _cased_otherwise(spark: "SparkSession") -> "DataFrame":
    """A row for each task in which casing goes by the rules of a language."""
    from pyspark.sql import functions as F

    tasks = max(parallelism(spark), 1)
    # The number makes it no constant, which the driver would compute for all tasks.
    number = F.col("id").cast("string")
    text = F.concat(F.lit(_LETTERS), number)
    differs = (F.lower(text) != F.concat(F.lit(_LETTERS.lower()), number)) | (
        F.upper(text) != F.concat(F.lit(_LETTERS.upper()), number)
    )
    return spark.range(0, tasks, 1, tasks).where(differs)


_ANSWERS: dict[str, bool] = {}


def goes_by_a_language(spark: "SparkSession") -> bool:
    """Whether any task does so; asked once for each application, since JVMs keep their language."""
    application = spark.conf.get("spark.app.id", None)
    if application is None:
        return not _cased_otherwise(spark).isEmpty()
    if application not in _ANSWERS:
        _ANSWERS[application] = not _cased_otherwise(spark).isEmpty()
    return _ANSWERS[application]
