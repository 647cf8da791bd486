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
  mkdir -p "$tree"/{model,dataflow,sim,kernels,calibrate,studies}
  echo '#include "dataflow/program.h"' >"$tree/sim/step.h"
  printf 'namespace stepcast {\nstruct Base {\n};\n}\n' >"$tree/model/base.h"
  printf '%s\n' "$4" >"$tree/$3"
  local verdict=refuses
  "$here/$2" "$tree" >/dev/null && verdict=accepts
  if [[ $verdict != "$1" ]]; then
    echo "$2 $verdict $3 with: $4"
    failures=$((failures + 1))
  fi
}

expect accepts include_direction.sh sim/a.cpp '#include "model/base/units.h"'
expect accepts include_direction.sh studies/a.cpp '#include "calibrate/fit.h"'
expect refuses include_direction.sh model/a.h '#include "dataflow/program.h"'
expect refuses include_direction.sh sim/a.cpp '#include "kernels/bench/device.h"'
expect refuses include_direction.sh calibrate/a.cpp '  #  include "sim/step.h"'
expect refuses include_direction.sh kernels/a_cuda.cu '#include "calibrate/fit.h"'
expect refuses include_direction.sh sim/a.cpp '#include "step.h"'

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

((failures == 0))
