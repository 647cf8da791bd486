#include "model/loss_form.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace stepcast {
namespace {

/// A power of two: linkedin/Liger-Kernel@ead96b618e, src/liger_kernel/ops/fused_linear_cross_entropy.py, chunk_size.
double tokens_by_width(double tokens, double vocabulary, double hidden) {
  const double pieces = std::ceil(vocabulary / std::max(1.0, hidden));
  return static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(std::ceil(tokens / pieces))));
}

}  // namespace

double made_at_once(const LossForm& form, double tokens, double vocabulary, double hidden) {
  if (tokens <= 0) return 1;
  const double size = std::max<double>(1, static_cast<double>(form.size));
  double piece = tokens;
  switch (form.pieces) {
    case LossPieces::whole: break;
    case LossPieces::count: piece = std::ceil(tokens / size); break;
    case LossPieces::tokens: piece = size; break;
    case LossPieces::by_width: piece = tokens_by_width(tokens, vocabulary, hidden); break;
    case LossPieces::on_chip: piece = 0; break;
  }
  return std::min(1.0, piece / tokens);
}

}  // namespace stepcast
