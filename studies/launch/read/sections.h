// Which settings of a configuration count: sections that are switched off, or belong to another engine than the chosen
// one, say nothing, and an engine has defaults of its own.
#pragma once

#include <string>
#include <vector>

#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

/// The launch with only the arguments that count, and those that its engine adds without a word (line 0). A note says
/// what was passed over.
Launch counting_sections(Launch launch, std::vector<std::string>& notes);

}  // namespace stepcast::launch
