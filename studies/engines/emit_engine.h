// Writes a launch of an engine, and the benchmark that loads it, from flags of serve: --emit vllm, sglang, trtllm.
#pragma once

#include <string>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/engines/line/engine_program.h"

namespace stepcast::engines {

/// A script for bash. `arguments`: a command line of serve, with what a launch came to in it. Errors: another engine, a
/// network or number type of which no checkpoint is known, a split that the engine has no words for.
Expected<std::string> emit_engine(const std::string& engine, const Arguments& arguments);

}  // namespace stepcast::engines
