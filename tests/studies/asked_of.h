// What a network of the catalogue asks of whoever runs it, for tests over all of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/network/network.h"

namespace stepcast {

/// Keys of a request with their values; the flags are called alike.
inline std::vector<std::pair<std::string, std::string>> asked_of(const NetworkSpec& network) {
  std::vector<std::pair<std::string, std::string>> asked;
  if (network.masked_loss) asked.emplace_back("masked_share", "0.15");
  if (looks_at_encoder(network)) asked.emplace_back("images", "1");
  return asked;
}

/// The same as words of a command line.
inline std::vector<std::string> asked_words(const NetworkSpec& network) {
  std::vector<std::string> words;
  if (network.masked_loss) words.insert(words.end(), {"--masked-share", "0.15"});
  if (looks_at_encoder(network)) words.insert(words.end(), {"--images", "1"});
  return words;
}

}  // namespace stepcast
