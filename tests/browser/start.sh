#!/usr/bin/env bash
# start.sh TEST PROGRAM DRIVER OUTPUT: runs one test file with Node. Exit 77, which ctest calls skipped, where something is missing.
# DRIVER is the folder into which ./test has npm put what package.json names; pages and screenshots go to OUTPUT.
set -u
skip() { echo "skipped: $*"; exit 77; }
command -v node >/dev/null || skip "node is not on PATH"
export STEPCAST_CHROMIUM=${STEPCAST_CHROMIUM:-$(command -v chromium)}
[[ -n $STEPCAST_CHROMIUM ]] || skip "chromium is not on PATH"
[[ -f $3/node_modules/playwright-core/package.json ]] || skip "playwright-core is not in $3; ./test fetches it where npm is on PATH"
export STEPCAST_PROGRAM=$2 STEPCAST_DRIVER=$3 STEPCAST_OUTPUT=$4
mkdir -p "$4" || exit 1
exec node "$1"
