// What the timeline's page is put together from.
#pragma once

#include <span>

#include "model/embedded.h"

namespace stepcast {

/// Every studies/timeline/page/*.{css,html,js}, by name; made by cmake/embed.cmake.
std::span<const EmbeddedFile> embedded_timeline();

}  // namespace stepcast
