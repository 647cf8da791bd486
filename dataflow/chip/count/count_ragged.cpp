#include "dataflow/chip/count/count_ragged.h"

#include <algorithm>
#include <bit>

#include "dataflow/chip/count/count_sets.h"

namespace stepcast::dataflow::counting {

RaggedNest::RaggedNest(const Nest& of) : nest(of) {
  for (int d = 0; d < nest.dims; ++d) dim[d].extent = nest.extent[d];
  for (int i = 0; i < nest.loops; ++i) dim[nest.loop[i].dim].add_inner(nest.loop[i], i);
  for (int d = 0; d < nest.dims; ++d) dim[d].close();
}

void RaggedNest::count_work(Counts& counts) const {
  counts.macs = counts.steps = counts.units = 1;
  for (int l = 0; l < nest.levels; ++l) counts.instances[l] = 1;
  for (int d = 0; d < nest.dims; ++d) {
    const Digits& digits = dim[d];
    counts.macs *= digits.extent;
    counts.steps *= digits.tuples(digits.all() & ~digits.space);
    counts.units *= digits.tuples(digits.space);
    for (int l = 0; l < nest.levels; ++l) counts.instances[l] *= digits.tuples(digits.space_up_to(l));
  }
}

RaggedTensor::RaggedTensor(const RaggedNest& ragged, int tensor)
    : ragged_(ragged), nest_(ragged.nest), shape_(ragged.nest.shape[tensor]) {
  for (int l = 0; l < nest_.levels; ++l) {
    view_.tile[l] = 1;
    view_.held[l] = 1;
    const auto inside = [&](int d) {
      const Digits& digits = ragged_.dim[d];
      const DigitSet set = digits.all() & ~digits.time_outside(l) & ~digits.space_up_to(l);
      return std::min(digits.range(set), digits.extent);
    };
    for (int d = 0; d < nest_.dims; ++d) {
      if (plain(shape_, d)) view_.tile[l] *= inside(d), view_.held[l] *= ragged_.dim[d].extent;
      if (!uses(shape_, d)) view_.held[l] *= ragged_.dim[d].tuples(ragged_.dim[d].space_up_to(l));
    }
    for (int r = 0; r < shape_.rank; ++r) {
      if (!window(r)) continue;
      const Nest::Index& index = shape_.index[r];
      Sums tile;
      for (int i = 0; i < index.terms; ++i) tile.add(index.step[i], inside(index.dim[i]));
      view_.tile[l] *= widened(1, tile);
      if (shape_.output) view_.held[l] *= window_held(ragged_, index, l);
    }
  }
}

bool RaggedTensor::window(int index) const {
  return shape_.index[index].terms > 0 && in_window(shape_, shape_.index[index].dim[0]);
}

void RaggedTensor::moved(const Step& step, Moved& moved) const {
  for (int j = step.last; j >= step.outer; --j) {
    bool same = j < step.last;  // no units between here and one level further in that share anything
    for (int i = 0; same && i < nest_.loops; ++i)
      same = !(nest_.loop[i].space && nest_.loop[i].level == j + 1 && !plain(shape_, nest_.loop[i].dim));
    moved[j] = same ? moved[j + 1] : changes(step, j);
  }
}

std::int64_t RaggedTensor::changes(const Step& step, int from) const {
  std::int64_t moved = 1;
  for (int d = 0; d < nest_.dims; ++d) {
    const Digits& digits = ragged_.dim[d];
    if (plain(shape_, d)) moved *= digits.extent;
    if (!uses(shape_, d)) moved *= digits.tuples(digits.time_outside(step.inner) | digits.space_up_to(from));
  }
  for (int r = 0; r < shape_.rank; ++r)
    if (window(r)) moved *= window_sums(ragged_, shape_.index[r], step.inner, from, nest_.loops).needed;
  if (step.inner == nest_.levels) return moved;
  for (int i = nest_.loops - 1; i >= 0; --i)
    if (!nest_.loop[i].space && nest_.loop[i].level < step.inner && !plain(shape_, nest_.loop[i].dim))
      moved -= kept(step, from, i);
  return moved;
}

/// What stays in place when loop `place` steps on, summed over all its steps.
std::int64_t RaggedTensor::kept(const Step& step, int from, int place) const {
  const int stepping = nest_.loop[place].dim;
  std::int64_t elements = 1;
  for (int d = 0; d < nest_.dims && elements > 0; ++d)
    if (plain(shape_, d)) elements *= unchanged(d, step.inner, place);
  for (int d = 0; d < nest_.dims && elements > 0; ++d) {
    if (uses(shape_, d)) continue;
    const Digits& digits = ragged_.dim[d];
    const DigitSet units = digits.space_up_to(from);
    const std::int64_t before = digits.tuples(digits.time_outside(step.inner, place) | units);
    elements *= d == stepping ? digits.tuples(digits.time_outside(step.inner, place + 1) | units) - before : before;
  }
  for (int r = 0; r < shape_.rank && elements > 0; ++r)
    if (window(r)) elements *= window_sums(ragged_, shape_.index[r], step.inner, from, place).kept;
  return elements;
}

/// Of one dim, elements in rounds before `place` (and all units) that have a single round inside.
std::int64_t RaggedTensor::unchanged(int dim, int inner, int place) const {
  const Digits& digits = ragged_.dim[dim];
  const DigitSet units = digits.space_up_to(inner), before = digits.time_outside(inner, place);
  const DigitSet after = digits.time_outside(inner) & ~before;
  if (after == 0) return digits.extent;
  if (digits.whole) return 0;
  // The second round inside would start `next` further on: there is none in the last `next` of the extent.
  const std::int64_t next = digits.weight[std::bit_width(after) - 1];
  const DigitSet tile = digits.all() & ~units & ~before & ~after;
  return digits.tuples(before | units | tile) - digits.range(tile) * digits.tuples_below(before | units, next);
}

}  // namespace stepcast::dataflow::counting
