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
