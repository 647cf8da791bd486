#!/usr/bin/env bash
# Outputs that cannot be written and files that cannot be resumed, met by the real program: the message says what, the exit code
# is not 0, and what was there before is still there.
source "$(dirname "$0")/common.sh"
write_space

# fails WHAT MESSAGE COMMAND...: what it prints goes to no file, whose size might be limited.
fails() {
  local what=$1 message=$2
  shift 2
  local err
  err=$("$@" 2>&1 >/dev/null) && wrong "$what: passed"
  [[ $err == *"$message"* ]] || wrong "$what: does not say '$message'" "$err"
}
sweep() { stepcast sweep --space space.json "$@"; }

stepcast sweep --space space.json --shard 0/2 -o half.jsonl >out || wrong "half the sweep failed" "$(<out)"
cp half.jsonl kept.jsonl
fails "another shard's file" "holds shard 0/2" sweep --resume --shard 1/2 -o half.jsonl
fails "another question's file" "holds the result of another question" sweep --resume --shard 0/2 --tp 8 -o half.jsonl
same_bytes "a file that is not ours" half.jsonl kept.jsonl

head -c 3000 kept.jsonl >short.jsonl
sed 's/"index": 1/"index": 2/' kept.jsonl >changed.jsonl
cmp -s changed.jsonl kept.jsonl && wrong "nothing was changed, the test shows nothing"
printf '\x00\xff' >bytes.jsonl
for name in short changed bytes; do
  cp $name.jsonl $name.before
  fails "$name: resumed" "nothing was changed in it" sweep --resume --shard 0/2 -o $name.jsonl
  fails "$name: written over" "is no whole result of a sweep" sweep --shard 0/2 -o $name.jsonl
  fails "$name: merged" "$name.jsonl" stepcast merge $name.jsonl kept.jsonl -o merged.jsonl
  same_bytes "$name" $name.jsonl $name.before
done
[[ ! -e merged.jsonl ]] || wrong "a damaged shard was merged"

# As on a full disk: a limit on the size of files, whose signal the program ignores by itself, makes writing fail.
limited() { bash -c 'ulimit -f "$0"; exec stepcast "${@}"' "$@"; }
fails "no room at the beginning" "cannot be written" limited 0 sweep --space space.json -o new.jsonl
[[ ! -e new.jsonl ]] || wrong "a file was left that nothing is in"
fails "no room for the result" "could not be written" limited 8 sweep --space space.json --top 1000 -o large.jsonl
# A state of the search that still had room may lie there, which a resumed sweep goes on from; half a result may not.
if [[ -e large.jsonl ]]; then
  sweep --resume --top 1000 -o large.jsonl >out 2>&1 || wrong "half a result was left" "$(<out)"
fi
stepcast merge whole.jsonl -o r.csv >out && cp r.csv before.csv
fails "no room for a table" "r.csv" limited 1 merge whole.jsonl -o r.csv
same_bytes "the table before" r.csv before.csv

# What cannot be written at the end is a run that failed, not a wrong command line: exit code 1, and nothing half-written stays.
fails_at_the_end() {
  local name=$1
  shift
  limited 8 "$@" >/dev/null 2>err
  (($? == 1)) || wrong "$1 $name without room: another exit code" "$(<err)"
  grep -q "could not be written" err || wrong "$1 $name without room: does not say so" "$(<err)"
  [[ ! -e $name && ! -e $name.part ]] || wrong "$1: half of $name was left"
}
job=(llama3-8b --machine dgx-h100 --gpus 8 --tp 2 --global-batch 64 --seq 2048)
fails_at_the_end page.html roofline "${job[@]}" -o page.html
fails_at_the_end figures.json roofline "${job[@]}" -o figures.json
fails_at_the_end trace.json timeline "${job[@]}" -o trace.json
fails_at_the_end step.json predict "${job[@]}" --trace step.json
# A folder is all there or not there at all, and an earlier report stays as it was.
fails_at_the_end folder report "${job[@]}" --no-sweep -o folder
stepcast report "${job[@]}" --no-sweep -o folder >out || wrong "a report failed" "$(<out)"
cp -r folder folder.before
fails_at_the_end folder/index.html.part report "${job[@]}" --pp 2 --no-sweep -o folder
diff -r folder folder.before >out || wrong "an earlier report was changed by one that failed" "$(<out)"

# Root may write everywhere.
if ((EUID != 0)); then
  mkdir closed && chmod a-w closed
  fails "a folder of others" "cannot be written" sweep -o closed/r.jsonl
fi
finish
