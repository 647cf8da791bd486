#!/usr/bin/env bash
# loads.sh PROGRAM MODULE OTHER: the program takes the GPU side from a module, refuses one of other sources, and says
# what to do where there is none.
set -u
program=$1 module=$2 other=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# says WHAT PART COMMAND...: the command's output has the part.
says() {
  local what=$1 part=$2 said
  shift 2
  said=$("$@" 2>&1)
  [[ $said == *"$part"* ]] && return
  printf '%s: no "%s" in\n%s\n' "$what" "$part" "$said"
  failures=$((failures + 1))
}

measure=("$program" calibrate measure -o "$work/rows.json")
says "named by the environment" "(CUDA of a test)" env STEPCAST_GPU_MODULE="$module" "$program" --version
says "its words are the program's" "this module has no GPU" env STEPCAST_GPU_MODULE="$module" "${measure[@]}"
says "of other sources" "was built from other sources" env STEPCAST_GPU_MODULE="$other" "${measure[@]}"
says "of other sources" "(no CUDA)" env STEPCAST_GPU_MODULE="$other" "$program" --version
says "no file" "cannot be loaded" env STEPCAST_GPU_MODULE="$work/none.so" "${measure[@]}"

# A program far from its build folder finds a module beside it, or below the prefix it is installed to.
mkdir -p "$work"/{beside,prefix/bin,prefix/lib/stepcast,bare}
cp "$program" "$work/beside/stepcast" && cp "$module" "$work/beside/libstepcast_gpu.so"
cp "$program" "$work/prefix/bin/stepcast" && cp "$module" "$work/prefix/lib/stepcast/libstepcast_gpu.so"
cp "$program" "$work/bare/stepcast"
says "beside the program" "(CUDA of a test)" "$work/beside/stepcast" --version
says "where it is installed" "(CUDA of a test)" "$work/prefix/bin/stepcast" --version
says "nowhere" "this build of stepcast has no CUDA" "$work/bare/stepcast" calibrate measure -o "$work/rows.json"
says "nowhere, and how" "./stepcast calibrate measure" "$work/bare/stepcast" calibrate measure -o "$work/rows.json"
((failures == 0))
