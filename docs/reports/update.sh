#!/usr/bin/env bash
# Writes the kept reports anew. They are made by a build without uPlot, whose code would otherwise be kept in timeline.html: memory is
# then a still picture there.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
cmake -S . -B build/plain -G Ninja -D STEPCAST_NPM=build/plain/none -D STEPCAST_TESTS=OFF -D STEPCAST_CUDA=OFF >&2
ninja -C build/plain stepcast >&2
sed -n 's/^| `\([^`]*\)` | `stepcast report \([^`]*\)`.*/\1 \2/p' studies/samples/README.md | while read -r name run; do
  # shellcheck disable=SC2086
  build/plain/stepcast report $run -o "studies/samples/$name" >/dev/null
  printf '%s\n' "$name"
done
