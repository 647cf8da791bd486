#!/usr/bin/env bash
# update.sh [PAGE...]: writes the outputs in docs/*.md, README.md and examples/*/README.md, or only in these pages, anew.
# Every fenced block whose first line is "$ ./stepcast ..." holds what that command prints. An excerpt ends its command with
# "| head -LINES". A test holds all of them against the program.
set -euo pipefail
cd "$(dirname "$0")/.."
(($#)) || set -- docs/*.md README.md examples/*/README.md
for page; do
  grep -q '^\$ \./stepcast ' "$page" || continue
  fresh=$(mktemp)
  output=
  while IFS= read -r line || [[ -n $line ]]; do
    if [[ $output == old && $line != '```' ]]; then continue; fi
    output=
    printf '%s\n' "$line" >>"$fresh"
    if [[ $line == '$ ./stepcast '* ]]; then
      (eval "${line#\$ }") </dev/null >>"$fresh" 2>/dev/null || true
      output=old
    fi
  done <"$page"
  cat "$fresh" >"$page"
  rm "$fresh"
done
