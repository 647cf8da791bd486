#!/usr/bin/env bash
# planted_headers.sh CXX: the two halves of the check that a header can be included first accept what is complete and
# refuse a header that lacks an include, of the standard library or of the project.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{model,dataflow,sim,kernels,calibrate,studies}
printf '#pragma once\n#include <string>\nnamespace stepcast {\nstruct Base { std::string name; };\n}\n' \
  >"$tree/model/base.h"
cp "$here/standard.h" "$tree/standard.h"
"$1" -std=c++20 -x c++-header "$tree/standard.h" -o "$tree/standard.h.gch" || exit 1
failures=0 compiler=$1

# expect accepts|refuses TEXT: what both together say of a header of that text.
expect() {
  printf '#pragma once\n%b\n' "$2" >"$tree/sim/planted.h"
  local verdict=accepts
  "$here/standard_includes.sh" "$tree" >/dev/null || verdict=refuses
  "$here/header_alone.sh" sim/planted.h "$tree/stamp" "$tree/standard.h" "$compiler" -std=c++20 -I"$tree" \
    >/dev/null 2>&1 || verdict=refuses
  if [[ $verdict != "$1" ]]; then
    printf 'found: %s, expected: %s\n%b\n' "$verdict" "$1" "$2"
    failures=$((failures + 1))
  fi
}

expect accepts '#include <vector>\n#include "model/base.h"\ninline std::vector<stepcast::Base> bases() { return {}; }'
expect accepts '#include "model/base.h"\ninline std::string name(const stepcast::Base& base) { return base.name; }'
expect accepts '#include <sstream>\ninline std::istringstream words() { return std::istringstream("a b"); }'
expect refuses '#include <string>\ninline std::vector<std::string> names() { return {}; }'
expect refuses 'inline std::optional<int> count() { return {}; }'
expect refuses 'inline std::istringstream words() { return {}; }'
expect refuses '#include <vector>\ninline std::vector<stepcast::Base> bases() { return {}; }'
expect refuses '#include <string>\ninline tl::expected<int, std::string> count() { return 1; }'
((failures == 0))
