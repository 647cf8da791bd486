#!/usr/bin/env bash
# A sweep that is killed at random moments, again and again, and resumed: it loses nothing that it had written, and ends in the
# bytes of one that was left alone. The seed is printed; another: SEED=7 bash killed_test.sh PROGRAM CHECKOUT.
source "$(dirname "$0")/common.sh"
seed=${SEED:-$RANDOM}
RANDOM=$seed
echo "seed $seed"
question=(--space "$checkout/examples/spaces/llama3-70b-64.json" --exhaustive --threads 1)

halfway=0   # runs that were killed with some of the work done and kept

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# pause RUN: the first is cut short as soon as its file is there, the second when it has brought that up to date; later ones get
# up to half of what the whole takes, and more.
pause() {
  local ms=$((RANDOM % (took / 2 + 20 * $1)))
  case $1 in
    1) until [[ -e $file ]] || ! kill -0 "$pid"; do :; done ;;
    2) until [[ $file -nt before ]] || ! kill -0 "$pid"; do :; done ;;
    *) sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))" ;;
  esac 2>/dev/null
}

# kill_and_resume SIGNALS FILE FLAGS...: until it is through.
kill_and_resume() {
  local signals=($1) file=$2 runs=0 cut=0 kept=0 signal code pid
  shift 2
  while ((++runs < 200)); do
    touch before
    stepcast sweep "${question[@]}" --snapshot 0.02 --resume -o "$file" "$@" >run.out 2>run.err &
    pid=$!
    pause "$runs"
    signal=${signals[RANDOM % ${#signals[@]}]}
    kill "-$signal" "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    code=$?
    ((code == 0)) && break
    cut=$((cut + 1))
    check_ending "$signal" "$code"
    check_kept
  done
  echo "$file: $cut of $runs runs were killed"
  ((code == 0)) || wrong "$file: never got through"
  ((cut > 0)) || wrong "$file: no run was killed, the test shows nothing"
}

# The count of configurations done in the file never falls.
check_kept() {
  local now
  now=$(sed -n '1s/.*"tally": {"enumerated": \([0-9]*\).*/\1/p' "$file")
  ((${now:--1} >= kept)) || wrong "$file: ${now:-nothing} is left of $kept configurations"
  ((now > 0)) && halfway=$((halfway + 1))
  kept=$now
}

# SIGKILL and what comes before handlers are set end a run as signals do; later SIGINT and SIGTERM are answered: 1.
check_ending() {
  case $2 in
    1) [[ $1 != KILL ]] && grep -q "go on with the same command and --resume" run.err && return ;;
    $((128 + $(kill -l "$1")))) return ;;
  esac
  wrong "a run that got SIG$1 ended with $2" "$(<run.err)"
}

began=$(milliseconds)
must "the whole sweep" stepcast sweep "${question[@]}" -o whole.jsonl
took=$(($(milliseconds) - began))
for signals in KILL "INT TERM" "KILL TERM INT"; do
  name=${signals// /-}.jsonl
  kill_and_resume "$signals" "$name"
  same_bytes "killed by $signals" "$name" whole.jsonl
done

# A shard that is killed merges as if it had not been.
must "shard 0" stepcast sweep "${question[@]}" --shard 0/3 -o shard-0.jsonl
must "shard 2" stepcast sweep "${question[@]}" --shard 2/3 -o shard-2.jsonl
took=$((took / 3))
kill_and_resume "KILL TERM INT" shard-1.jsonl --shard 1/3
must "merging" stepcast merge shard-{0,1,2}.jsonl -o merged.jsonl
same_bytes "a shard that was killed" merged.jsonl whole.jsonl
((halfway > 0)) || wrong "no run was killed half-way, the test shows nothing"
[[ -z $(ls ./*.part 2>/dev/null) ]] || wrong "left behind: $(ls ./*.part)"
echo "$halfway runs were killed half-way"
finish
