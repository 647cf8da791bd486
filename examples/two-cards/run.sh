#!/usr/bin/env bash
# Makes every table and figure of this study anew, with nothing but public commands of stepcast, bash and Python's
# standard library. run.sh [PROGRAM]: another stepcast than the one of this checkout.
set -euo pipefail
cd "$(dirname "$0")"
export STEPCAST=${1:-$PWD/../../stepcast}

python3 forecast.py            # forecasts.csv, assumptions.csv, stages.json, hop.txt
python3 draw.py                # throughput.svg, memory.svg, the tables of README.md

for kind in 1f1b zb-h1; do
  "$STEPCAST" schedule $kind --stages 2 --micro-batches 8 --times stages.json --p2p "$(<hop.txt)" \
    --svg timeline-$kind.svg --force >/dev/null
done
