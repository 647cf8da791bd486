// What is known of the arguments of serving engines, compiled into the program; made by cmake/embed.cmake.
#pragma once

#include <span>

#include "model/base/embedded.h"

namespace stepcast::engines {

/// Every studies/engines/arguments/*.json, sorted by name.
std::span<const EmbeddedFile> embedded_engine_arguments();

}  // namespace stepcast::engines
