// Architectures whose layers nothing here builds or counts, and what those layers are.
#pragma once

#include <string>

namespace stepcast::detail {

/// "convolutions"; "": the architecture is none of these.
std::string absent_layers(const std::string& architecture);

}  // namespace stepcast::detail
