#!/usr/bin/env bash
# The chart library of pages is fetched once before the configuration where npm is, in silence, and nothing depends on it.
source "$(dirname "$0")/toy.sh"
make_toy
mkdir -p "$toy/studies/print/page"
cp -r "$checkout/studies/print/page/npm" "$toy/studies/print/page/"
cp "$checkout/cmake/StepcastUplot.cmake" "$checkout/cmake/embed.cmake" "$toy/cmake/"
cat >>"$toy/CMakeLists.txt" <<'TEXT'
include(cmake/StepcastUplot.cmake)
stepcast_uplot(uplot)
file(READ ${PROJECT_BINARY_DIR}/generated/embedded_uplot.txt names)
string(STRIP "${names}" names)
string(REPLACE "\n" " " names "${names}")
target_compile_definitions(stepcast PRIVATE EMBEDDED="${names}")
TEXT
echo '#include <stdio.h>
int main(void) { puts("embedded: " EMBEDDED); }' >"$toy/toy.c"
export PATH=$work/bin:$PATH

# calls_of: how often npm was started so far.
calls_of() { [[ -e $work/calls ]] && grep -c . "$work/calls" || echo 0; }

stand_in npm <<'TEXT'
echo "npm $*" >>"$calls"
echo "chatter of npm"
exit 1
TEXT
run "$toy/stepcast"
same "npm that fails: the program is built" "$out" "embedded: "
same "npm that fails: nothing odd is said" "$(grep -v 'stepcast: configuring\|stepcast: building' <<<"$err")" ""
has "npm runs no scripts of packages" "$(<"$work/calls")" "npm ci --ignore-scripts"
run "$toy/stepcast"
same "and is not tried again" "$(calls_of) $err" "1 "

stand_in npm <<'TEXT'
echo "npm $*" >>"$calls"
mkdir -p node_modules/uplot/dist
touch node_modules/uplot/LICENSE node_modules/uplot/dist/uPlot.{iife.min.js,min.css}
TEXT
touch -d '+1 day' "$toy/studies/print/page/npm/package-lock.json"
run "$toy/stepcast"
same "a list from a clock that goes before is the same list" "$(calls_of)" "1"
echo "// another" >>"$toy/studies/print/page/npm/package-lock.json"
run "$toy/stepcast"
same "another list of versions: tried again, and noticed" "$out" "embedded: LICENSE dist/uPlot.iife.min.js dist/uPlot.min.css"
same "npm was started" "$(calls_of)" "2"

# Every version is held by its hash and no address is told, so that whatever registry a user has set serves it.
lock=$checkout/studies/print/page/npm/package-lock.json
same "each package has a hash" "$(grep -c '"node_modules/' "$lock")" "$(grep -c '"integrity": "sha512-' "$lock")"
same "no address" "$(grep -c 'resolved\|http' "$lock")" 0
finish
