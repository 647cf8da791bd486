#!/usr/bin/env bash
# ./test: its arguments, its exit status, ctest's summary at the end.
source "$(dirname "$0")/toy.sh"
make_toy
cd "$work/elsewhere" || exit 1

run "$toy/test"
same "status" "$status" 0
has "both tests ran" "$out" "100% tests passed, 0 tests failed out of 2"

run "$toy/test" -- -R other
has "arguments after -- go to ctest" "$out" "out of 1"

run "$toy/test" --sanitize -- -R runs
same "--sanitize has a folder of its own" "$([[ -x $toy/build/sanitize/stepcast ]] && echo built)" "built"

run "$toy/test" --bench abc
has "--bench hands on the filter" "$out" "<--benchmark_filter=abc>"
has "--bench writes JSON" "$out" "<--benchmark_out=$toy/build/bench/results.json>"

run "$toy/test" --sanitise
same "an unknown argument: status" "$status" 2
has "an unknown argument is named" "$err" "--sanitise"

echo 'add_test(NAME toy.fails COMMAND stepcast 7)' >>"$toy/CMakeLists.txt"
run "$toy/test"
[[ $status != 0 ]]
same "a failing test fails the run" "$?" 0
has "and is named in the summary" "$out" "toy.fails"
finish
