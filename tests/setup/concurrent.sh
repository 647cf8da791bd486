#!/usr/bin/env bash
# Started several times at once, from nothing and after an edit, every ./stepcast answers right.
source "$(dirname "$0")/toy.sh"
make_toy

start_together() {
  local n
  for n in 1 2 3 4; do
    "$toy/stepcast" "$n" >"$work/out.$n" 2>"$work/err.$n" &
  done
  wait
  for n in 1 2 3 4; do
    same "$1, number $n" "$(<"$work/out.$n")" "$1 in $PWD: <$n>"
  done
}

start_together first
same "one of them built" "$(cat "$work"/err.* | grep -c 'stepcast: building')" 1
write_program second
start_together second
finish
