// Networks from the `config.json` that Hugging Face checkpoints carry. Architectures are rows of a table
// (families.cpp); each says which keys hold the sizes, what its class takes where a key is absent, and what its
// layers look like. A config has many keys that say nothing about shape: unknown ones are passed over.
#pragma once

#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/network/network.h"

namespace stepcast {

struct HfConfig {
  NetworkSpec network;
  std::string family;              ///< "llama"
  std::vector<std::string> notes;  ///< defaults taken for absent keys, and what the description leaves out
};

/// Whether the text is a JSON object with "architectures" or "model_type", as no file of ours has.
bool looks_like_hf_config(const std::string& text);

/// `as` names a family ("llama") to read an architecture as that is not in the table; "" goes by "architectures".
/// The notes stand in the network's `source` too. The training length is that of pre-training where the rotary scaling
/// tells it, else max_position_embeddings.
Expected<HfConfig> read_hf_config(const std::string& text, const std::string& where, const std::string& as = {});

/// Names that `as` takes.
std::vector<std::string> hf_families();

}  // namespace stepcast
