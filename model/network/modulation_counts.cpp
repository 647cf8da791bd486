// Vectors that modulate layers: weights and products by closed formulas.
#include "model/network/modulation_counts.h"

#include <algorithm>
#include <vector>

namespace stepcast {
namespace detail {
namespace {

constexpr Count layer_vectors = 6, gain_vectors = 4;

/// Numbers that say when a sample is.
Count said_numbers(const NetworkSpec& n) { return n.modulation.width > 0 ? n.modulation.width : n.hidden; }

/// Of layers of a shape, where all of them have the same.
Count common_vectors(const NetworkSpec& n) {
  Count vectors = 0;
  std::vector<std::uint8_t> seen;
  for (const LayerKind& kind : layer_kinds(n, n.sequence).kinds) {
    if (std::ranges::find(seen, kind.shape) != seen.end()) continue;
    seen.push_back(kind.shape);
    vectors += vectors_of(n, kind);
  }
  return vectors;
}

/// Matrices that a sample's numbers meet once, or rows of them as often as vectors are asked for.
Count approximator_matrices(const Modulation& m, Count hidden) {
  return (m.frequencies + hidden + 2 * m.approximator_layers * m.approximator_width) * m.approximator_width;
}
Count approximator_parameters(const Modulation& m, Count hidden) {
  return approximator_matrices(m, hidden) + (1 + 3 * m.approximator_layers) * m.approximator_width + hidden;
}

}  // namespace

Count modulation_matrices(const NetworkSpec& n, Count vectors) {
  const bool none = n.modulation.frequencies == 0 || n.modulation.approximator_layers > 0;
  return none ? 0 : vectors * said_numbers(n) * n.hidden;
}
Count modulation_parameters(const NetworkSpec& n, Count vectors) {
  if (n.modulation.frequencies == 0 || n.modulation.approximator_layers > 0) return 0;
  return (n.modulation.shared ? 0 : modulation_matrices(n, vectors)) + (n.modulation.no_bias ? 0 : vectors * n.hidden);
}

Count vectors_of(const NetworkSpec& n, const LayerKind& kind) {
  const LayerShape shape = kind.shape > 0 ? n.shapes[kind.shape - 1U] : LayerShape{};
  const Count second = shape.second ? layer_vectors / 2 : 0;
  if (n.modulation.gates) return gate_vectors;
  if (n.modulation.gains) return gain_vectors;
  if (shape.ends) return layer_vectors + last_vectors_of(n.modulation) + second;
  return shape.parallel ? layer_vectors / 2 : shape.joint ? 2 * layer_vectors + second : layer_vectors;
}

Count condition_matrices(const NetworkSpec& n) {
  const Modulation& m = n.modulation;
  if (m.frequencies == 0) return 0;
  if (m.approximator_layers > 0) return modulation_vectors(n) * approximator_matrices(m, n.hidden);
  const Count made = said_numbers(n), inner = m.inner > 0 ? m.inner : made, times = m.guidance ? 2 : 1;
  return times * (m.frequencies + made) * inner + (m.pooled > 0 ? (m.pooled + made) * inner : 0) +
         modulation_matrices(n, m.shared   ? layer_vectors
                                : m.common ? common_vectors(n)
                                           : 0);
}
Count condition_parameters(const NetworkSpec& n) {
  const Modulation& m = n.modulation;
  if (m.frequencies == 0) return 0;
  if (m.approximator_layers > 0) return approximator_parameters(m, n.hidden);
  const Count made = said_numbers(n), inner = m.inner > 0 ? m.inner : made,
              pairs = 1 + (m.guidance ? 1 : 0) + (m.pooled > 0 ? 1 : 0);
  const Count vectors = m.shared ? layer_vectors : m.common ? common_vectors(n) : 0;
  return condition_matrices(n) + m.classes * made + (m.no_bias ? 0 : pairs * (made + inner) + vectors * n.hidden);
}

}  // namespace detail

std::int64_t modulation_vectors(const NetworkSpec& n) {
  using detail::Count;
  const LayerKinds all = layer_kinds(n, n.sequence);
  Count vectors = detail::last_vectors_of(n.modulation);
  for (std::size_t kind = 0; kind < all.kinds.size(); ++kind)
    vectors += all.count(kind) * detail::vectors_of(n, all.kinds[kind]);
  return vectors;
}

}  // namespace stepcast
