// The project's own records of public runs, compiled into the program; made by cmake/embed.cmake.
#pragma once

#include <span>

#include "model/base/embedded.h"

namespace stepcast::records {

/// Every studies/records/runs*.json.
std::span<const EmbeddedFile> embedded_runs();

}  // namespace stepcast::records
