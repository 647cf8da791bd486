// --layout: how a network's layers lie on the virtual stages of a pipeline. `even` gives each the same number;
// `balanced` splits them by what the forecast prices them at (run/balance.h); a list ("9,8,8,7") or Megatron's string
// ("Et*9|(t*8|)*2t*7L") says it outright. The embedding runs on the first virtual stage; LM head, loss and prediction
// modules on the last one: layouts that put them elsewhere are refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/network/network.h"
#include "sim/schedule/layers/layer_layout.h"

namespace stepcast::run {

struct LayoutChoice {
  enum class Kind : std::uint8_t { even, balanced, given } kind = Kind::even;
  LayerLayout given;
  bool as_list = false;  ///< written as numbers; hints answer alike
};
Expected<LayoutChoice> parse_layout(const std::string& text, const std::string& where);

/// Layers per virtual stage, in forward order.
using LayerCounts = std::vector<std::int64_t>;

/// Of a layout that was given. Errors: virtual stages, layers or prediction modules that are not this pipeline's and
/// network's, or prediction modules apart from the loss; the hint writes the nearest layout that can be said.
Expected<LayerCounts> given_layers(const LayoutChoice& choice, const NetworkSpec& network, std::int64_t stages,
    std::int64_t chunks, const std::string& where);

/// As many everywhere as can be, the rest on the first ones. Errors: more virtual stages than layers and two bare ends.
Expected<LayerCounts> nearly_even_layers(std::int64_t layers, std::int64_t parts, const std::string& where);

/// The same as Megatron writes it, with E, L and prediction modules.
LayerLayout layout_of(const LayerCounts& layers, std::int64_t predictions);

}  // namespace stepcast::run
