// Functions of Megatron-Bridge's recipes that lay layers on stages: NVIDIA-NeMo/Megatron-Bridge@067f987df0,
// src/megatron/bridge/recipes/{deepseek/h100/deepseek_v3,kimi/h100/kimi_k2,moonlight/h100/moonlight_16b}.py.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "calibrate/import/config/python_text.h"
#include "studies/launch/dialects/dialect_words.h"
#include "studies/launch/dialects/python_recipes.h"
#include "studies/launch/facts/step_words.h"

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
    {moonlight_layout, 2, 1, 14, 13}, {moonlight_layout, 4, 1, 7, 6}, {moonlight_layout, 8, 1, 4, 3},
    {moonlight_layout, 2, 2, 7, 6}, {moonlight_layout, 4, 2, 4, 3}};

/// "Ettt|ttt|ttmL", as Megatron-LM writes it.
std::string layout_text(const BridgeLayout& row, std::int64_t predictors) {
  const std::string each(static_cast<std::size_t>(row.each), 't');
  std::string text = "E";
  for (std::int64_t stage = 1; stage < row.stages * row.chunks; ++stage) text += each + "|";
  text += std::string(static_cast<std::size_t>(row.last), 't');
  return text + std::string(static_cast<std::size_t>(predictors), 'm') + "L";
}

using calibrate::python_value, calibrate::PythonValue;

constexpr std::string_view layout_name = "model.pipeline_model_parallel_layout",
                           builder_name = "model._pipeline_model_parallel_layout_builder",
                           stages_name = "model.pipeline_model_parallel_size",
                           chunks_name = "model.virtual_pipeline_model_parallel_size",
                           setter_name = "set_deepseek_v3_pipeline_model_parallel_layout";

bool is_builder(std::string_view name) {
  return std::ranges::find(bridge_layouts, name, &BridgeLayout::builder) != std::end(bridge_layouts);
}

/// What a builder is called with, and where.
struct BuilderCall {
  std::string builder;
  std::int64_t stages = 1, chunks = 1, predictors = 0;
  GivenArgument at;
};

/// "None" of the chunks is one.
std::optional<std::int64_t> whole_number(const std::string& text) {
  if (says_none(text)) return 1;
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool whole = error == std::errc() && end == text.data() + text.size() && count >= 0;
  return whole ? std::optional(count) : std::nullopt;
}

class BridgeLayoutReader {
 public:
  BridgeLayoutReader(DialectWords& words, const std::vector<GivenArgument>& overrides)
      : words_(words), overrides_(overrides) {}

  Expected<void> read() {
    builder_ = builder_of_recipe();
    TRY(check_order());
    TRY(auto call, called_last());
    if (const auto* overridden = override_of(layout_name); overridden != nullptr) call.reset(), forget();
    else if (!builder_.empty()) TRY(rebuild(call));
    if (call) TRY(put(*call));
    drop_calls();
    return {};
  }

 private:
  /// The builder that the recipe leaves for recipe_runner.py; "" where it is none of the table.
  [[nodiscard]] std::string builder_of_recipe() const {
    const GivenArgument* given = words_.last(builder_name);
    if (given == nullptr) return {};
    std::string builder = given->value;
    for (const std::string_view mark : {"${", "}"})
      if (const std::size_t at = builder.find(mark); at != builder.npos) builder.erase(at, mark.size());
    return is_builder(builder) ? builder : "";
  }

  /// The layout as the configuration has it: a text, a builder's call, or none.
  [[nodiscard]] const GivenArgument* assigned() const {
    const GivenArgument* made = words_.launch.find(fmt::format("{}.class", layout_name));
    return made != nullptr ? made : words_.launch.find(layout_name);
  }
  [[nodiscard]] const GivenArgument* set() const {
    const GivenArgument* last = nullptr;
    for (const GivenArgument& given : words_.launch.arguments)
      if (given.name == setter_name && (last == nullptr || given.line > last->line)) last = &given;
    return last;
  }
  [[nodiscard]] const GivenArgument* override_of(std::string_view name) const {
    const auto found = std::ranges::find(overrides_, name, &GivenArgument::name);
    return found == overrides_.end() ? nullptr : &*found;
  }

