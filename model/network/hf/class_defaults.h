// Sizes that configuration classes of transformers take where a text config leaves them out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stepcast::detail {

/// What the class of this model_type takes where the key is absent; none: the key must be there.
std::optional<std::int64_t> class_default(const std::string& model_type, const std::string& key);

}  // namespace stepcast::detail
