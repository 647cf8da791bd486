#include "model/engine.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/large_value.h"
#include "model/base/row_text.h"
#include "model/machine/plausible.h"

namespace stepcast {

LARGE_VALUE_MEMBERS(Engine)
namespace {

constexpr Choice<CacheRule> rule_names[] = {{"of total", CacheRule::of_total}, {"of free", CacheRule::of_free}};

constexpr Choice<ExpertExchange> exchange_names[] = {
    {"rows", ExpertExchange::rows}, {"gather", ExpertExchange::gather}};

constexpr Choice<UnevenStages> uneven_names[] = {{"refused", UnevenStages::refused}, {"the last", UnevenStages::last},
    {"before the last", UnevenStages::before_last}, {"the last ones", UnevenStages::last_ones},
    {"the first ones", UnevenStages::first_ones}};

constexpr Choice<SwapsWhen> swap_names[] = {
    {"never", SwapsWhen::never}, {"asked", SwapsWhen::asked}, {"decoding", SwapsWhen::decoding}};
constexpr auto swap_members = [](auto& file, auto& swapping) {
  file.choice("when", swapping.when, swap_names);
  file.rare("space", swapping.space, Zero::allowed);
  file.rare("reads_again", swapping.reads_again);
  file.rare("per_copy", swapping.per_copy, Zero::allowed);
  file.rare("spare", swapping.spare, NumberRange{0, 0.5});
};

constexpr IntegerRange positions{1, 1'000'000};

constexpr std::size_t most_fitted = 3;

constexpr std::array<std::int64_t, 4> activation_ranks{1, 2, 4, 8};

template <auto member> using FigureOf = std::remove_cvref_t<decltype(std::declval<Engine::Tuning>().*member)>;
template <auto member> double figure(const Engine::Tuning& tuning) {
  if constexpr (std::is_same_v<FigureOf<member>, double>) return tuning.*member;
  else return (tuning.*member).value();
}
template <auto member> void put_figure(Engine::Tuning& tuning, double value) {
  tuning.*member = FigureOf<member>(value);
}
template <auto member> constexpr TuningFigure figure_row(std::string_view name, double low, double high) {
  return {name, low, high, std::is_same_v<FigureOf<member>, Seconds>, figure<member>, put_figure<member>};
}

constexpr auto tuning_members = [](auto& file, auto& tuning) {
  file.rare("architecture", tuning.architecture);
  file.rare("products_in", tuning.products_in);
  file.rare("all_reduce", tuning.all_reduce);
  file.read("kernels", tuning.kernels, NumberRange{0.1, 20});
  file.unless(1.0, "products", tuning.products, NumberRange{0.1, 100});
  file.unless(1.0, "experts", tuning.experts, NumberRange{0, 20});
  file.rare("expert_start", tuning.expert_start, Zero::allowed);
  file.rare("fp8_cache_rate", tuning.fp8_cache_rate, NumberRange{0.05, 1});
  file.rare("keys_read_again", tuning.keys_read_again, NumberRange{0, 1});
  file.unless(1.0, "beyond_profiled", tuning.beyond_profiled, NumberRange{0.1, 20});
  file.read("host_per_launch", tuning.host_per_launch, Zero::allowed);
  file.read("host_per_iteration", tuning.host_per_iteration, Zero::allowed);
  file.read("host_per_sequence", tuning.host_per_sequence, Zero::allowed);
  file.rare("fitted", tuning.fitted);
  file.read("p10", tuning.spread.p10, NumberRange{0.01, 1});
  file.read("p90", tuning.spread.p90, NumberRange{1, 100});
  file.rare("network", tuning.network);
  file.unless(0.6, "network_p10", tuning.of_network.p10, NumberRange{0.01, 1});
  file.unless(1.7, "network_p90", tuning.of_network.p90, NumberRange{1, 100});
};
constexpr auto read_tunings = [](JsonObject& file, std::vector<Engine::Tuning>& tunings) {
  for (const JsonObject& object : file.objects("tunings")) {
    RowReader row(object);
    Engine::Tuning& tuning = tunings.emplace_back();
    tuning_members(row, tuning);
    row.require(tuning.all_reduce.empty() || contains(kernel_software(), tuning.all_reduce), "all_reduce",
        fmt::format("no engine has kernels of '{:.40}'", tuning.all_reduce),
        name_hint(tuning.all_reduce, kernel_software()));
    row.require(tuning.fitted.size() <= most_fitted, "fitted", fmt::format("{} figures", tuning.fitted.size()),
        fmt::format("at most {}: more would fit what iterations do not show", most_fitted));
    for (const std::string& name : tuning.fitted)
      row.require(find_figure(name) != nullptr, "fitted", fmt::format("no figure '{:.40}' of a tuning", name),
          "kernels, products, experts, expert_start, keys_read_again, beyond_profiled, host_per_launch, "
          "host_per_iteration, host_per_sequence");
  }
  const bool others =
      std::ranges::any_of(tunings, [](const auto& row) { return row.architecture.empty() && row.products_in.empty(); });
  file.require(others, "tunings", "no row for GPUs of other architectures", "one without \"architecture\"");
};
constexpr auto write_tunings = [](RowWriter& json, const std::vector<Engine::Tuning>& tunings) {
  json.list("tunings", tunings, [&](const Engine::Tuning& tuning) { tuning_members(json, tuning); });
};

constexpr auto pool_members = [](auto& file, auto& pool) {
  file.read("families", pool.families);
  file.read("share", pool.share, NumberRange{0.01, 1});
};
constexpr auto read_pools = [](JsonObject& file, std::vector<Engine::WindowPool>& pools) {
  if (!file.has("window_pools")) return;
  for (const JsonObject& object : file.objects("window_pools")) {
    RowReader row(object);
    pool_members(row, pools.emplace_back());
  }
};
constexpr auto write_pools = [](RowWriter& json, const std::vector<Engine::WindowPool>& pools) {
  if (pools.empty()) return;
  json.list("window_pools", pools, [&](const Engine::WindowPool& pool) { pool_members(json, pool); });
};

constexpr auto engine_members = [](auto& file, auto& engine) {
  file.head(engine);
  file.read("from", engine.from);
  file.rare("until", engine.until);
  file.read("kernels", engine.kernels);
  file.rare("measured_kernels", engine.measured_kernels);
  file.rare("nccl_alone", engine.nccl_alone);
  file.read("fused", engine.fused);
  file.reading(read_split_functions, engine.one_by_one);
  file.writing(write_split_functions, engine.one_by_one);
  file.unless(usual_cache_rate, "cache_rate", engine.cache_rate, NumberRange{0.05, 1});
  file.rare("multiplies_fp8_keys", engine.multiplies_fp8_keys);
  file.unless(1.0, "attention_rate", engine.attention_rate, NumberRange{0.1, 2});
  file.optional("captured", engine.captured);
  file.optional("most_captured", engine.most_captured, IntegerRange{0, 1'000'000});
  file.reading(read_tunings, engine.tunings);
  file.writing(write_tunings, engine.tunings);
  file.rare("splits_keys_below", engine.splits_keys_below, NumberRange{0, 1e9});
  file.optional("host_beside", engine.host_beside);
  file.rare("launches_in_turn", engine.launches_in_turn);
  file.read("most_positions", engine.most_positions, positions);
  file.optional("profiled_positions", engine.profiled_positions, IntegerRange{0, 1'000'000});
  file.read("most_sequences", engine.most_sequences, IntegerRange{1, 1'000'000});
  file.rare("prompts_apart", engine.prompts_apart);
  file.rare("whole_prompts", engine.whole_prompts);
  file.rare("reserves_all", engine.reserves_all);
  file.part("swapping", engine.swapping.when != SwapsWhen::never, engine.swapping, swap_members);
  file.rare("plans_ahead", engine.plans_ahead);
  file.rare("loop_per_sequence", engine.loop_per_sequence, Zero::allowed);
  file.rare("host_pace", engine.host_pace, NumberRange{0.1, 10});
  file.rare("host_per_request", engine.host_per_request, Zero::allowed);
  file.optional_choice("exchange", engine.exchange, exchange_names);
  file.rare_choice("uneven_stages", engine.uneven_stages, uneven_names);
  file.rare("same_experts", engine.same_experts);
  file.optional("ends_at_positions", engine.ends_at_positions);
  file.read("cache_block", engine.cache_block, positions);
  file.rare("picks_by_means", engine.picks_by_means);
  file.rare("keeps_windows", engine.keeps_windows);
  file.rare("windows_when_said", engine.windows_when_said);
  file.reading(read_pools, engine.window_pools);
  file.writing(write_pools, engine.window_pools);
  file.rare("expands_latents", engine.expands_latents);
  file.choice("cache_rule", engine.cache_rule, rule_names);
  file.read("cache_share", engine.cache_share, NumberRange{0.01, 1});
  file.read("activation_widths", engine.activation_widths, NumberRange{0, 1000});
  file.read("expert_activation_widths", engine.expert_activation_widths, NumberRange{0, 1000});
  file.read("reserved", engine.reserved, Zero::allowed);
};

}  // namespace

Expected<Engine> read_engine(const std::string& text, const std::string& where) {
  RowReader file(text, where);
  Engine engine;
  engine_members(file, engine);
  for (const auto* widths : {&engine.activation_widths, &engine.expert_activation_widths})
    file.require(widths->size() == activation_ranks.size(), "activation_widths",
        fmt::format("{} widths", widths->size()), "four: of 1, 2, 4 and 8 tensor ranks");
  return file.finish(std::move(engine));
}

std::string write_engine(const Engine& engine) { return row_json(engine, engine_members); }

std::span<const TuningFigure> tuning_figures() {
  using Tuning = Engine::Tuning;
  static constexpr TuningFigure rows[] = {figure_row<&Tuning::kernels>("kernels", 0.4, 4),
      figure_row<&Tuning::products>("products", 0.5, 20), figure_row<&Tuning::experts>("experts", 0.01, 5),
      figure_row<&Tuning::expert_start>("expert_start", 1e-7, 1e-4),
      figure_row<&Tuning::keys_read_again>("keys_read_again", 1e-3, 1),
      figure_row<&Tuning::beyond_profiled>("beyond_profiled", 0.9, 5),
      figure_row<&Tuning::host_per_launch>("host_per_launch", 1e-7, 1e-4),
      figure_row<&Tuning::host_per_iteration>("host_per_iteration", 1e-6, 5e-2),
      figure_row<&Tuning::host_per_sequence>("host_per_sequence", 1e-7, 1e-3)};
  return rows;
}

const Engine::WindowPool* Engine::window_pool(const std::string& family) const {
  const auto pool =
      std::ranges::find_if(window_pools, [&](const WindowPool& row) { return contains(row.families, family); });
  return pool == window_pools.end() ? nullptr : &*pool;
}

const TuningFigure* find_figure(std::string_view name) {
  for (const TuningFigure& row : tuning_figures())
    if (row.name == name) return &row;
  return nullptr;
}

std::vector<std::int64_t> layers_of_stages(const Engine& engine, std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(stages), layers / stages);
  const std::int64_t left = layers % stages;
  if (left == 0) return counts;
  const auto one_more = [&](std::int64_t first) {
    for (std::int64_t i = 0; i < left; ++i) ++counts[static_cast<std::size_t>(first + i)];
  };
  switch (engine.uneven_stages) {
    case UnevenStages::refused: return {};
    case UnevenStages::last: counts.back() += left; break;
    case UnevenStages::before_last: one_more(stages - 1 - left); break;
    case UnevenStages::last_ones: one_more(stages - left); break;
    case UnevenStages::first_ones: one_more(0); break;
  }
  return counts;
}

