#!/usr/bin/env bash
# Stops a deployment unless every index agrees with its table.
#
#   examples/ci/before_deployment.sh [CATALOG] && deploy
#
# Exit codes are scrub's: 0 deploy, 1 defects were found, 2 a mistake in the catalog or the call,
# 3 something could not be checked. Only 0 lets a deployment go on.
set -euo pipefail

catalog=${1:-scrub.yaml}
report=${SCRUB_REPORT:-scrub-report.json}

scrub catalog validate --catalog "$catalog"

code=0
scrub check database --catalog "$catalog" --redact --format json --output "$report" || code=$?

case $code in
  0) echo "every index agrees with its table: deploy" ;;
  1) echo "stopped: defects were found, see $report" >&2 ;;
  3) echo "stopped: not everything could be checked, see $report" >&2 ;;
  *) echo "stopped: the check could not run" >&2 ;;
esac
exit "$code"
