// The list of doubtful records, compiled into the program; made by cmake/embed.cmake.
#pragma once

#include <span>

#include "model/base/embedded.h"

namespace stepcast::records {

/// Every studies/records/doubts/*.json.
std::span<const EmbeddedFile> embedded_doubts();

}  // namespace stepcast::records
