// The load that a benchmark's command line puts on a server, as flags of serve.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "studies/engines/made_requests.h"
#include "studies/engines/said_arguments.h"

namespace stepcast::engines {

struct BenchLoad {
  std::map<std::string, std::string, std::less<>> flags;  ///< "--input" -> "1024"
  std::vector<std::string> open;  ///< what it does not tell: "how long prompts are: they come from a file"
  std::vector<std::string> notes;
};

/// `made`: what a command of the launch writes for a benchmark that reads a file. Errors: rates and numbers that are
/// none, and lengths that nobody can tell from its options.
Expected<BenchLoad> bench_load(SaidArguments& said, const std::optional<MadeRequests>& made = {});

}  // namespace stepcast::engines
