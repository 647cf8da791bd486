// Inputs with windows as Timeloop v3.0.3 counts whole tiles (NVlabs/timeloop 6b41058: loop-analysis/nest-analysis.cpp,
// tiling.cpp, operation-space.cpp). Between every two levels, kept or not: the first tile T, and per loop in time what
// its step brings:
//   - seen from the second round of the loops inside, the tile shifts by t = own - sum of one round of each inside;
//   - T less the tile before, if t is that of the innermost loop; else all of T;
//   - units with the same index get it together, other overlap between units is read again;
//   - a unit whose part equals what a neighbour of the array (left, right, above, below) got in the step evaluated
//     before is served by that neighbour, if that spares the level reads: both then count an access at the unit.
// A level that does not keep the tensor passes on what the level inside asks for, at the average multicast outside it.
#include "dataflow/chip/count/count_timeloop.h"

#include <cmath>
#include <vector>

#include "dataflow/chip/count/count_timeloop_edge.h"

namespace stepcast::dataflow::counting {
namespace {

std::int64_t box_of_all(const Nest& nest, int tensor) {
  std::int64_t elements = 1;
  for (int r = 0; r < nest.shape[tensor].rank; ++r) {
    const Nest::Index& index = nest.shape[tensor].index[r];
    std::int64_t length = 1;
    for (int k = 0; k < index.terms; ++k) length += index.step[k] * (nest.extent[index.dim[k]] - 1);
    elements *= length;
  }
  return elements;
}

}  // namespace

void count_as_timeloop(const Nest& nest, int tensor, Counts& counts) {
  const int levels = nest.levels;
  const auto kept = [&](int level) { return (nest.keeps[level] >> tensor & 1U) != 0; };
  std::vector<TimeloopEdge> edges;  // edge l: from level l to l + 1
  for (int l = 0; l + 1 < levels; ++l) edges.emplace_back(nest, tensor, l);
  std::vector<double> given(levels, 0), share(levels, 0), peers(levels, 0), forwarded(levels, 0);
  given[levels - 1] = static_cast<double>(counts.steps);
  for (int l = 0; l + 1 < levels; ++l) {
    given[l] = edges[l].reads();
    share[l + 1] = edges[l].share();
    forwarded[l] = edges[l].forwarded();
  }
  int top = 0;
  while (top < levels && !kept(top)) ++top;
  for (int l = levels - 1; l > top; --l) {
    if (kept(l)) continue;
    given[l - 1] = edges[l - 1].reads() * given[l] * edges[l - 1].units() / edges[l - 1].copies();
    forwarded[l - 1] = 0;
  }
  for (int l = top; l + 1 < levels; ++l) peers[l + 1] = forwarded[l] / static_cast<double>(counts.instances[l + 1]);

  for (int l = 0; l < levels; ++l) {
    TensorCount& at = counts.at[l][tensor];
    at = {};
    const double sent = given[l] * static_cast<double>(counts.instances[l]);
    if (l >= top) {
      at.sent = sent;
      at.sent_apart = sent;
      if (l + 1 < levels)
        at.sent_apart = (kept(l + 1) ? share : given)[l + 1] * static_cast<double>(counts.instances[l + 1]);
    }
    if (!kept(l)) continue;
    at.tile = l > 0 ? edges[l - 1].tile() : box_of_all(nest, tensor);
    at.reads = std::round(given[l] + peers[l]);
    at.fills = l > top ? std::trunc(share[l] + peers[l]) : 0;
  }
}

}  // namespace stepcast::dataflow::counting
