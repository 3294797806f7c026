# SPDX-License-Identifier: Apache-2.0
"""Reading Spark's errors: which file it could not read, what it lacks, what raised."""

import re

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from scrub.errors import StoreUnavailable, first_line
from scrub.spark.plain_paths import plain_path

_FILE_IN_MESSAGE = re.compile(
    r"(?:Encountered error while reading file|Error while reading file) (\S+?)\.? ", re.DOTALL
)
_UNREADABLE_SPLIT = re.compile(r"UnreadableSplit: .*?: (.*)")  # a reason may hold colons, too
_CONDITION = re.compile(r"(?:[\w.]+: )?\[([A-Z_.0-9]+)\] ")
_CAUSE = re.compile(r"Caused by: [\w.]+(?:Exception|Error): (.*)")
_PYTHON_ERROR = re.compile(r"[\w.]*(?:Error|Exception|UnreadableSplit): ")
_FIRST_SENTENCE_MAX = 300


_LACKING = (
    (re.compile(r'No FileSystem for scheme "?([\w+.-]+)'), None),
    (re.compile(r"ClassNotFoundException: (?:Class )?[\w.]*\.S3AFileSystem\b"), "s3a"),
    (re.compile(r"ClassNotFoundException: (?:Class )?[\w.]*AzureBlobFileSystem\b"), "abfss"),
    (re.compile(r"ClassNotFoundException: (?:Class )?[\w.]*NativeAzureFileSystem\b"), "wasbs"),
    (re.compile(r"ClassNotFoundException: (?:Class )?[\w.]*GoogleHadoopFileSystem\b"), "gs"),
)
_PACKAGES = {
    "s3": "org.apache.hadoop:hadoop-aws",
    "ab": "org.apache.hadoop:hadoop-azure",
    "wa": "org.apache.hadoop:hadoop-azure",
    "gs": "com.google.cloud.bigdataoss:gcs-connector",
}
"""Who reads a scheme, by its first letters."""
_NO_DRIVER = re.compile(r"No suitable driver|ClassNotFoundException: ([\w.]*Driver)\b")
_NO_SOURCE = re.compile(r"\[DATA_SOURCE_NOT_FOUND\][^:\n]*: ([\w.]+)")


class SessionEnded(PySparkException):
    """Spark's JVM does not answer any more."""

    def __init__(self) -> None:
        super().__init__(message="Spark's session has ended: its JVM does not answer any more")


def lacking(error: BaseException) -> str | None:
    """What Spark does not have to read a place with, and where to get it, if that is all."""
    told = str(error)
    for pattern, known in _LACKING:
        if found := pattern.search(told):
            scheme = known or found[1]
            package = _PACKAGES.get(scheme[:2])
            jars = f"{package}:VERSION" if package else "GROUP:CONNECTOR:VERSION"
            version = ", in the version of Spark's Hadoop" if "hadoop-a" in jars else ""
            return (
                f"Spark has no connector for {scheme}:// locations; pass --conf "
                f"spark.jars.packages={jars}{version}, or use --engine native for Parquet and Delta"
            )
    if found := _NO_DRIVER.search(told):
        named = f" {found[1]}" if found[1] else " for the url of this store"
        return f"Spark has no JDBC driver{named}; pass --conf spark.jars=DRIVER.jar"
    if found := _NO_SOURCE.search(told):
        return (
            f"Spark has no data source {found[1]}; pass the package that has it with "
            "--conf spark.jars.packages=GROUP:NAME:VERSION"
        )
    return None


def explained(error: BaseException) -> StoreUnavailable | None:
    """An error of Spark's that says what is missing, in a sentence; None for any other."""
    if isinstance(error, Py4JNetworkError | SessionEnded):
        return StoreUnavailable(
            str(SessionEnded()), hint="run the command again; --verbose shows all that Spark says"
        )
    told = lacking(error) if isinstance(error, PySparkException | Py4JError) else None
    return StoreUnavailable(told) if told else None


def condition(error: PySparkException) -> str:
    """Spark's name for what happened, such as DIVIDE_BY_ZERO, or the exception's class."""
    if named := error.getCondition() if hasattr(error, "getCondition") else None:
        return named
    # An exception that PySpark does not know keeps only what Java says of it.
    told = _CONDITION.match(first_line(error))
    return told[1] if told else type(error).__name__


def first_sentence(error: BaseException) -> str:
    """One line for a person: Spark's messages go on for pages."""
    for line in str(error).splitlines():
        # Spark puts its condition, which we name apart, in front of the sentence.
        if sentence := _CONDITION.sub("", line.strip(), count=1):
            return sentence[:_FIRST_SENTENCE_MAX]
    return type(error).__name__


def reason_of(error: PySparkException, redact: bool) -> str:
    """Why a job failed, in one line; Spark's sentences may quote values, its conditions do not."""
    if isinstance(error, SessionEnded):
        return str(error)
    if told := lacking(error):
        return told
    if redact:
        return condition(error)
    if condition(error) == "PYTHON_EXCEPTION":
        return cause_in_worker(error)
    return f"{condition(error)}: {first_sentence(error)}"


def cause_in_worker(error: PySparkException) -> str:
    """The last line of the Python traceback that a task ended with."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if _PYTHON_ERROR.match(line)]
    return raised[-1] if raised else first_sentence(error)


def unreadable_file(error: PySparkException) -> str | None:
    """The local path or URI of the file that Spark's own reader choked on, if it says."""
    parameters = error.getMessageParameters() or {}
    path = parameters.get("path")
    if condition(error).startswith("FAILED_READ_FILE") and path:
        return plain_path(path)
    if found := _FILE_IN_MESSAGE.search(str(error)):
        return plain_path(found[1])
    return None


def unreadable_reason(error: PySparkException) -> str | None:
    """Why a file could not be read, in one line, from our own reader or from Spark's."""
    # Which kind of damage it is, Spark says in a cause, and PySpark leaves causes out of its text.
    told = f"{error}\n{getattr(error, '_stackTrace', '')}"
    if found := _UNREADABLE_SPLIT.search(told):
        return found[1].strip()
    if "[FAILED_READ_FILE" in told or condition(error).startswith("FAILED_READ_FILE"):
        causes = _CAUSE.findall(told)
        return f"Spark cannot read the file{f': {causes[-1].strip()}' if causes else ''}"
    return None
