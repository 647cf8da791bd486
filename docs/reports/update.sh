#!/usr/bin/env bash
# update.sh: writes the kept reports anew: pictures, figures and report.md, without the pages.
set -euo pipefail
cd "$(dirname "$0")/../.."
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
sed -n 's/^| `\([^`]*\)` | `stepcast report \([^`]*\)`.*/\1 \2/p' docs/reports/README.md | while read -r name run; do
  # shellcheck disable=SC2086
  ./stepcast report $run --no-sweep -o "$fresh/$name" >/dev/null
  rm "$fresh/$name"/*.html
  rm -rf "docs/reports/$name"
  cp -r "$fresh/$name" "docs/reports/$name"
  printf '%s\n' "$name"
done
# The page of a job, which is small: stepcast job RUN --html FILE.
sed -n 's/^| `\([^`]*\.html\)` | `stepcast job \([^`]*\)`.*/\1 \2/p' docs/reports/README.md | while read -r name run; do
  # shellcheck disable=SC2086
  ./stepcast job $run --html "docs/reports/$name" --force >/dev/null
  printf '%s\n' "$name"
done
