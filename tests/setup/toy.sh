# Sourced by the tests of the scripts with the checkout in $1: makes a toy project in $toy, built by the real scripts.
set -u
checkout=$1
work=$(mktemp -d)
work=$(cd "$work" && pwd -P)
trap 'rm -rf "$work"' EXIT
toy=$work/toy
failures=0

# make_toy: a project of one C source whose program says where it runs and with what arguments.
make_toy() {
  mkdir -p "$toy/cmake" "$work/elsewhere"
  cp "$checkout/stepcast" "$checkout/test" "$toy/"
  cp "$checkout/cmake/setup.sh" "$toy/cmake/"
  # The toy starts none of them, and a test must not install what its user left out.
  sed -i 's/^\(test_packages\|test_programs\)=.*/\1=()/' "$toy/cmake/setup.sh"
  cp "$checkout/CMakePresets.json" "$toy/"
  cat >"$toy/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.25)
project(toy LANGUAGES C)
file(CONFIGURE OUTPUT configured_for CONTENT "${PROJECT_SOURCE_DIR}\n" @ONLY)
add_executable(stepcast toy.c)
add_executable(stepcast_bench EXCLUDE_FROM_ALL toy.c)
set_target_properties(stepcast_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY tests/bench)
enable_testing()
add_test(NAME toy.runs COMMAND stepcast)
add_test(NAME toy.other COMMAND stepcast)
set_tests_properties(toy.other PROPERTIES LABELS sanitized)
add_custom_target(stepcast_ci DEPENDS stepcast)
file(CONFIGURE OUTPUT has_cuda CONTENT "$ENV{TOY_CUDA}\n" @ONLY)
add_library(stepcast_gpu MODULE EXCLUDE_FROM_ALL toy.c)
TEXT
  write_program first
}

# write_program WORD: the program prints WORD, its folder and its arguments.
write_program() {
  cat >"$toy/toy.c" <<TEXT
#include <stdio.h>
#include <unistd.h>
int main(int argc, char** argv) {
  char folder[4096];
  if (!getcwd(folder, sizeof folder)) return 1;
  printf("$1 in %s:", folder);
  for (int i = 1; i < argc; ++i) printf(" <%s>", argv[i]);
  puts("");
  return argc > 1 && argv[1][0] == '7' ? 7 : 0;
}
TEXT
}

# run COMMAND...: sets $out, $err and $status.
run() {
  out=$("$@" 2>"$work/stderr")
  status=$?
  err=$(<"$work/stderr")
}

# same WHAT FOUND EXPECTED
same() {
  [[ $2 == "$3" ]] && return
  printf '%s:\n  found    %s\n  expected %s\n' "$1" "$2" "$3"
  failures=$((failures + 1))
}

# has WHAT TEXT PART
has() {
  [[ $2 == *"$3"* ]] && return
  printf '%s: no "%s" in\n%s\n' "$1" "$3" "$2"
  failures=$((failures + 1))
}

# stand_in NAME: reads a bash script for a command of that name, found first on PATH, that may write to $work/calls.
stand_in() {
  mkdir -p "$work/bin"
  { printf '#!/bin/bash\ncalls=%q work=%q\n' "$work/calls" "$work"; cat; } >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

finish() { exit $((failures > 0)); }
