// Sizes of sequences and matrices with a binary suffix.
#pragma once

#include <string>

namespace stepcast::cli {

/// "8k" is "8192" and "1M" is "1048576"; any other text is as it was.
std::string plain_size(const std::string& text);

}  // namespace stepcast::cli
