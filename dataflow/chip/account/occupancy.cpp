#include "dataflow/chip/account/occupancy.h"

#include <algorithm>
#include <vector>

namespace stepcast::dataflow {
namespace {

struct OuterLoop {
  std::int64_t trips = 1;
  bool space = false;
};

/// Rounds that reach into `extent`, where `stride` elements lie inside all of these loops; of the first unit alone, or
/// of all units together.
std::int64_t rounds_of(
    const std::vector<OuterLoop>& loops, std::size_t at, std::int64_t stride, std::int64_t extent, bool all_units) {
  if (extent <= 0) return 0;
  if (at == loops.size()) return 1;
  std::int64_t inside = stride;
  for (std::size_t i = at + 1; i < loops.size(); ++i) inside *= loops[i].trips;
  const std::int64_t whole = std::min(extent / inside, loops[at].trips);
  const std::int64_t rest = whole < loops[at].trips ? extent - whole * inside : 0;
  if (loops[at].space && !all_units) return rounds_of(loops, at + 1, stride, whole > 0 ? inside : rest, all_units);
  std::int64_t rounds = whole > 0 ? whole * rounds_of(loops, at + 1, stride, inside, all_units) : 0;
  return rounds + rounds_of(loops, at + 1, stride, rest, all_units);
}

}  // namespace

Occupancy occupancy_of(const ChipProgram& chip, int level) {
  Occupancy out;
  double with_work = 1, units = 1;
  for (int l = 0; l <= level; ++l)
    for (const ChipAxis& axis : chip.levels[l].axes) units *= static_cast<double>(axis.units);
  for (std::size_t d = 0; d < chip.dims.size(); ++d) {
    std::vector<OuterLoop> outside;
    std::int64_t stride = 1;
    const auto take = [&](const std::vector<ChipLoop>& loops, bool space, bool inside) {
      for (const ChipLoop& loop : loops) {
        if (loop.dim != static_cast<int>(d)) continue;
        if (inside) stride *= loop.trips;
        else outside.push_back({loop.trips, space});
      }
    };
    for (int l = 0; l < static_cast<int>(chip.levels.size()); ++l) {
      take(chip.levels[l].space, true, l > level);
      take(chip.levels[l].time, false, l >= level);
    }
    out.rounds *= rounds_of(outside, 0, stride, chip.dims[d].extent, false);
    with_work *= static_cast<double>(rounds_of(outside, 0, stride, chip.dims[d].extent, true));
  }
  out.share = with_work / (static_cast<double>(out.rounds) * units);
  return out;
}

}  // namespace stepcast::dataflow
