// The mixers that ship with the program (model/network/mixers/*.json), compiled in.
#pragma once

#include "model/base/embedded.h"

namespace stepcast {

/// Every model/network/mixers/*.json, sorted by name ("mamba2.json").
std::span<const EmbeddedFile> embedded_mixers();

}  // namespace stepcast
