#!/usr/bin/env bash
# ./stepcast builds what is stale and nothing else, keeps the caller's folder, and leaves stdout to the program.
source "$(dirname "$0")/toy.sh"
make_toy
cd "$work/elsewhere" || exit 1

run "$toy/stepcast" --a 'b c' '*'
same "first run prints only the program's line" "$out" "first in $work/elsewhere: <--a> <b c> <*>"
has "first run says on stderr that it builds" "$err" "building"

run ../toy/stepcast
same "a relative path works too" "$out" "first in $work/elsewhere:"
same "nothing to do is silent" "$err" ""

run "$toy/stepcast" 7
same "the program's exit status" "$status" 7

ln -s "$toy/stepcast" "$work/link"
run "$work/link"
same "through a link" "$out" "first in $work/elsewhere:"

(cd "$toy" && bash stepcast) >"$work/named"
same "as an argument of bash" "$(<"$work/named")" "first in $toy:"

write_program second
run "$toy/stepcast"
same "an edited source is built" "$out" "second in $work/elsewhere:"

echo 'this is not C' >>"$toy/toy.c"
run "$toy/stepcast"
same "a build that fails: status" "$status" 1
same "a build that fails: stdout" "$out" ""
has "a build that fails: the compiler's words" "$err" "toy.c"
write_program third

cp -r "$toy" "$work/copy"
write_program fourth
"$toy/stepcast" >/dev/null 2>&1
run "$work/copy/stepcast"
same "a copied checkout builds itself" "$out" "third in $work/elsewhere:"

rm "$toy/build/release/CMakeCache.txt" "$toy/build/release/build.ninja"
run "$toy/stepcast"
same "a half-made build folder is made anew" "$out" "fourth in $work/elsewhere:"
finish
