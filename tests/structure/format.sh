#!/usr/bin/env bash
# format.sh ROOT: every C++ source is as clang-format writes it. Exit 77, which ctest calls skipped, where it is
# missing: another version writes other lines.
set -u
skip() { echo "skipped: $*"; exit 77; }
command -v clang-format >/dev/null || skip "clang-format is not on PATH"
version=$(clang-format --version)
[[ $version =~ version\ 14\. ]] || skip "clang-format 14 is wanted, here is: $version"
cd "$1" || exit 1
sources() {
  git ls-files -z -- '*.cpp' '*.h' '*.cu' '*.cuh' 2>/dev/null | grep -z . \
    || find model dataflow sim kernels calibrate studies tests examples \
      \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) -print0
}
sources | xargs -0 -n 50 -P 2 clang-format --dry-run -Werror 2>&1 | grep -E 'error:' | cut -d: -f1 | sort | uniq -c
[[ ${PIPESTATUS[1]} == 0 ]]
