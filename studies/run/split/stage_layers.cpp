#include "studies/run/split/stage_layers.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/comma_list.h"
#include "model/base/whole_number.h"

namespace stepcast::run {
namespace {

using Counts = std::vector<std::int64_t>;

std::int64_t sum_of(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }

/// Missing layers join the stages with the fewest, and those too many leave the ones with the most. What is far off is
/// dealt out anew.
std::string nearest(Counts counts, std::int64_t layers, std::int64_t stages) {
  counts.resize(static_cast<std::size_t>(stages), layers / stages);
  std::int64_t sum = sum_of(counts);
  if (sum > 2 * layers) std::ranges::fill(counts, layers / stages), sum = sum_of(counts);
  for (; sum < layers; ++sum) ++*std::ranges::min_element(counts);
  for (; sum > layers; --sum) --*std::ranges::max_element(counts | std::views::reverse);
  return fmt::format("nearest: {}", fmt::join(counts, ","));
}

}  // namespace

Expected<Counts> read_stage_layers(
    const std::string& text, const std::string& where, const NetworkSpec& network, std::int64_t stages) {
  Counts counts;
  for (const std::string& entry : comma_list(text)) {
    const auto count = parsed_number<std::int64_t>(entry);
    if (!count)
      return fail(where, fmt::format("'{:.60}' is no list of the layers of each stage", text),
          nearest({}, network.layers, stages));
    if (*count < 1 || *count > network.layers)
      return fail(where, fmt::format("a stage of {} layers, where {} has {}", *count, network.id, network.layers),
          fmt::format("whole numbers from 1, {}", nearest({}, network.layers, stages)));
    counts.push_back(*count);
  }
  const auto entries = static_cast<std::int64_t>(counts.size());
  const std::int64_t sum = sum_of(counts);
  if (entries != stages)
    return fail(where, fmt::format("layers of {} stages, and there are {}", entries, stages),
        sum == network.layers ? fmt::format("--pp {}, or {}", entries, nearest(counts, network.layers, stages))
                              : nearest(counts, network.layers, stages));
  if (sum != network.layers)
    return fail(where, fmt::format("{} layers in all, and {} has {}", sum, network.id, network.layers),
        nearest(counts, network.layers, stages));
  return counts;
}

}  // namespace stepcast::run
