// The aliases that ship with the program (dataflow/aliases/*.flow), compiled in.
#pragma once

#include "model/base/embedded.h"

namespace stepcast::dataflow {

/// Every dataflow/aliases/*.flow, sorted by name ("dp.flow").
std::span<const EmbeddedFile> embedded_aliases();

}  // namespace stepcast::dataflow