Bytes activations_of(const Engine& engine, const ActivationShape& shape) {
  const std::vector<double>& widths = shape.experts ? engine.expert_activation_widths : engine.activation_widths;
  std::size_t at = 0;
  while (at + 1 < activation_ranks.size() && activation_ranks[at + 1] <= shape.tensor_ranks) ++at;
  constexpr double bytes = 2;
  return Bytes(bytes * shape.positions * shape.hidden * widths[at]);
}

const Engine::Tuning* find_tuning(
    const Engine& engine, const std::string& architecture, const std::string& products_in) {
  const Engine::Tuning* best = nullptr;
  int most = -1;
  for (const Engine::Tuning& row : engine.tunings) {
    const bool here = row.architecture == architecture, in_type = row.products_in == products_in;
    if ((!here && !row.architecture.empty()) || (!in_type && !row.products_in.empty())) continue;
    if (const int fits = (here ? 2 : 0) + (in_type ? 1 : 0); fits > most) best = &row, most = fits;
  }
  return best;
}

Stack lowered_for(const Engine& engine) {
  Stack stack;
  stack.id = engine.id;
  stack.name = engine.name;
  stack.fused = engine.fused;
  stack.one_by_one = engine.one_by_one;
  stack.gradient_bytes = stack.master_bytes = stack.optimizer_bytes = 0;
  stack.loss_bytes = 2;
  stack.gpu_spread = 0;
  return stack;
}

}  // namespace stepcast
