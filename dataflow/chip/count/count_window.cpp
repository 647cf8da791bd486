// Whole tiles with windows. All tiles of a level are shifted copies of one, T, and the units under one instance stand
// at fixed shifts V of each other. When a loop in time steps on, the loops inside go back from their last round to the
// first, so that the tile shifts by t; per window r, of U = T + V a part N = (T less the tile before) + V is new.
// An element is new if it is in any window: the units together need prod |U| - prod(|U| - |N|) elements.
#include "dataflow/chip/count/count_parts.h"
#include "dataflow/chip/count/count_sets.h"

namespace stepcast::dataflow::counting {

struct WindowWhole::Ranks {
  std::array<Sums, most_rank> sums;
};

WindowWhole::WindowWhole(const Nest& nest, int tensor) : nest_(nest), shape_(nest.shape[tensor]) {
  for (int r = 0; r < shape_.rank; ++r) {
    const Nest::Index& index = shape_.index[r];
    if (index.terms == 0 || !in_window(shape_, index.dim[0])) continue;
    for (int i = 0; i < index.terms; ++i) {
      rank_[index.dim[i]] = static_cast<std::int8_t>(ranks_);
      step_[index.dim[i]] = index.step[i];
    }
    ++ranks_;
  }
  std::array<std::int64_t, most_chip_dims> inside{};
  inside.fill(1);
  for (int i = nest.loops - 1; i >= 0; --i) {
    const Nest::Loop& loop = nest.loop[i];
    weight_[i] = step_[loop.dim] * inside[loop.dim];
    inside[loop.dim] *= loop.trips;
  }
  space_.fill(1);
  time_.fill(1);
  std::int64_t rounds = 1, units = 1;
  int level = 0;
  for (int i = 0; i < nest.loops; ++i) {
    const Nest::Loop& loop = nest.loop[i];
    for (; level < loop.level; ++level) space_[level] = units, time_[level + 1] = rounds;
    rounds_[i] = rounds;
    if (plain(shape_, loop.dim)) footprint_ *= loop.trips;
    else (loop.space ? units : rounds) *= loop.trips;
  }
  for (; level < nest.levels; ++level) space_[level] = units, time_[level + 1] = rounds;

  for (int l = 0; l < nest.levels; ++l) {
    const Ranks tile = tile_below(l);
    view_.tile[l] = 1;
    for (int i = nest.loops - 1; i >= 0 && slot(nest.loop[i]) > 2 * l; --i)
      if (plain(shape_, nest.loop[i].dim)) view_.tile[l] *= nest.loop[i].trips;
    for (int r = 0; r < ranks_; ++r) view_.tile[l] *= widened(1, tile.sums[r]);
    if (!shape_.output) continue;
    Ranks all = tile;  // everything but the units that instances of the level differ by
    for (int i = 0; i < nest.loops; ++i)
      if (!nest.loop[i].space && nest.loop[i].level < l && in_window(shape_, nest.loop[i].dim))
        all.sums[rank_[nest.loop[i].dim]].add(weight_[i], nest.loop[i].trips);
    view_.held[l] = footprint_ * space_[l];
    for (int r = 0; r < ranks_; ++r) view_.held[l] *= widened(1, all.sums[r]);
  }
}

WindowWhole::Ranks WindowWhole::tile_below(int inner) const {
  Ranks tile;
  for (int i = nest_.loops - 1; i >= 0 && slot(nest_.loop[i]) > 2 * inner; --i)
    if (in_window(shape_, nest_.loop[i].dim)) tile.sums[rank_[nest_.loop[i].dim]].add(weight_[i], nest_.loop[i].trips);
  return tile;
}

std::int64_t WindowWhole::changes(const Step& step, int from) const {
  const Ranks tile = tile_below(step.inner);
  Ranks units;
  for (int i = 0; i < nest_.loops; ++i) {
    const Nest::Loop& loop = nest_.loop[i];
    if (loop.space && loop.level > from && loop.level <= step.inner && in_window(shape_, loop.dim))
      units.sums[rank_[loop.dim]].add(weight_[i], loop.trips);
  }
  std::array<std::int64_t, most_rank> needed{}, shift{};
  std::array<bool, most_rank> no_gaps{};
  std::int64_t together = 1;
  for (int r = 0; r < ranks_; ++r) {
    no_gaps[r] = gapless(tile.sums[r]);
    needed[r] = no_gaps[r] ? widened(tile.sums[r].box(), units.sums[r])
                           : newly_needed(tile.sums[r], false, tile.sums[r].box(), units.sums[r]);
    together *= needed[r];
  }
  std::int64_t moved = time_[step.inner] * together;
  if (step.inner == nest_.levels) return moved;
  for (int i = nest_.loops - 1; i >= 0; --i) {
    const Nest::Loop& loop = nest_.loop[i];
    if (loop.space || loop.level >= step.inner) continue;
    if (plain(shape_, loop.dim)) break;  // other elements altogether, also where loops further out step on
    const bool slides = in_window(shape_, loop.dim);
    std::int64_t kept = rounds_[i] * (loop.trips - 1);
    for (int r = 0; r < ranks_ && kept > 0; ++r) {
      const std::int64_t by = (slides && rank_[loop.dim] == r ? weight_[i] : 0) - shift[r];
      kept *= by == 0 ? needed[r] : needed[r] - newly_needed(tile.sums[r], no_gaps[r], by, units.sums[r]);
    }
    moved -= kept;
    if (slides) shift[rank_[loop.dim]] += weight_[i] * (loop.trips - 1);
  }
  return moved;
}

void WindowWhole::moved(const Step& step, Moved& moved) const {
  for (int j = step.last; j >= step.outer; --j) {
    bool same = j < step.last;  // as seen from one level further in, but for units that share the tensor
    for (int i = 0; same && i < nest_.loops; ++i)
      same = !(nest_.loop[i].space && nest_.loop[i].level == j + 1 && in_window(shape_, nest_.loop[i].dim));
    if (same) moved[j] = moved[j + 1] / (space_[j + 1] / space_[j]);
    else moved[j] = footprint_ * space_[j] * changes(step, j);
  }
}

}  // namespace stepcast::dataflow::counting
