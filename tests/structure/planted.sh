#!/usr/bin/env bash
# planted.sh: the structure tests accept a clean tree and name each wrong line planted in it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# expect accepts|refuses SCRIPT FILE TEXT: what SCRIPT says of a tree in which FILE holds TEXT.
expect() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/{model,dataflow,sim,kernels,calibrate,studies,tests/sim}
  echo '#include "dataflow/program.h"' >"$tree/sim/step.h"
  printf 'namespace stepcast {\nstruct Base {\n};\n}\n' >"$tree/model/base.h"
  printf 'namespace stepcast::sim {\nnamespace {\nstruct Row {\n};\nconstexpr double climb = 1.2;\n%s\n}  // namespace\n}\n' \
    'int twice(int n) { return 2 * n; }' >"$tree/sim/own.cpp"
  printf 'namespace stepcast::sim {\nnamespace {\nconst int rows = 2;\n}  // namespace\n}\n' >"$tree/tests/sim/own_test.cpp"
  printf '%s\n' "$4" >"$tree/$3"
  local verdict=refuses
  "$here/$2" "$tree" >/dev/null && verdict=accepts
  if [[ $verdict != "$1" ]]; then
    echo "$2 $verdict $3 with: $4"
    failures=$((failures + 1))
  fi
}

# expect_floors accepts|refuses [FILE TEXT]...: what include_floors.sh says of a small house with these files. A refusal names
# the first file, or its folder.
expect_floors() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/tests/structure "$tree"/{model,dataflow,sim,kernels,calibrate} "$tree"/studies/{report,sweep/{search,space},run}
  grep -E '^(\.:|[a-z]+ ->)' "$here/floors.txt" >"$tree/tests/structure/floors.txt"
  printf '%s\n' 'studies: main report sweep run' 'studies/sweep: sweep search space' >>"$tree/tests/structure/floors.txt"
  echo '#include "studies/report/report.h"' >"$tree/studies/main.cpp"
  echo '#include "studies/sweep/search/worker.h"' >"$tree/studies/report/report.h"
  printf '#include "studies/sweep/%s.h"\n' search/worker space/axes >"$tree/studies/sweep/search/worker.h"
  echo '#include "studies/run/scenario.h"' >"$tree/studies/sweep/space/axes.h"
  echo '#include "model/base/units.h"' >"$tree/studies/run/scenario.h"
  local verdict=refuses wanted=$1 first=${2:-} said
  shift
  while (($#)); do
    mkdir -p "$(dirname "$tree/$1")"
    printf '%s\n' "$2" >>"$tree/$1"
    shift 2
  done
  said=$("$here/include_floors.sh" "$tree") && verdict=accepts
  if [[ $verdict != "$wanted" || ($verdict == refuses && $said != *"$first"* && $said != "$(dirname "$first"):"*) || ($verdict == accepts && -n $said) ]]; then
    echo "include_floors.sh $verdict $first: $said"
    failures=$((failures + 1))
  fi
}

expect_floors accepts
# Between the top folders.
expect_floors accepts sim/a.cpp '#include "model/base/units.h"'
expect_floors accepts studies/run/a.cpp '#include "calibrate/fit.h"'
expect_floors refuses model/a.h '#include "dataflow/program.h"'
expect_floors refuses sim/a.cpp '#include "kernels/bench/device.h"'
expect_floors refuses dataflow/a.cpp '#include "calibrate/fit.h"'
expect_floors refuses calibrate/a.cpp '  #  include "sim/step.h"'
expect_floors refuses kernels/a_cuda.cu '#include "calibrate/fit.h"'
expect_floors refuses kernels/a.cuh '#include "sim/step.h"'
expect_floors refuses sim/a.cpp '#include "step.h"'
expect_floors refuses studies/run/a.cpp '#include "tests/studies/run_program.h"'
# Inside studies, and inside one of its folders.
expect_floors accepts studies/report/a.cpp '#include "studies/run/scenario.h"'
expect_floors refuses studies/run/a.cpp '#include "studies/sweep/space/axes.h"'
expect_floors refuses studies/run/a.cpp '#include "studies/main.h"'
expect_floors accepts studies/sweep/sweep.cpp '#include "studies/sweep/search/worker.h"'
expect_floors refuses studies/sweep/space/a.cpp '#include "studies/sweep/search/worker.h"'
expect_floors refuses studies/sweep/search/a.cpp '#include "studies/sweep/sweep.h"'
# Folders and files that no list has.
expect_floors refuses studies/whatif/a.cpp '#include "studies/run/scenario.h"'
expect_floors refuses studies/run/a.cpp '#include "studies/whatif/lever.h"'
expect_floors refuses studies/sweep/merge.cpp '#include "studies/sweep/search/worker.h"'
expect_floors refuses studies/run/fields/a.h '#include "studies/run/scenario.h"'
expect_floors accepts studies/whatif/a.cpp '#include "sim/step.h"'
# Circles of modules.
expect_floors accepts studies/run/a.h '#include "studies/run/b.h"' studies/run/b.cpp '#include "studies/run/c.h"'
expect_floors accepts studies/run/a.h '// nothing' studies/run/a.cpp '#include "studies/run/a.h"' studies/run/b.cpp '#include "studies/run/a.h"'
expect_floors refuses studies/run/a.h '#include "studies/run/b.h"' studies/run/b.cpp '#include "studies/run/a.h"'
expect_floors refuses studies/run/a.h '#include "studies/run/b.h"' studies/run/b.cpp '#include "studies/run/c.h"' \
  studies/run/c.cpp '#include "studies/run/a.h"'
expect_floors refuses sim/step.h '#include "sim/step/parts.h"' sim/step/parts.h '#include "sim/step.h"'

# expect_crowd accepts|refuses COUNT FOLDER ENDING: the same of COUNT more files.
expect_crowd() {
  local files=() i
  for ((i = 0; i < $2; ++i)); do files+=("$3/file_$i.$4" '// nothing'); done
  expect_floors "$1" "${files[@]}"
}
expect_crowd accepts 30 dataflow/lower cpp
expect_crowd refuses 31 dataflow/lower cu
expect_crowd accepts 40 dataflow/aliases flow
expect_crowd accepts 9 studies md
expect_crowd refuses 10 studies md

expect accepts sim_vocabulary.sh sim/a.cpp '// zero-bubble and bubble zero schedules; every step and each loop; data in parallel'
expect accepts sim_vocabulary.sh sim/a.cpp '// as in Megatron-LM core/pipeline_parallel/schedules.py'
expect refuses sim_vocabulary.sh sim/a.cpp 'int tp_size = 8;'
expect refuses sim_vocabulary.sh sim/a.cpp 'if (axis == "dp") return;'
expect refuses sim_vocabulary.sh sim/a.cpp '// tensor-parallel all-reduce'
expect refuses sim_vocabulary.sh sim/a.cpp 'bool DataParallel = true;'
expect refuses sim_vocabulary.sh sim/a.cpp '// ZeRO shards this'
expect refuses sim_vocabulary.sh sim/a.cpp '// as in zero-3 and FSDP'
expect refuses sim_vocabulary.sh sim/fsdp_gather.cpp 'int x;'

expect accepts unique_names.sh sim/a.h $'namespace stepcast {\nstruct Work;\nstruct Work {\n};\n}'
expect accepts unique_names.sh sim/a.h $'namespace stepcast::sim {\nstruct Work { int n; };\n}\nnamespace stepcast {\nstruct Work {\n};'
expect refuses unique_names.sh sim/a.h $'namespace stepcast {\nclass Base {\n};\n}'
expect refuses unique_names.sh sim/a.h $'namespace stepcast {\nstruct Base { int n; };\n}'

# own_names NAMESPACE TEXT: a source with names of its own.
own_names() { printf 'namespace stepcast::%s {\nnamespace {\n%s\n}  // namespace\n}\n' "$1" "$2"; }
for text in $'struct Row {\n};' 'constexpr double climb = 1.2;' \
  'constexpr double fall = 0.5, climb = 1.2;' 'int twice(int n) { return 2 * n; }'; do
  expect accepts unique_names.sh sim/a.cpp "$(own_names sim::fast "$text")"
  expect refuses unique_names.sh sim/a.cpp "$(own_names sim "$text")"
done
expect accepts unique_names.sh sim/a.cpp "$(own_names sim 'int twice(double n) { return 2; }')"
expect refuses unique_names.sh tests/sim/a_test.cpp "$(own_names sim 'const int rows = 3;')"
expect accepts unique_names.sh tests/sim/a_test.cpp "$(own_names model 'const int rows = 3;')"
# Base is a type of all folders; a source's or a test's own type has another name.
expect refuses unique_names.sh sim/a.cpp "$(own_names sim $'struct Base {\n};')"
expect refuses unique_names.sh tests/sim/a_test.cpp "$(own_names sim $'struct Base {\n};')"
expect accepts unique_names.sh tests/sim/a_test.cpp "$(own_names sim $'struct TestBase {\n};')"
expect accepts folder_namespaces.sh sim/a.h $'namespace stepcast::dataflow {\nstruct Program;\n}\n\nnamespace stepcast::sim {\nstruct Work {\n};\n}'
expect accepts folder_namespaces.sh sim/a.cpp $'namespace stepcast::sim::orders {\nint x;\n}'
expect refuses folder_namespaces.sh sim/a.cpp $'namespace stepcast {\nint x;\n}'
expect refuses folder_namespaces.sh sim/a.cpp $'namespace stepcast::dataflow {\nstruct Program;\nint x;\n}'
expect refuses folder_namespaces.sh model/a.cpp $'namespace stepcast::sim {\nint x;\n}'

((failures == 0))
