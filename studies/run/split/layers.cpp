#include "studies/run/split/layers.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/errors/error_context.h"
#include "sim/schedule/layers/partition.h"

namespace stepcast::run {
namespace {

const std::vector<std::string> layout_words = {"even", "balanced"};

/// Counts as near to `counts` as a network with `layers` on `parts` virtual stages allows: missing layers join the
/// shortest stages, extra ones leave the longest.
LayerCounts nearest_counts(LayerCounts counts, std::int64_t layers, std::int64_t parts) {
  counts.resize(static_cast<std::size_t>(parts), layers / parts);
  std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  for (; sum < layers; ++sum) ++*std::ranges::min_element(counts);
  for (; sum > layers; --sum) --*std::ranges::max_element(counts);
  return counts;
}

LayerCounts counts_of(const LayerLayout& layout) {
  LayerCounts counts;
  for (const StageLayers& stage : layout.stages) counts.push_back(stage.layers);
  return counts;
}

/// What to write instead, in the notation that was used.
std::string nearest_layout(const LayoutChoice& choice, const NetworkSpec& network, std::int64_t parts) {
  const LayerCounts counts = nearest_counts(counts_of(choice.given), network.layers, parts);
  if (choice.as_list) return fmt::format("nearest: {}", fmt::join(counts, ","));
  return fmt::format("nearest: {}", write_layer_layout(layout_of(counts, network.mtp_layers)));
}

}  // namespace

Expected<LayoutChoice> parse_layout(const std::string& text, const std::string& where) {
  using Kind = LayoutChoice::Kind;
  if (text == "even") return LayoutChoice{};
  if (text == "balanced") return LayoutChoice{.kind = Kind::balanced, .given = {}};
  const bool word = std::ranges::all_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
  if (word && text.find_first_not_of("tm") != std::string::npos)
    return fail(where, fmt::format("unknown layout '{}'", text.substr(0, 60)),
        name_hint(text, layout_words) + ", or layers per virtual stage: 9,8,8,7 or Ett|tt|tL");
  TRY(auto layout, read_layers(text, where));
  const bool as_list = text.find('t') == std::string::npos && text.find('L') == std::string::npos;
  return LayoutChoice{Kind::given, std::move(layout), as_list};
}

Expected<LayerCounts> given_layers(const LayoutChoice& choice, const NetworkSpec& network, std::int64_t stages,
    std::int64_t chunks, const std::string& where) {
  LayerLayout layout = choice.given;
  if (choice.as_list) layout.stages.back().predictions = static_cast<int>(network.mtp_layers);
  const std::int64_t parts = stages * chunks;
  if (auto fits = check_layers(layout, static_cast<int>(network.layers), static_cast<int>(network.mtp_layers),
          static_cast<int>(stages), static_cast<int>(chunks), where);
      !fits) {
    const std::string nearest = nearest_layout(choice, network, parts);
    const auto entries = static_cast<std::int64_t>(layout.stages.size());
    if (entries != parts && entries % stages == 0 && layout.layers() == network.layers)
      return tl::unexpected(with_hint(
          fits.error(), fmt::format("{} virtual stages are --chunks {}; {}", entries, entries / stages, nearest)));
    return tl::unexpected(with_more_hint(fits.error(), nearest));
  }
  if (layout.stages.back().predictions != network.mtp_layers)
    return fail(where, "prediction modules m stand on another stage than the loss L, where they run here",
        nearest_layout(choice, network, parts));
  return counts_of(layout);
}

Expected<LayerCounts> nearly_even_layers(std::int64_t layers, std::int64_t parts, const std::string& where) {
  if (constexpr std::int64_t bare_ends = 2; parts >= 1 && layers >= parts - std::min(bare_ends, parts)) {
    LayerCounts counts(static_cast<std::size_t>(parts), layers / parts);
    for (std::int64_t part = 0; part < layers % parts; ++part) ++counts[static_cast<std::size_t>(part)];
    return counts;
  }
  PartitionProblem problem;
  problem.layers.assign(static_cast<std::size_t>(layers), 0);
  problem.stages = static_cast<int>(parts);
  problem.bare_ends = true;
  const auto partition = split_evenly(problem);
  if (!partition)
    return tl::unexpected(with_hint(error_at(where, partition.error()), partition.error().hint + ", times the chunks"));
  return LayerCounts(partition->layers.begin(), partition->layers.end());
}

LayerLayout layout_of(const LayerCounts& layers, std::int64_t predictions) {
  LayerLayout layout;
  for (const std::int64_t count : layers) layout.stages.push_back({.layers = static_cast<int>(count)});
  layout.stages.front().embedding = true;
  layout.stages.back().predictions = static_cast<int>(predictions);
  layout.stages.back().loss = true;
  return layout;
}

}  // namespace stepcast::run
