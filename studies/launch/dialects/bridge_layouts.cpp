// Functions of Megatron-Bridge's recipes that lay layers on stages: NVIDIA-NeMo/Megatron-Bridge@067f987df0,
// src/megatron/bridge/recipes/{deepseek/h100/deepseek_v3,kimi/h100/kimi_k2,moonlight/h100/moonlight_16b}.py.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "studies/launch/dialects/dialect_words.h"
#include "studies/launch/dialects/python_recipes.h"

namespace stepcast::launch {
namespace {

/// A layout of `each` layers on all virtual stages but the last, which has `last`, prediction layers and the loss.
struct BridgeLayout {
  std::string_view builder;
  std::int64_t stages, chunks, each, last;
};
constexpr std::string_view deepseek_layout = "_get_deepseek_v3_pipeline_layout",
                           kimi_layout = "_get_kimi_k2_pipeline_layout",
                           moonlight_layout = "_get_moonlight_pipeline_layout";
constexpr BridgeLayout bridge_layouts[] = {{deepseek_layout, 4, 1, 16, 13}, {deepseek_layout, 8, 1, 8, 5},
    {deepseek_layout, 4, 2, 8, 5}, {deepseek_layout, 16, 1, 4, 1}, {deepseek_layout, 8, 2, 4, 1},
    {deepseek_layout, 4, 4, 4, 1}, {kimi_layout, 4, 1, 16, 13}, {kimi_layout, 8, 1, 8, 5}, {kimi_layout, 4, 2, 8, 5},
    {kimi_layout, 16, 1, 4, 1}, {kimi_layout, 8, 2, 4, 1}, {kimi_layout, 4, 4, 4, 1}, {kimi_layout, 2, 8, 4, 1},
    {moonlight_layout, 2, 1, 14, 13}, {moonlight_layout, 4, 1, 7, 6}, {moonlight_layout, 2, 2, 7, 6}};

/// "Ettt|ttt|ttmL", as Megatron-LM writes it.
std::string layout_text(const BridgeLayout& row, std::int64_t predictors) {
  const std::string each(static_cast<std::size_t>(row.each), 't');
  std::string text = "E";
  for (std::int64_t stage = 1; stage < row.stages * row.chunks; ++stage) text += each + "|";
  text += std::string(static_cast<std::size_t>(row.last), 't');
  return text + std::string(static_cast<std::size_t>(predictors), 'm') + "L";
}

}  // namespace

/// The builder that a recipe names is called again where its stages change (scripts/training/recipe_runner.py), so that
/// those of the launch decide. Error: stages of which it has no layout.
Expected<void> take_bridge_layout(DialectWords& words) {
  constexpr std::string_view place = "model._pipeline_model_parallel_layout_builder",
                             layout = "model.pipeline_model_parallel_layout";
  const GivenArgument* given = words.last(place);
  if (given == nullptr) return {};
  std::string builder = given->value;
  for (const std::string_view mark : {"${", "}"})
    if (const std::size_t at = builder.find(mark); at != builder.npos) builder.erase(at, mark.size());
  if (std::ranges::find(bridge_layouts, builder, &BridgeLayout::builder) == std::end(bridge_layouts)) return {};
  TRY(const std::int64_t stages, words.count("model.pipeline_model_parallel_size", 1));
  TRY(const std::int64_t told, words.count("model.virtual_pipeline_model_parallel_size", 1));
  TRY(const std::int64_t predictors, words.count("model.mtp_num_layers"));
  const std::int64_t chunks = std::max<std::int64_t>(told, 1);
  const auto row = std::ranges::find_if(bridge_layouts,
      [&](const BridgeLayout& one) { return one.builder == builder && one.stages == stages && one.chunks == chunks; });
  if (stages * chunks > 1 && row == std::end(bridge_layouts))
    return fail(place_of(words.launch, *given),
        fmt::format("{} has no layout for {} stages of {} chunks", builder, stages, chunks),
        "stages that it has, or --layout LAYERS beside the launch");
  std::erase_if(words.launch.arguments, [&](const GivenArgument& one) {
    return one.name == place || one.name.starts_with(std::string(layout) + ".") ||
           one.name.starts_with("set_deepseek_v3_pipeline_model_parallel_layout");
  });
  if (stages * chunks > 1) words.put(layout, layout_text(*row, predictors));
  else words.drop(layout);
  if (stages * chunks > 1) words.drop("model.virtual_pipeline_model_parallel_size");  // the layout says it
  return {};
}

}  // namespace stepcast::launch
