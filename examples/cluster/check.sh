#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs scrub with all it needs, ships it to a cluster, and checks the tables of scrub.yaml there.
#
#   MASTER=spark://host:7077 LAKE_KEY=... LAKE_SECRET=... ./check.sh table orders
#   MASTER=yarn ./check.sh database --format json --output result.json
#
# The exit code is that of `scrub check`: 0 clean, 1 defects, 2 a mistake, 3 incomplete.
set -euo pipefail

: "${MASTER:?name the Spark master, such as spark://host:7077 or yarn}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
environment="$here/scrub-env"
archive="$here/scrub-env.tar.gz"

# Once, and again after an update: an environment that executors can unpack. venv-pack packs a link
# to the Python interpreter, so every node needs this version of Python at this path.
if [[ ! -f "$archive" ]]; then
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet "$here/../.." venv-pack
    "$environment/bin/venv-pack" --prefix "$environment" --output "$archive"
fi

# The driver runs in the environment itself, the executors in the unpacked copy.
export PYSPARK_DRIVER_PYTHON="$environment/bin/python"
export PYSPARK_PYTHON=./environment/bin/python

# Spark's own reader needs Hadoop's connector on the class path, for example with
#   --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION
# and credentials, best in spark-defaults.conf, where no list of processes shows them.
settings=(
    --master "$MASTER"
    --deploy-mode client                              # so that the exit code comes through
    --archives "$archive#environment"
    --conf spark.executor.cores=4
    --conf spark.executor.memory=4g
    --conf spark.executor.memoryOverhead=2g           # Python workers: 0.5 GiB for each core
    --conf spark.driver.memory=2g
    --conf spark.sql.shuffle.partitions=200           # 2 to 3 for each core of the cluster
    --conf spark.hadoop.fs.s3a.endpoint.region=eu-central-1
    --conf spark.log.level=ERROR
    --conf spark.ui.showConsoleProgress=false
)

cd "$here"
exec "$environment/bin/spark-submit" "${settings[@]}" check_job.py "$@"
