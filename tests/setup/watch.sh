#!/usr/bin/env bash
# A source that comes, goes or lies in a new folder is noticed by the next build, without file(GLOB CONFIGURE_DEPENDS).
source "$(dirname "$0")/toy.sh"
make_toy
cp "$checkout/cmake/StepcastLibrary.cmake" "$toy/cmake/"
cat >>"$toy/CMakeLists.txt" <<'TEXT'
include(cmake/StepcastLibrary.cmake)
stepcast_watch(parts)
file(GLOB_RECURSE parts RELATIVE ${PROJECT_SOURCE_DIR}/parts parts/*.c)
list(JOIN parts "+" parts)
target_compile_definitions(stepcast PRIVATE PARTS="${parts}")
TEXT
echo '#include <stdio.h>
int main(void) { puts(PARTS); }' >"$toy/toy.c"

# sees EXPECTED: what the program was built from.
sees() {
  run "$toy/stepcast"
  same "parts seen" "$out" "$1"
}

mkdir "$toy/parts"
echo >"$toy/parts/a.c"
sees a.c
echo >"$toy/parts/b.c"
sees a.c+b.c
mkdir "$toy/parts/sub"
sees a.c+b.c
echo >"$toy/parts/sub/c.c"
sees a.c+b.c+sub/c.c
rm -r "$toy/parts/sub" "$toy/parts/a.c"
sees b.c
finish
