#include "dataflow/chip/count/count.h"

#include <algorithm>

#include "dataflow/chip/count/count_parts.h"
#include "dataflow/chip/count/count_ragged.h"
#include "dataflow/chip/count/count_timeloop.h"

namespace stepcast::dataflow {
namespace counting {
namespace {

bool all_whole(const Nest& nest) {
  std::array<std::int64_t, most_chip_dims> range;
  range.fill(1);
  for (int i = 0; i < nest.loops; ++i) range[nest.loop[i].dim] *= nest.loop[i].trips;
  for (int d = 0; d < nest.dims; ++d)
    if (range[d] != nest.extent[d]) return false;
  return true;
}

void count_whole_work(const Nest& nest, Counts& counts) {
  counts.macs = counts.steps = 1;
  std::int64_t units = 1;
  int level = 0;
  for (int i = 0; i < nest.loops; ++i) {
    const Nest::Loop& loop = nest.loop[i];
    for (; level < loop.level; ++level) counts.instances[level] = units;
    (loop.space ? units : counts.steps) *= loop.trips;
    counts.macs *= loop.trips;
  }
  for (; level < nest.levels; ++level) counts.instances[level] = units;
  counts.units = units;
}

/// What moved between two keepers, as reads, fills and updates of each.
void book(const Nest& nest, const Step& step, const TensorView& view, const Moved& moved, Counts& counts) {
  const int t = step.tensor;
  TensorCount& outer = counts.at[step.outer][t];
  const auto per_unit = [&](std::int64_t elements, int level) {
    return static_cast<double>(elements) / static_cast<double>(counts.instances[level]);
  };
  for (int j = step.outer; j <= step.last; ++j) {
    counts.at[j][t].sent = static_cast<double>(moved[j]);
    counts.at[j][t].sent_apart = static_cast<double>(moved[std::min(j + 1, step.last)]);
  }
  const bool output = nest.shape[t].output, held_inside = step.inner < nest.levels;
  if (!output) {
    outer.reads = per_unit(moved[step.outer], step.outer);
    if (held_inside) counts.at[step.inner][t].fills = per_unit(moved[step.inner], step.inner);
    return;
  }
  outer.updates = per_unit(moved[step.outer], step.outer);
  outer.reads = outer.reductions = per_unit(moved[step.outer] - view.held[step.outer], step.outer);
  if (!held_inside) return;
  TensorCount& inner = counts.at[step.inner][t];
  inner.fills = inner.refills = per_unit(moved[step.inner] - view.held[step.inner], step.inner);
}

template <typename Way> void count_tensor(const Nest& nest, int tensor, const Way& way, Counts& counts) {
  const auto kept = [&](int level) { return (nest.keeps[level] >> tensor & 1U) != 0; };
  for (int l = 0; l < nest.levels; ++l) {
    counts.at[l][tensor] = {};
    if (kept(l)) counts.at[l][tensor].tile = way.view().tile[l];
  }
  Moved moved;
  int outer = 0;
  while (outer < nest.levels && !kept(outer)) ++outer;
  for (int inner = outer + 1; inner <= nest.levels; ++inner) {
    if (inner < nest.levels && !kept(inner)) continue;
    const Step step{tensor, outer, inner, std::min(inner, nest.levels - 1)};
    way.moved(step, moved);
    book(nest, step, way.view(), moved, counts);
    outer = inner;
  }
}

}  // namespace
}  // namespace counting

void count(const Nest& nest, Counts& counts) {
  using namespace counting;
  if (!all_whole(nest)) {
    const RaggedNest ragged(nest);
    ragged.count_work(counts);
    for (int t = 0; t < nest.tensors; ++t) count_tensor(nest, t, RaggedTensor(ragged, t), counts);
    return;
  }
  count_whole_work(nest, counts);
  for (int t = 0; t < nest.tensors; ++t)
    if (nest.shape[t].window == 0) count_tensor(nest, t, PlainWhole(nest, t), counts);
    else if (nest.windows == Windows::timeloop && !nest.shape[t].output) count_as_timeloop(nest, t, counts);
    else count_tensor(nest, t, WindowWhole(nest, t), counts);
}

}  // namespace stepcast::dataflow
