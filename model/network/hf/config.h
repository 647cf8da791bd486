// Networks from the `config.json` that Hugging Face checkpoints carry. Architectures are rows of a table
// (families/table.cpp); each says which keys hold the sizes, what its class takes where a key is absent, and what
// its layers look like. Keys that say nothing about layers are rows of another table (known_keys.cpp); any other that
// no reader asks for may change what is computed, and is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/network/network.h"

namespace stepcast {

struct HfConfig {
  NetworkSpec network;
  std::string family;                 ///< "llama"
  std::vector<std::string> notes;     ///< defaults taken for absent keys, and what the description leaves out
  std::vector<std::string> unknown;   ///< keys that may change layers and were not read: "num_local_experts 8"
  std::vector<NetworkPart> parts;     ///< beside the network: counted, not described
  std::vector<std::string> left_out;  ///< parts of the network that are not described: "vision_config"
  /// Layers that no operator describes. Where there are any, `network` has the sizes alone and `layers` tells its
  /// layers; `parts` is all of it.
  std::vector<std::string> missing;
  std::vector<LayerCount> layers;
  /// Its encoder of sound, where images stand in `network`: a run has one of the two in front of its text.
  std::optional<NetworkSpec> sound;
  std::string unseen;   ///< why its encoder of images is not described: "vision_config has num_experts 8"; "": it is
  std::string unheard;  ///< the same of its encoder of sound
};

enum class UnknownKeys : std::uint8_t { refused, listed };

/// Whether the text is a JSON object with "architectures", "model_type" or (diffusers) "_class_name", as no file of
/// ours has.
bool looks_like_hf_config(const std::string& text);

/// `as` names a family ("llama") to read an architecture as that is not in the table; "" goes by "architectures".
/// The notes stand in the network's `source` too. The training length is that of pre-training where the rotary scaling
/// tells it, else max_position_embeddings. Errors name the keys of the file.
Expected<HfConfig> read_hf_config(const std::string& text, const std::string& where, const std::string& as = {},
    UnknownKeys unknown = UnknownKeys::refused);

/// Names that `as` takes.
std::vector<std::string> hf_families();

}  // namespace stepcast
