// Internal to hf: which weights of a network the modules of a config.json are, by the operators that multiply them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepcast {

/// The weights of one operator, "attn.qkv.Q", in some of the layers.
struct WeightsOfLayers {
  std::string name;
  std::vector<std::int64_t> layers;  ///< ascending; a network's own layers, and behind them those that predict
  bool all = false;                  ///< of all layers, or of what stands outside of them: `layers` is empty then
  friend bool operator==(const WeightsOfLayers&, const WeightsOfLayers&) = default;
};

/// The weights of one operator of some of a layer's experts; the others of the layer are not among them.
struct WeightsOfExperts {
  std::string name;
  std::int64_t layer = 0, experts = 0;  ///< of one layer: those of all layers are told one by one
  friend bool operator==(const WeightsOfExperts&, const WeightsOfExperts&) = default;
};

namespace detail {

struct HeldWeights {
  std::vector<WeightsOfLayers> weights;
  std::vector<WeightsOfExperts> of_experts;
  std::vector<std::string> unknown;  ///< patterns that hold nothing that is known
};
/// Of "model.layers.0.self_attn.o_proj", "re:.*mlp.(gate|up|down)_proj", "*.self_attn*". `layers` of the network; 0:
/// not known, and those that name no layer are of all. `experts` of a layer; 0: not known. Where either is not known
/// patterns of single experts hold nothing that is known.
HeldWeights weights_of_modules(const std::vector<std::string>& patterns, std::int64_t layers, std::int64_t experts);

}  // namespace detail
}  // namespace stepcast
