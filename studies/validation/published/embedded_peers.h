// Published errors of other tools, compiled into the program; made by cmake/embed.cmake.
#pragma once

#include <span>

#include "model/base/embedded.h"

namespace stepcast::validation {

/// Every studies/validation/published/*.json.
std::span<const EmbeddedFile> embedded_peers();

}  // namespace stepcast::validation