  /// Lines tell the order of statements, but not where a function calls one that stands below it.
  Expected<void> check_order() const {
    const GivenArgument* base = words_.last("config_base");
    for (const GivenArgument* given : {assigned(), set()})
      if (set() != nullptr && given != nullptr && base != nullptr && given->line < base->line)
        return tl::unexpected(words_.limit(*given, "stands above the function that it calls, and which layout comes "
                                                   "last is not read"));
    return {};
  }

  /// The builder's call that the layout is made by; nothing where it is told, or none is made.
  Expected<std::optional<BuilderCall>> called_last() {
    const GivenArgument *own = assigned(), *setter = set();
    if (setter != nullptr && (own == nullptr || setter->line > own->line)) return call_of_setter(*setter);
    if (own == nullptr || !own->name.ends_with(".class")) return std::optional<BuilderCall>();
    if (!is_builder(own->value)) return tl::unexpected(words_.limit(*own, "what lays layers on stages is not known"));
    TRY(const BuilderCall call, call_of_builder(*own));
    return std::optional(call);
  }

  /// _get_kimi_k2_pipeline_layout(16, 1): of the table, and for the stages that the run has.
  Expected<BuilderCall> call_of_builder(const GivenArgument& own) {
    BuilderCall call{own.value, 1, 1, own.value == deepseek_layout ? 1 : 0, own};
    const struct {
      std::string_view place, name;
      std::int64_t* into;
    } parameters[] = {
        {"0", "pp_size", &call.stages}, {"1", "vp_size", &call.chunks}, {"2", "mtp_layers", &call.predictors}};
    const std::string dot = fmt::format("{}.", layout_name);
    for (const GivenArgument& given : words_.launch.arguments) {
      if (!given.name.starts_with(dot) || given.name.ends_with(".class")) continue;
      const std::string name = given.name.substr(dot.size());
      const auto row =
          std::ranges::find_if(parameters, [&](const auto& one) { return one.place == name || one.name == name; });
      const auto count = row == std::end(parameters) || !given.unset.empty() ? std::nullopt : whole_number(given.value);
      if (!count) return tl::unexpected(words_.limit(given, "an argument of a layout's builder that is not read"));
      *row->into = *count;
    }
    TRY(const std::int64_t stages, words_.count(stages_name, 1));
    TRY(const std::int64_t chunks, words_.count(chunks_name, 1));
    if (call.stages != stages || call.chunks != std::max<std::int64_t>(chunks, 1))
      return fail(place_of(words_.launch, own),
          fmt::format("{} is called for {} stages of {} chunks, and the recipe has {} of {}", own.value, call.stages,
              call.chunks, stages, std::max<std::int64_t>(chunks, 1)),
          "the same stages in both, or --layout LAYERS beside the launch");
    return call;
  }

