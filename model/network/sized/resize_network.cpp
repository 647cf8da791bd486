// Extents alone differ, and a builder makes those that do first.
#include "model/network/sized/resize_network.h"

#include <algorithm>

#include "model/network/blocks/transformer_builder.h"

namespace stepcast {
namespace {

/// Operators depend on how far back positions see, and on whether so few are new that a latent cache is read as it is.
bool same_operators(const NetworkSpec& spec, const BatchShape& from, const BatchShape& to) {
  if (!from.serves || !to.serves || !spec.encoders.empty()) return false;
  if (spec.compressed.q_rank > 0) return false;  // operators hold how many compressed keys there are
  const auto absorbs_otherwise = [&](const NetworkSpec& own) {
    const std::int64_t most = absorbed_positions(own);
    return (from.positions <= most) != (to.positions <= most);
  };
  if (absorbs_otherwise(spec)) return false;
  for (std::uint8_t shape = 1; shape <= spec.shapes.size(); ++shape)
    if (absorbs_otherwise(shaped(spec, shape))) return false;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer)
    if (layer_kind(spec, layer, from.positions + from.cached) != layer_kind(spec, layer, to.positions + to.cached))
      return false;
  return true;
}

}  // namespace

bool resize_network(
    Network& network, const NetworkSpec& spec, const BatchShape& from, const BatchShape& to, AttentionForm form) {
  if (!same_operators(spec, from, to)) return false;
  Network sized;
  const TransformerBuilder dims_alone(spec, to, form, sized);
  for (std::size_t d = 0; d < sized.dims.size(); ++d) network.dims[d].extent = sized.dims[d].extent;
  return true;
}

}  // namespace stepcast
