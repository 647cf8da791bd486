// The networks that torchtitan ships, by the name and flavor of its configurations.
// Sources: torchtitan/models/{llama3,llama4,deepseek_v3,qwen3,gpt_oss}/__init__.py at v0.2.2,
// torchtitan/models/llama/__init__.py before December 2024 (Llama 2), models/*/infra/parallelize.py and model/args.py
// for what they refuse.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace stepcast::launch {

struct TorchtitanModel {
  std::string_view network;       ///< id in the catalogue
  std::string_view name, flavor;  ///< model.name, model.flavor
  std::string_view since, until;  ///< releases of its argument table; "" = always, still there
  bool stages = true;             ///< 0.2.2 can cut it into pipeline stages
  bool context = true;            ///< 0.2.2 can split its sequence: needs scaled_dot_product_attention
};

/// The first row of a network is the one to write; others are the same network with another attention kernel.
std::span<const TorchtitanModel> torchtitan_models();
/// Null where it ships none.
const TorchtitanModel* torchtitan_model(std::string_view network);
/// Finds a model by name and flavor, letters of either case; null where no network of the catalogue has that geometry.
const TorchtitanModel* torchtitan_model(std::string_view name, std::string_view flavor);

/// Layers of every part of module_fqns_per_model_part: [["tok_embeddings", "layers.0"], ["layers.1", "norm"]] has {1,
/// 1}.
std::vector<std::int64_t> torchtitan_part_layers(std::string_view text);

}  // namespace stepcast::launch
