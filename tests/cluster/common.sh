# Sourced by the tests of sweeps beyond one process, with the program in $1 and the checkout in $2: an empty folder to work in,
# the program on PATH, and words to check with. The folder is removed, and what stop_all names is stopped, however the test ends.
set -u
program=$(readlink -f "$1")
checkout=$(readlink -f "$2")
skipped=77   # ctest's SKIP_RETURN_CODE
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d --tmpdir sweep.XXXXXX)
mkdir "$work/bin" && ln -s "$program" "$work/bin/stepcast"
export PATH=$work/bin:$PATH:/usr/sbin:/sbin
failures=0

stop_all() { :; }
clean_up() {
  trap '' HUP INT TERM
  stop_all
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 1

# need PACKAGE PROGRAM...: the test is skipped where one of them is missing.
need() {
  local package=$1 name
  for name in "${@:2}"; do
    command -v "$name" >/dev/null || skip "no $name; apt-get install --no-install-recommends $package"
  done
}

skip() {
  echo "skipped: $1"
  exit "$skipped"
}

# wrong WHAT [DETAIL...]
wrong() {
  printf '%s\n' "$@"
  failures=$((failures + 1))
}

# must WHAT COMMAND...: ends the test where the command fails.
must() {
  local what=$1
  shift
  if ! "$@" >"$work/out" 2>&1; then
    wrong "$what: failed: $*" "$(<"$work/out")"
    exit 1
  fi
}

# same_bytes WHAT FOUND EXPECTED
same_bytes() {
  [[ -s $3 ]] && cmp "$2" "$3" && return
  wrong "$1: $2 is not $3"
}

# commands_of EXAMPLE: those that its head tells the user to type.
commands_of() { sed -n 's/^# \$ //p' "$checkout/examples/$1"; }

finish() {
  ((failures == 0)) && echo "passed"
  exit $((failures != 0))
}

# Small, and of several nodes: 3,072 configurations.
write_space() {
  cat >space.json <<'TEXT'
{
  "network": "llama3-8b",
  "machine": "dgx-h100",
  "gpus": 64,
  "global_batch": 256,
  "axes": {"schedule": ["auto", "zb-h1"], "recompute": ["none", "full"], "zero": [1, 3]},
  "pareto": ["step_time", "memory.peak"]
}
TEXT
  must "the whole sweep" stepcast sweep --space space.json --threads 2 -o whole.jsonl
}
