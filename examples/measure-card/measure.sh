#!/usr/bin/env bash
# Measures the GPUs of this machine: kernels verified, one calibration, a second one from a fresh start, and what changed
# between them. Needs what ./carry put beside it, and a driver; every part is a call of less than ten minutes.
set -u
here=$(cd "${BASH_SOURCE[0]%/*}" && pwd -P)

usage() {
  cat <<'TEXT'
usage: measure.sh [-o FOLDER] [PART...] [-- FLAGS OF stepcast calibrate measure]
parts (default: all but sanitize, in this order):
  machine    what is there: GPUs, driver, libraries, the plan
  verify     every kernel against its float64 reference
  sanitize   the same under compute-sanitizer (memcheck, racecheck, initcheck), where that is installed: many minutes
  first      calibrate measure; the profile fitted from it
  second     the same from a fresh start; compare both profiles
  layers     whole layers of three networks, in a graph and eager; the first profile's forecast of them
examples:
  measure.sh -o results
  measure.sh -o results first -- --budget 60s --model llama3-8b
TEXT
}

say() { printf 'measure: %s\n' "$*"; }

# Folders of CUDA's libraries that the loader does not look into by itself: of Python packages, of toolkits.
library_folders() {
  local folder
  for folder in "${CUDA_HOME:-/usr/local/cuda}"/lib64 "${CUDA_HOME:-/usr/local/cuda}"/lib /usr/local/nvidia/lib64; do
    [[ -d $folder ]] && printf '%s\n' "$folder"
  done
  command -v python3 >/dev/null || return 0
  python3 - <<'PYTHON'
import glob, importlib.util
spec = importlib.util.find_spec("nvidia")
for root in (spec.submodule_search_locations if spec else []):
    for folder in sorted(glob.glob(root + "/*/lib")):
        print(folder)
PYTHON
}

# part NAME COMMAND...: its output goes to the terminal and to FOLDER/NAME.txt; a failure is noted and does not end the rest.
failed=()
part() {
  local name=$1 code
  shift
  say "$name: $*"
  timeout --signal=INT --kill-after=20 "$limit" "$@" 2>&1 | tee "$out/$name.txt"
  code=${PIPESTATUS[0]}
  ((code == 0)) || { failed+=("$name (exit $code)"); say "$name ended with exit $code"; }
  return "$code"
}

part_machine() {
  command -v nvidia-smi >/dev/null && part nvidia-smi nvidia-smi
  part version "$here/stepcast" --version
  part plan "$here/stepcast" calibrate measure --dry-run "${flags[@]}"
}

# Without a card or a library the checks skip themselves, and have verified nothing.
part_verify() {
  local missing
  part verify "$here/kernels_test" --gtest_filter='*OnGpu*' || return
  missing=$(grep -oh 'skipped: no [A-Za-z]*' "$out/verify.txt" | sort -u | paste -sd,)
  [[ -z $missing ]] || { failed+=("verify ($missing)"); say "verify: $missing"; }
}

part_sanitize() {
  local tool
  if ! command -v compute-sanitizer >/dev/null; then
    say "sanitize: compute-sanitizer is not installed here; skipped"
    return
  fi
  for tool in memcheck racecheck initcheck; do
    part "sanitize-$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 "$here/kernels_test" --gtest_brief=1 \
      --gtest_filter='*OnGpu*'
  done
}

# An interrupted calibration is gone on with: the file is there.
calibrate() {
  local name=$1 resume=()
  [[ -s $out/$name.json ]] && resume=(--resume)
  part "$name" "$here/stepcast" calibrate measure "${resume[@]}" "${flags[@]}" -o "$out/$name.json" \
    --profile "$out/$name-profile.json"
}

part_first() { calibrate first; }

part_second() {
  calibrate second || return
  [[ -s $out/first-profile.json ]] && \
    part compare "$here/stepcast" calibrate compare "$out/first-profile.json" "$out/second-profile.json"
}

# Two dense networks and one of experts, at 2048, 4096 and 8192 positions.
part_layers() {
  part layers "$here/stepcast" calibrate layers gpt3-13b llama3-8b mixtral-8x7b -o "$out/layers.json" || return
  [[ -s $out/first-profile.json ]] && \
    part forecast "$here/stepcast" calibrate layers "$out/layers.json" "$out/first-profile.json"
}

known=(machine verify sanitize first second layers)
out=measured limit=590 parts=() flags=()
while (($#)); do
  case $1 in
    -o) [[ -n ${2-} ]] || { usage >&2; exit 2; }; out=$2; shift ;;
    --) shift; flags=("$@"); break ;;
    -h | --help) usage; exit 0 ;;
    *)
      [[ " ${known[*]} " == *" $1 "* ]] || { say "unknown part '$1'"; usage >&2; exit 2; }
      parts+=("$1") ;;
  esac
  shift
done
((${#parts[@]})) || parts=("${known[@]/sanitize}")
mkdir -p -- "$out" || exit
out=$(cd -- "$out" && pwd -P)
folders=$(library_folders | paste -sd:)
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folders
for name in "${parts[@]}"; do [[ -z $name ]] || "part_$name"; done
if ((${#failed[@]})); then
  say "failed: ${failed[*]}"
  exit 1
fi
say "all parts done; results are in $out"
