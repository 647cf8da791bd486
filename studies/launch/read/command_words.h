// Commands that are no files of Python say what they do, and to which network, by words in front of their options.
#pragma once

#include <vector>

#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

/// Puts such words where they belong: into the launch's program ("nemo llm finetune"), or in front of its arguments.
void name_command_words(Launch& launch, std::vector<GivenArgument> words);

}  // namespace stepcast::launch
