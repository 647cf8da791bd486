// What `stepcast explain` knows, compiled into the program; made by cmake/embed.cmake.
#pragma once

#include <span>

#include "model/base/embedded.h"

namespace stepcast::notation {

/// Every studies/notation/terms/*.json.
std::span<const EmbeddedFile> embedded_terms();

}  // namespace stepcast::notation
