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

run "$toy/test" --ci
has "--ci leaves out what the sanitizers run" "$out" "out of 1"
has "and runs the rest" "$out" "toy.runs"

run "$toy/test" --sanitize --ci
same "one of them: status" "$status" 2

run "$toy/test" --sanitize -- -R runs
same "--sanitize has a folder of its own" "$([[ -x $toy/build/sanitize/stepcast ]] && echo built)" "built"

run "$toy/test" --bench abc
has "--bench hands on the filter" "$out" "<--benchmark_filter=abc>"
has "--bench writes JSON" "$out" "<--benchmark_out=$toy/build/bench/results.json>"

run "$toy/test" --sanitise
same "an unknown argument: status" "$status" 2
has "an unknown argument is named" "$err" "--sanitise"

# A test that is skipped says why, and that stands before ctest's summary.
cat >>"$toy/CMakeLists.txt" <<'TEXT'
add_test(NAME toy.skipped COMMAND sh -c "echo 'skipped: no moon'; exit 77")
set_tests_properties(toy.skipped PROPERTIES SKIP_RETURN_CODE 77)
TEXT
run "$toy/test"
has "the reason" "$out" "skipped: toy.skipped: no moon"
has "then the summary" "${out#*no moon}" "100% tests passed"
same "a skipped test is no failure" "$status" 0

# Single cases: the program whose sources have the suite, and no other.
mkdir -p "$toy/tests/one/sub" "$toy/tests/two"
echo 'TEST(Moon, Rises) {}' >"$toy/tests/one/sub/moon_test.cpp"
echo 'TEST_F(Sun, Sets) {}' >"$toy/tests/two/sun_test.cpp"
cat >>"$toy/CMakeLists.txt" <<'TEXT'
file(WRITE ${PROJECT_BINARY_DIR}/cases.c "#include <stdio.h>\nint main(int n, char** a) { puts(n > 2 ? \"Moon.\\n  Rises\" : a[1]); }\n")
foreach(name one two)
  add_executable(${name}_test ${PROJECT_BINARY_DIR}/cases.c)
  set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY tests EXCLUDE_FROM_ALL ON)
endforeach()
TEXT
: >"$toy/tests/CMakeLists.txt"
run "$toy/test" --case 'Moon.*'
has "--case runs the cases" "$out" "--gtest_filter=Moon.*"
same "and builds no other program" "$(cd "$toy/build/release/tests" && ls -d *_test)" "one_test"
run "$toy/test" --case 'Mars.*'
same "a suite that is not there: status" "$status" 2
has "a suite that is not there is named" "$err" "no suite of tests/ is called Mars"

echo 'add_test(NAME toy.fails COMMAND stepcast 7)' >>"$toy/CMakeLists.txt"
run "$toy/test"
[[ $status != 0 ]]
same "a failing test fails the run" "$?" 0
has "and is named in the summary" "$out" "toy.fails"
finish
