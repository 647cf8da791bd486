#include "studies/launch/facts/number_in.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <string>
#include <system_error>

namespace stepcast::launch {

std::optional<double> number_in(std::string_view written) {
  std::string plain(written);
  for (std::size_t at = 1; at + 1 < plain.size(); ++at)
    if (plain[at] == '_' && std::isdigit(static_cast<unsigned char>(plain[at - 1])) != 0 &&
        std::isdigit(static_cast<unsigned char>(plain[at + 1])) != 0)
      plain.erase(at, 1);
  if (plain.starts_with('[') && plain.ends_with(']')) plain = plain.substr(1, plain.size() - 2);
  double value = 0;
  const auto end = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (end.ec != std::errc() || end.ptr != plain.data() + plain.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace stepcast::launch
