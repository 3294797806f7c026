#!/usr/bin/env bash
# Stops a deployment if a defect is new: one that is neither in scrub-baseline.jsonl nor waived.
#
#   examples/ci/before_deployment.sh [CATALOG] && deploy
#
# Exit codes are scrub's: 0 deploy, 1 something is new, 2 a mistake in the catalog, the baseline,
# the waivers or the call, 3 something was not checked. Only 0 lets a deployment go on.
set -euo pipefail

catalog=${1:-scrub.yaml}
report=${SCRUB_REPORT:-scrub-report.json}

scrub catalog validate --catalog "$catalog"

code=0
scrub gate --catalog "$catalog" --redact --format json --output "$report" || code=$?

case $code in
  0) echo "no new defect: deploy" ;;
  1) echo "stopped: there are new defects, see $report" >&2 ;;
  3) echo "stopped: not everything was checked, see $report" >&2 ;;
  *) echo "stopped: the gate could not decide" >&2 ;;
esac
exit "$code"
