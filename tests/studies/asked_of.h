// What a network of the catalogue asks of whoever runs it, for tests over all of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/network/network.h"

namespace stepcast {

/// Layers that look at an encoder of images, which projects what it made; T5's reads words.
inline bool looks_at_images(const NetworkSpec& network) {
  return looks_at_encoder(network) && !network.encoders.front().projectors.empty();
}

/// Keys of a request with their values; the flags are called alike.
inline std::vector<std::pair<std::string, std::string>> asked_of(const NetworkSpec& network) {
  std::vector<std::pair<std::string, std::string>> asked;
  if (network.masked_loss) asked.emplace_back("masked_share", "0.15");
  if (looks_at_images(network)) asked.emplace_back("images", "1");
  return asked;
}

/// The same as words of a command line.
inline std::vector<std::string> asked_words(const NetworkSpec& network) {
  std::vector<std::string> words;
  if (network.masked_loss) words.insert(words.end(), {"--masked-share", "0.15"});
  if (looks_at_images(network)) words.insert(words.end(), {"--images", "1"});
  return words;
}

}  // namespace stepcast
