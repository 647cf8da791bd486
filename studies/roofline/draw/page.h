// What the roofline's page is put together from.
#pragma once

#include <span>

#include "model/base/embedded.h"

namespace stepcast::roofline {

/// Every studies/roofline/page/*.{css,html,js}, by name; made by cmake/embed.cmake.
std::span<const EmbeddedFile> embedded_roofline();

}  // namespace stepcast::roofline
