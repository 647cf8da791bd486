// Architectures whose layers nothing here builds or counts, and what those layers are.
#pragma once

#include <string>

namespace stepcast::detail {

/// "convolutions"; "": the architecture is none of these.
std::string absent_layers(const std::string& architecture);

/// The same of a file that names a model_type alone.
std::string absent_layers_of_type(const std::string& model_type);

}  // namespace stepcast::detail
