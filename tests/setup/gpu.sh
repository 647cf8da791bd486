#!/usr/bin/env bash
# The GPU side is built by the first command that needs a GPU, where there is a CUDA toolkit, and by no other.
source "$(dirname "$0")/toy.sh"
make_toy
export PATH=$work/bin:$PATH
module=$toy/build/release/libstepcast_gpu.so

export TOY_CUDA=ON
run "$toy/stepcast" predict
same "a forecast builds none" "$([[ -e $module ]] && echo built)" ""
run "$toy/stepcast" calibrate measure --dry-run
run "$toy/stepcast" calibrate measure --help
run "$toy/stepcast" calibrate fit
same "nor does what only plans, helps or fits" "$([[ -e $module ]] && echo built)" ""
run "$toy/stepcast" calibrate measure
same "measuring does" "$([[ -e $module ]] && echo built)" "built"
has "and says so" "$err" "building the GPU side once"
same "stdout is the program's" "$out" "first in $PWD: <calibrate> <measure>"
run "$toy/stepcast" calibrate measure
same "the second time nothing is said" "$err" ""

rm -rf "$toy/build"
stand_in nvcc <<'TEXT'
exit 1
TEXT
TOY_CUDA=OFF "$toy/stepcast" predict >/dev/null 2>&1
run "$toy/stepcast" calibrate measure
same "a toolkit that came later is noticed" "$([[ -e $module ]] && echo built)" "built"
finish
