#include "studies/sweep/space/figures.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"

namespace stepcast::sweep {
namespace {

/// Keys are those of predict --json where it has the figure, with the unit in the key and no levels.
constexpr std::array<FigureRow, figure_count> make_figure_rows() {
  using enum FigureUnit;
  using enum FigureNeeds;
  constexpr bool more_is_better = true;
  return {{
      {Figure::step_time, "step_time", "step time", "time", "step_time_s", seconds, forecast,
          "time of a training step"},
      {Figure::p10, "p10", "10th percentile", "", "step_time_p10_s", seconds, forecast,
          "10th percentile of the step time"},
      {Figure::p90, "p90", "90th percentile", "", "step_time_p90_s", seconds, forecast,
          "90th percentile of the step time"},
      {Figure::tokens_per_s_per_gpu, "tokens_per_s_per_gpu", "tokens/s per GPU", "tokens", "tokens_per_s_per_gpu", rate,
          forecast, "tokens per second and GPU", more_is_better},
      {Figure::mfu, "mfu", "MFU", "", "mfu", share, forecast, "model FLOPs utilisation", more_is_better},
      {Figure::hfu, "hfu", "HFU", "", "hfu", share, forecast, "hardware FLOPs utilisation, with recompute",
          more_is_better},
      {Figure::bubble, "bubble", "idle in the pipeline", "", "bubble_fraction", share, forecast,
          "idle share of the pipeline, averaged over its ranks"},
      {Figure::forward, "forward", "forward", "", "forward_s", seconds, forecast,
          "forward kernels of the slowest stage"},
      {Figure::backward, "backward", "backward", "", "backward_s", seconds, forecast,
          "backward kernels of the slowest stage, with recompute"},
      {Figure::pipeline_bubble, "pipeline_bubble", "pipeline bubble", "", "bubble_s", seconds, forecast,
          "idle time of the slowest stage"},
      {Figure::exposed_communication, "exposed_communication", "exposed communication", "", "exposed_communication_s",
          seconds, forecast, "kernels waiting for moves"},
      {Figure::gradient_sync, "gradient_sync", "gradient sync", "", "gradient_sync_s", seconds, forecast,
          "gradient collectives after the pipeline"},
      {Figure::clip, "clip", "norm and clip", "", "clip_s", seconds, forecast, "gradient norm and clip"},
      {Figure::optimizer, "optimizer", "optimizer", "", "optimizer_s", seconds, forecast, "optimizer kernels"},
      {Figure::parameter_gather, "parameter_gather", "parameter gather", "", "parameter_gather_s", seconds, forecast,
          "parameter all-gather that shows"},
      {Figure::host, "host", "host", "", "host_s", seconds, forecast, "host overhead of the step"},
      {Figure::other, "other", "other", "", "other_s", seconds, forecast, "data wait and copies from host to device"},
      {Figure::memory_peak, "memory.peak", "peak memory", "memory", "memory_peak_bytes", bytes, memory,
          "device memory on the fullest rank"},
      {Figure::memory_headroom, "memory.headroom", "free memory", "headroom", "memory_headroom_bytes", bytes, memory,
          "device memory left on the fullest rank", more_is_better},
      {Figure::weights, "memory.weights", "weights", "", "memory_weights_bytes", bytes, forecast,
          "weights on the fullest rank"},
      {Figure::gradients, "memory.gradients", "gradients", "", "memory_gradients_bytes", bytes, forecast,
          "gradients on the fullest rank"},
      {Figure::optimizer_states, "memory.optimizer", "optimizer states", "", "memory_optimizer_bytes", bytes, forecast,
          "optimizer states on the fullest rank"},
      {Figure::activations, "memory.activations", "activations", "", "memory_activations_bytes", bytes, forecast,
          "activations kept on the fullest rank"},
      {Figure::cost, "cost", "cost per billion tokens", "", "cost_usd_per_billion_tokens", dollars, forecast,
          "US dollars per billion tokens"},
      {Figure::energy, "energy", "energy per step", "", "energy_j_per_step", joules, forecast,
          "joules per step, all GPUs"},
      {Figure::gpus, "gpus", "GPUs", "", "gpus", count, plan, "GPUs of the job"},
      {Figure::tp, "tp", "tp", "", "tp", count, plan, "tensor parallel ways"},
      {Figure::cp, "cp", "cp", "", "cp", count, plan, "context parallel ways"},
      {Figure::pp, "pp", "pp", "", "pp", count, plan, "pipeline stages"},
      {Figure::dp, "dp", "dp", "", "dp", count, plan, "data parallel ways"},
      {Figure::ep, "ep", "ep", "", "ep", count, plan, "expert parallel ways"},
      {Figure::etp, "etp", "etp", "", "etp", count, plan, "tensor parallel ways inside an expert"},
      {Figure::chunks, "chunks", "chunks", "", "chunks", count, plan, "virtual stages per rank"},
      {Figure::micro_batch, "micro_batch", "micro-batch", "", "micro_batch", count, plan,
          "sequences per rank and micro-batch"},
      {Figure::micro_batches, "micro_batches", "micro-batches", "", "micro_batches", count, plan,
          "micro-batches per rank and step"},
      {Figure::zero, "zero", "ZeRO", "", "zero", count, plan, "sharding stage, 0 to 3"},
      {Figure::replicas, "dp_replicate", "copies of shards", "", "dp_replicate", count, plan,
          "copies of what is sharded"},
      {Figure::sequence, "sequence", "sequence", "seq", "sequence", count, plan, "positions per sequence"},
  }};
}
constexpr auto rows_of_figures = make_figure_rows();

constexpr bool figures_in_order() {
  for (std::size_t i = 0; i < figure_count; ++i)
    if (static_cast<std::size_t>(rows_of_figures[i].figure) != i) return false;
  return true;
}
static_assert(figures_in_order(), "row_of() takes the figure's number for its row");

std::string joules_text(double value) {
  struct Prefix {
    double factor;
    const char* unit;
  };
  constexpr Prefix prefixes[] = {{1, "J"}, {1e3, "kJ"}, {1e6, "MJ"}, {1e9, "GJ"}, {1e12, "TJ"}};
  const Prefix* chosen = prefixes;
  for (const Prefix& prefix : prefixes)
    if (std::abs(value) >= 0.9995 * prefix.factor) chosen = &prefix;
  const double number = value / chosen->factor, size = std::abs(number);
  return fmt::format("{:.{}f} {}", number, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2, chosen->unit);
}

/// Cents as on a bill, but no price is ever shown as nothing.
std::string dollars_text(double value) {
  if (std::abs(value) >= 999.5) return "$ " + grouped_digits(value);
  return std::abs(value) >= 0.1 || value == 0 ? fmt::format("$ {:.2f}", value) : fmt::format("$ {:.2g}", value);
}

/// "memory_peak" for "memory.peak": its key begins so.
bool same_figure_name(std::string_view name, std::string_view text) {
  return std::equal(name.begin(), name.end(), text.begin(), text.end(),
      [](char a, char b) { return a == b || (a == '.' && b == '_'); });
}

}  // namespace

std::span<const FigureRow> figure_rows() { return rows_of_figures; }

const FigureRow& row_of(Figure figure) { return rows_of_figures[static_cast<std::size_t>(figure)]; }

Expected<Figure> find_figure(std::string_view name, const std::string& where) {
  std::vector<std::string> names;
  for (const FigureRow& row : rows_of_figures) {
    if (same_figure_name(row.name, name) || (!row.alias.empty() && name == row.alias)) return row.figure;
    names.emplace_back(row.name);
  }
  return fail(where, fmt::format("unknown figure '{}'", name.substr(0, 60)), name_hint(name, names));
}

std::string figure_text(Figure figure, double value) {
  if (!std::isfinite(value)) return "-";
  switch (row_of(figure).unit) {
    using enum FigureUnit;
    case seconds: return format_seconds(Seconds(std::abs(value) < 1e-12 ? 0 : value));  // rounding of differences
    case bytes: return format_bytes(Bytes(value));
    case share: return format_percent(value);
    case rate: return grouped_digits(value);
    case dollars: return dollars_text(value);
    case joules: return joules_text(value);
    case count: break;
  }
  return fmt::format("{}", value);
}

}  // namespace stepcast::sweep
