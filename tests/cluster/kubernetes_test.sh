#!/usr/bin/env bash
# The commands of the Kubernetes manifest, run with the variable that each pod of an indexed Job has.
source "$(dirname "$0")/common.sh"
manifest=$checkout/examples/sweep_kubernetes.yaml
write_space

# command_of JOB: the folded text behind "- >-" in that document of the manifest, from 1.
command_of() {
  awk -v job="$1" 'BEGIN { n = 1 } /^---/ { n++ } n == job && /- >-/ { on = 1; next }
    on && /^              / { print; next } { on = 0 }' "$manifest" | tr -s ' \n' ' '
}

completions=$(sed -n 's/^ *completions: *//p' "$manifest")
[[ $(command_of 1) == *"auto/$completions "* ]] || wrong "auto/N is not the number of completions, $completions" "$(command_of 1)"
for ((i = 0; i < completions; ++i)); do
  must "pod $i" env JOB_COMPLETION_INDEX=$i sh -c "$(command_of 1)"
done
must "the merging pod" sh -c "$(command_of 2)"
same_bytes "$completions pods" sweep.jsonl whole.jsonl
finish
