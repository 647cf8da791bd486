#include "dataflow/chip/resolve/legality.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/chip/count/nest.h"
#include "dataflow/chip/resolve/numbers.h"
#include "dataflow/notation/parser.h"

namespace stepcast::dataflow {

std::vector<std::int64_t> tile_extents(const ChipProgram& chip, int level) {
  std::vector<std::int64_t> parts(chip.dims.size(), 1);
  const auto take = [&](const std::vector<ChipLoop>& loops) {
    for (const ChipLoop& loop : loops) parts[loop.dim] = safe_product(parts[loop.dim], loop.trips);
  };
  take(chip.levels[level].time);
  for (std::size_t l = level + 1; l < chip.levels.size(); ++l) take(chip.levels[l].space), take(chip.levels[l].time);
  for (std::size_t d = 0; d < parts.size(); ++d) parts[d] = std::min(parts[d], chip.dims[d].extent);
  return parts;
}

double distinct_values(const ChipIndex& index, const std::vector<std::int64_t>& parts) {
  if (index.terms.empty()) return 1;
  std::int64_t divisor = 0;
  for (const ChipIndex::Term& term : index.terms) divisor = std::gcd(divisor, term.step);
  if (index.terms.size() == 1) return static_cast<double>(parts[index.terms[0].dim]);
  if (index.terms.size() > 2) {
    double window = 1, points = 1;
    for (const ChipIndex::Term& term : index.terms) {
      window += static_cast<double>(term.step / divisor) * static_cast<double>(parts[term.dim] - 1);
      points *= static_cast<double>(parts[term.dim]);
    }
    return std::min(window, points);
  }
  // a*i + b*j = a*(i+b) + b*(j-a) for steps without common divisor: each value is a chain of such pairs, counted at its
  // end.
  const auto& [first, second] = std::pair(index.terms[0], index.terms[1]);
  const auto n = static_cast<double>(parts[first.dim]), m = static_cast<double>(parts[second.dim]);
  const auto a = static_cast<double>(first.step / divisor), b = static_cast<double>(second.step / divisor);
  return n * m - std::max(0.0, n - b) * std::max(0.0, m - a);
}

double tile_elements(const ChipProgram& chip, int tensor, int level) {
  const std::vector<std::int64_t> parts = tile_extents(chip, level);
  double elements = 1;
  for (const ChipIndex& index : chip.tensors[tensor].indices) elements *= distinct_values(index, parts);
  return elements;
}

namespace {

bool tensor_has_dim(const ChipTensor& tensor, int dim) {
  return std::ranges::any_of(tensor.indices, [&](const ChipIndex& index) {
    return std::ranges::any_of(index.terms, [&](const ChipIndex::Term& term) { return term.dim == dim; });
  });
}

/// Does a loop in time outside the level bring other elements?
bool tile_changes_at(const ChipProgram& chip, int tensor, int level) {
  for (int l = 0; l < level; ++l)
    for (const ChipLoop& loop : chip.levels[l].time)
      if (loop.trips > 1 && tensor_has_dim(chip.tensors[tensor], loop.dim)) return true;
  return false;
}

Expected<void> check_most(const Position& place, std::size_t count, int most, const char* what) {
  if (count <= static_cast<std::size_t>(most)) return {};
  return fail(to_text(place), fmt::format("{} {}", count, what), fmt::format("at most {} are counted", most));
}

}  // namespace

double resident_bytes(const ChipProgram& chip, int tensor, int level) {
  const ChipLevel& at = chip.levels[level];
  const double bytes = at.word_bytes > 0 ? at.word_bytes : chip.tensors[tensor].bytes_per_element;
  const int buffers = tile_changes_at(chip, tensor, level) ? at.buffers : 1;
  return tile_elements(chip, tensor, level) * bytes * buffers;
}

Expected<void> check_limits(const ChipProgram& chip, const Position& place) {
  TRY(check_most(place, chip.dims.size(), most_chip_dims, "loops in one operator"));
  TRY(check_most(place, chip.tensors.size(), most_chip_tensors, "tensors in one operator"));
  TRY(check_most(place, chip.levels.size(), most_chip_levels, "levels in the arch"));
  std::size_t loops = 0;
  for (const ChipLevel& level : chip.levels)
    for (const auto* list : {&level.space, &level.time})
      loops += std::count_if(list->begin(), list->end(), [](const ChipLoop& loop) { return loop.trips > 1; });
  TRY(check_most(place, loops, most_chip_loops, "loops of more than one round in all levels"));
  for (const ChipTensor& tensor : chip.tensors) {
    TRY(check_most(place, tensor.indices.size(), most_rank, "dims in one tensor"));
    for (const ChipIndex& index : tensor.indices)
      TRY(check_most(place, index.terms.size(), most_terms, "loops in one index"));
  }
  return {};
}

Expected<void> check_keeps(const ChipProgram& chip, const std::vector<Position>& places) {
  const auto outermost = std::ranges::find_if(chip.levels, [](const ChipLevel& level) { return level.store; });
  if (outermost == chip.levels.end())
    return fail(to_text(places.front()), "no level stores anything",
        "the outermost level keeps every tensor: write no list, or all of them");
  for (std::size_t t = 0; t < chip.tensors.size(); ++t) {
    if (outermost->keeps[t]) continue;
    const auto keeper =
        std::find_if(outermost, chip.levels.end(), [&](const ChipLevel& level) { return level.keeps[t]; });
    const std::string kept = keeper == chip.levels.end() ? "nowhere"
                                                         : fmt::format("at {}, but not at {}, the outermost store",
                                                               keeper->name, outermost->name);
    return fail(to_text(places[outermost - chip.levels.begin()]),
        fmt::format("{} is kept {}", chip.tensors[t].name, kept),
        fmt::format("add {} to the list of {}: every tensor comes from there", chip.tensors[t].name, outermost->name));
  }
  return {};
}

}  // namespace stepcast::dataflow
