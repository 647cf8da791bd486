// Writes the words of a printed command that hand in the same launch again.
#pragma once

#include <string>

#include "studies/cli/arguments.h"

namespace stepcast::launch {

/// "--megatron run.sh --define A=1 --release 2.4": what names the launch and completes it; "" without a launch in a
/// file.
std::string launch_words(const Arguments& arguments);

/// " --megatron -- ARGS", or " -- ARGS" over a file: what has to stand at the end of a printed command; "" without a
/// launch's words.
std::string launch_words_behind(const Arguments& arguments);

}  // namespace stepcast::launch
