// What users are promised: "ttft<500ms tpot<30ms".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "model/base/units.h"
#include "sim/serving/served_run.h"

namespace stepcast::serve {

struct Target {
  std::string_view name;  ///< "ttft", "tpot", "e2e"
  Seconds most;
  Seconds (*of)(const sim::Served& request);
};

/// Blanks or commas between them. Errors: names that nobody knows, what is no time, a name given twice.
Expected<std::vector<Target>> read_targets(const std::string& text, const std::string& where);
/// The same as a check of a flag.
Expected<void> check_targets(const std::string& text, const std::string& where);
bool meets(const sim::Served& request, const std::vector<Target>& targets);

}  // namespace stepcast::serve
