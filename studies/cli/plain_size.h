// Sizes of sequences and matrices with a binary suffix. Without a source of its own, for the installed library reads
// them and has nothing of this folder.
#pragma once

#include <cstdint>
#include <string>

namespace stepcast::cli {

/// "8k" is "8192" and "1M" is "1048576"; any other text is as it was.
inline std::string plain_size(const std::string& text) {
  if (text.size() < 2 || text.size() > 12) return text;
  const char letter = text.back();
  const std::int64_t unit = letter == 'k' || letter == 'K' ? 1 << 10 : letter == 'm' || letter == 'M' ? 1 << 20 : 0;
  const std::string digits = text.substr(0, text.size() - 1);
  if (unit == 0 || digits.find_first_not_of("0123456789") != std::string::npos) return text;
  return std::to_string(unit * std::stoll(digits));
}

}  // namespace stepcast::cli
