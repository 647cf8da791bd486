#!/usr/bin/env bash
# Writes the outputs in docs/*.md and README.md anew: every fenced block whose first line is "$ ./stepcast ..." holds what that
# command prints. A test holds them against the program.
set -euo pipefail
cd "$(dirname "$0")/.."
for page in docs/*.md README.md; do
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