  /// set_deepseek_v3_pipeline_model_parallel_layout(cfg.model): the stages that it has there. A layout that it is told
  /// comes first; of its other arguments none is read.
  Expected<std::optional<BuilderCall>> call_of_setter(const GivenArgument& setter) {
    const PythonValue called = python_value(setter.value, setter.line, {});
    std::size_t place = 0;
    const PythonValue* told = nullptr;
    for (const auto& [key, value] : called.keywords) {
      const bool layout = key == "layout" || (key.empty() && place == 1), model = key.empty() && place == 0;
      place += key.empty() ? 1 : 0;
      if (layout) told = &value;
      else if (!model && key != "model_cfg" && (key != "mtp_standalone" || value.text != "false"))
        return tl::unexpected(words_.limit(setter, fmt::format("{:.40} {:.40} is not read", key, value.text)));
    }
    if (called.kind != PythonValue::Kind::call || place > 2)
      return tl::unexpected(words_.limit(setter, "its arguments are not read"));
    if (told != nullptr && !says_none(told->text)) return take_told(setter, *told);
    for (const std::string_view size : {stages_name, chunks_name, std::string_view("model.mtp_num_layers")})
      if (const GivenArgument* given = words_.launch.find(size); given != nullptr && given->line > setter.line)
        return tl::unexpected(words_.limit(*given, "stands behind the layout, which is made for what was before"));
    BuilderCall call{std::string(deepseek_layout), 1, 1, 0, setter};
    TRY(call.stages, words_.count(stages_name, 1));
    TRY(const std::int64_t chunks, words_.count(chunks_name, 1));
    call.chunks = std::max<std::int64_t>(chunks, 1);
    TRY(call.predictors, words_.count("model.mtp_num_layers"));
    return std::optional(call);
  }

  Expected<std::optional<BuilderCall>> take_told(const GivenArgument& setter, const PythonValue& told) {
    if (told.kind != PythonValue::Kind::literal || !told.quoted)
      return tl::unexpected(words_.limit(setter, "a layout that is no text is not read"));
    forget();
    words_.launch.arguments.push_back({std::string(layout_name), std::string(layout_name), told.text, setter.line, {}});
    return std::optional<BuilderCall>();
  }

  /// scripts/training/recipe_runner.py, sync_model_pipeline_layout: words behind the recipe that set stages or chunks,
  /// and no layout, have the builder that it names called again.
  Expected<void> rebuild(std::optional<BuilderCall>& call) {
    const GivenArgument *stages = override_of(stages_name), *chunks = override_of(chunks_name);
    if (stages == nullptr && chunks == nullptr) return {};
    if (chunks != nullptr)
      return fail(place_of(words_.launch, *chunks), fmt::format("{} is called again for other chunks", builder_),
          "the chunks in the recipe, or --layout LAYERS beside the launch");
    const auto count = whole_number(stages->value);
    if (!count) return tl::unexpected(words_.limit(*stages, "no whole number of stages"));
    TRY(const std::int64_t own, words_.count(chunks_name, 1));
    call = BuilderCall{builder_, *count, std::max<std::int64_t>(own, 1), builder_ == deepseek_layout ? 1 : 0, *stages};
    return {};
  }

  /// The table's layout. Error: stages of which it has none.
  Expected<void> put(const BuilderCall& call) {
    const bool divides = call.stages * call.chunks > 1;
    const auto row = std::ranges::find_if(bridge_layouts, [&](const BridgeLayout& one) {
      return one.builder == call.builder && one.stages == call.stages && one.chunks == call.chunks;
    });
    if (divides && row == std::end(bridge_layouts))
      return fail(place_of(words_.launch, call.at),
          fmt::format("{} has no layout for {} stages of {} chunks", call.builder, call.stages, call.chunks),
          "stages that it has, or --layout LAYERS beside the launch");
    forget();
    if (!divides) return {};
    words_.put(layout_name, layout_text(*row, call.predictors));
    words_.drop(chunks_name);  // the layout says it
    return {};
  }

  /// The layout as the configuration has it, with the arguments of its call.
  void forget() {
    std::erase_if(words_.launch.arguments, [](const GivenArgument& one) {
      return one.name == layout_name || one.name.starts_with(fmt::format("{}.", layout_name));
    });
  }
  void drop_calls() {
    std::erase_if(words_.launch.arguments, [&](const GivenArgument& one) {
      return (one.name == builder_name && !builder_.empty()) || one.name == setter_name;
    });
  }

  DialectWords& words_;
  const std::vector<GivenArgument>& overrides_;
  std::string builder_;
};

}  // namespace

Expected<void> take_bridge_layout(DialectWords& words, const std::vector<GivenArgument>& overrides) {
  return BridgeLayoutReader(words, overrides).read();
}

}  // namespace stepcast::launch
