// What is known of the frameworks' arguments, compiled into the program; made by cmake/embed.cmake.
#pragma once

#include <span>

#include "model/base/embedded.h"

namespace stepcast::launch {

/// Every studies/launch/facts/arguments/*.json, sorted by name.
std::span<const EmbeddedFile> embedded_arguments();

}  // namespace stepcast::launch
