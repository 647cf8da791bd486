// What a sweep knows of one configuration: figures by name. Constraints, objectives, tables and result files read the
// same rows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "sim/fast/standings.h"

namespace stepcast::sweep {

// clang-format off
/// Base units; those of a StepReport and of the plan behind it.
/// bubble StepReport::bubble_fraction; pipeline_bubble is Phases::bubble, forward to host are those of Phases
///   other             Phases::data_wait and host_to_device
///   memory_headroom   capacity less peak; below 0 when it does not fit
///   cost              US dollars per billion tokens, at the user's price of a GPU-hour
///   energy            joules per step, all GPUs
enum class Figure : std::uint8_t {
  step_time, p10, p90, tokens_per_s_per_gpu, mfu, hfu, bubble,
  forward, backward, pipeline_bubble, exposed_communication, gradient_sync, clip, optimizer, parameter_gather, host,
  other, memory_peak, memory_headroom, weights, gradients, optimizer_states, activations,
  cost, energy,
  gpus, tp, cp, pp, dp, ep, etp, chunks, micro_batch, micro_batches, zero, replicas, sequence,
  count_,
};
// clang-format on
constexpr std::size_t figure_count = static_cast<std::size_t>(Figure::count_);
using Figures = std::array<double, figure_count>;

/// rate is tokens per second and GPU.
enum class FigureUnit : std::uint8_t { seconds, bytes, share, rate, dollars, joules, count };

/// When it is known: of the plan before any price, of memory before any time, or after the whole forecast. In this
/// order.
enum class FigureNeeds : std::uint8_t { plan, memory, forecast };

struct FigureRow {
  Figure figure;
  std::string_view name;   ///< in constraints and --pareto: "step_time", "memory.peak", "tp"
  std::string_view title;  ///< in tables and pictures of a page: "step time", "peak memory"
  std::string_view alias;  ///< a shorter one that is read too, or "": "time"
  std::string_view key;    ///< in JSON and as a column: "step_time_s"
  FigureUnit unit;
  FigureNeeds needs;
  std::string_view doc;  ///< one line
  bool more_is_better = false;
};
/// In the order of Figure.
std::span<const FigureRow> figure_rows();
const FigureRow& row_of(Figure figure);
/// By name or alias, letter by letter, but memory_peak is memory.peak too; the error suggests the nearest name.
Expected<Figure> find_figure(std::string_view name, const std::string& where);

/// As reports print it, three digits with the unit that a reader wants: "20.3 s", "36.6 %", "40.1 GiB", "$ 1.23", "4.13
/// MJ". Counts and tokens whole: "8", "12,345". "-" for what is not a finite number (a cost without a price).
std::string figure_text(Figure figure, double value);

/// The last of the costs is no goal: it carries the bound of the step time along.
constexpr int step_cost = Costs::most - 1;
constexpr int most_front_figures = Costs::most - 2;

}  // namespace stepcast::sweep
