// Whole tiles without windows: products. One walk over the loops gives all levels.
#include "dataflow/chip/count/count_parts.h"

namespace stepcast::dataflow::counting {
namespace {

/// From the inside out: the product of the tensor's loops inside each level.
void plain_tiles(const Nest& nest, const Nest::Shape& shape, TensorView& view) {
  std::int64_t tile = 1;
  int level = nest.levels - 1;
  for (int i = nest.loops - 1; i >= 0; --i) {
    const Nest::Loop& loop = nest.loop[i];
    for (; level >= 0 && slot(loop) <= 2 * level; --level) view.tile[level] = tile;
    if (uses(shape, loop.dim)) tile *= loop.trips;
  }
  for (; level >= 0; --level) view.tile[level] = tile;
}

}  // namespace

PlainWhole::PlainWhole(const Nest& nest, int tensor) {
  const Nest::Shape& shape = nest.shape[tensor];
  plain_tiles(nest, shape, view_);
  // All rounds that the tensor does not depend on, and of those the ones outside the innermost that it does: the others
  // find the tile in place.
  std::int64_t shared = 1, all = 1, changing = 1;
  int level = 0;
  time_[0] = 1;
  const auto close = [&](int from) { space_[from] = shared, time_[from + 1] = changing; };
  for (int i = 0; i < nest.loops; ++i) {
    const Nest::Loop& loop = nest.loop[i];
    for (; level < loop.level; ++level) close(level);
    if (uses(shape, loop.dim)) {
      footprint_ *= loop.trips;
      if (!loop.space) changing = all;
    } else if (loop.space) {
      shared *= loop.trips;
    } else {
      all *= loop.trips;
    }
  }
  for (; level < nest.levels; ++level) close(level);
  time_[nest.levels] = all;  // the multiply-add reads every time
  for (int l = 0; shape.output && l < nest.levels; ++l) view_.held[l] = footprint_ * space_[l];
}

void PlainWhole::moved(const Step& step, Moved& moved) const {
  for (int j = step.outer; j <= step.last; ++j) moved[j] = footprint_ * time_[step.inner] * space_[j];
}

}  // namespace stepcast::dataflow::counting
