#!/usr/bin/env bash
# sim_vocabulary.sh ROOT: no file of sim/, nor its name, speaks of a named parallelism. sim/ sees groups, work, moves,
# buffers and lifetimes, so that a new parallelism needs no code there.
set -u
root=$1

# Whole words, where tp_size, tp2 and "tp" are the word tp and "step" is not. "bubble zero" and "zero-bubble" are schedules.
words='tp|dp|cp|ep|etp|edp|sp|fsdp|hsdp|ddp|zero[ _-]?[123]|zero (stage|redundancy)'
phrases='(tensor|data|sequence|context|expert)[ _-]?parallel'

status=0
report() {
  local found
  if found=$(grep -nE "$@"); then
    echo "$found"
    status=1
  fi
}
cd "$root" || exit 1
[[ -n $(find sim -type f) ]] || { echo "no file in $root/sim"; exit 1; }
report -ri "(^|[^a-z])($words)([^a-z]|$)|$phrases" sim
report -r 'ZeRO' sim
report -i "(^|[^a-z])($words)([^a-z]|$)|$phrases" < <(find sim -type f)
exit $status
