# SPDX-License-Identifier: Apache-2.0
"""A check from a notebook: each `# %%` is a cell. The session is borrowed and left running."""

# %% The session that the notebook already has, or a small one. Start your own with the Python that
# scrub is in, as here; otherwise the canary fails and the sql engine does all the work.
import os
import sys

from pyspark.sql import SparkSession

from reports import as_markdown
from scrub.app import check, explain_check, run_check
from scrub.model.request import AsOf, CheckRequest

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = SparkSession.builder.getOrCreate()

# %% Check one table of ./scrub.yaml; no table named means all of them.
result = check("orders", spark=spark)
summary = (result.status.value, result.exit_code, result.defects_total)

# %% How each index fared.
outcomes = [(o.index, o.status.value, dict(o.counts), o.reason) for o in result.outcomes]

# %% The defects, for example as a frame to filter or to join with the table.
found = [
    (defect.kind.value, defect.index, str(defect.primary_key), defect.differing_columns)
    for defect in result.defects
]
frame = spark.createDataFrame(
    found, "kind string, index string, primary_key string, differing array<string>"
)

# %% A report to keep beside the notebook.
report = as_markdown.render(result, redact=True)

# %% Everything that the command line has is in a request.
request = CheckRequest(
    tables=("orders",),
    indexes=("by_customer",),
    where="id >= 500",
    as_of=(AsOf(version=0),),
)
plan = explain_check(request, spark=spark)
part = run_check(request, spark=spark)

# %% A gate: stop here unless everything was looked at and is clean.
if result.exit_code != 0:
    raise SystemExit(result.exit_code)
