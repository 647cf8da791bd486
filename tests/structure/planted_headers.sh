#!/usr/bin/env bash
# planted_headers.sh: the two halves of the check that a header can be included first accept what is complete and refuse
# a header that lacks an include, of the standard library, of the project or of another library.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{model,dataflow,sim,kernels,calibrate,studies}
printf '#pragma once\n#include <string>\n%s\n' 'namespace stepcast {' 'struct Base { std::string name; };' \
  'Base base_of(const std::string& name);' '}' >"$tree/model/base.h"
printf '#pragma once\n#include "model/base.h"\nstruct Derived : stepcast::Base {};\n' >"$tree/model/derived.h"
failures=0

# expect accepts|refuses TEXT: what both together say of a header of that text.
expect() {
  printf '#pragma once\n%b\n' "$2" >"$tree/sim/planted.h"
  local verdict=accepts
  "$here/standard_includes.sh" "$tree" >/dev/null || verdict=refuses
  "$here/own_includes.sh" "$tree" >/dev/null || verdict=refuses
  if [[ $verdict != "$1" ]]; then
    printf 'found: %s, expected: %s\n%b\n' "$verdict" "$1" "$2"
    failures=$((failures + 1))
  fi
}

expect accepts '#include <vector>\n#include "model/base.h"\ninline std::vector<stepcast::Base> bases() { return {}; }'
expect accepts '#include "model/base.h"\ninline std::string name(const stepcast::Base& base) { return base.name; }'
expect accepts '#include <sstream>\ninline std::istringstream words() { return std::istringstream("a b"); }'
expect accepts '#include "model/derived.h"\ninline std::string name() { return stepcast::base_of("a").name; }'
expect accepts 'struct Base;\nconst Base& same(const Base& base);  // base_of(name)'
expect accepts '#include <fmt/format.h>\ninline auto text() { return fmt::format("base_of()"); }'
expect refuses '#include <string>\ninline std::vector<std::string> names() { return {}; }'
expect refuses 'inline std::optional<int> count() { return {}; }'
expect refuses 'inline std::istringstream words() { return {}; }'
expect refuses '#include <vector>\ninline std::vector<stepcast::Base> bases() { return {}; }'
expect refuses '#include "model/base.h"\ninline stepcast::Base base() { return Derived(); }'
expect refuses '#include <string>\ninline std::string name() { return base_of("a").name; }'
expect refuses '#include <string>\ninline std::string text() { return fmt::format("a"); }'
expect refuses '#include <string>\ninline tl::expected<int, std::string> count() { return 1; }'
((failures == 0))
