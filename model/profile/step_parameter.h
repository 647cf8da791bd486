// Numbers that measured steps of a training software decide, because no timing of a single kernel or collective shows
// them. A fit turns at most three of them per software, precision and GPU, and never one per run.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "model/machine/machine.h"

namespace stepcast {

// clang-format off
enum class StepParameter : std::uint8_t {
  products, attention, memory, activation_moves, expert_moves, gradient_moves, stage_sends, contention, kernel_gap,
  host_per_launch, host_per_step
};
// clang-format on
inline constexpr std::size_t step_parameter_count = 11;

/// A row per parameter. A value outside `low` to `high` stands for physics that is missing, and is refused.
struct StepParameterRow {
  StepParameter parameter;
  std::string_view id;    ///< as files and --parameters name it, with its unit's suffix
  std::string_view unit;  ///< "" = a factor on what the laws say
  double low, high;
  double typical;  ///< where a search starts from if nothing better is known
  /// standard deviation of what is believed beforehand: of the logarithm, with a unit of the value
  double doubt;
  std::string_view meaning;  ///< one sentence: what it stands for
};
std::span<const StepParameterRow, step_parameter_count> step_parameters();
const StepParameterRow& row_of(StepParameter parameter);

/// By id. Error: an unknown name, with the nearest known one.
Expected<StepParameter> parse_step_parameter(const std::string& text, const std::string& where);

inline constexpr std::size_t most_fitted = 3;

// clang-format off
struct StepValue { StepParameter parameter = StepParameter::products; double value = 1; };

/// Relative interval of measured over predicted, from hold-outs.
struct Spread { double p10 = 1, p90 = 1; };
// clang-format on

/// What the measured steps of one software in one precision say, on one GPU or on several of one kind.
struct StepFit {
  std::string stack;  ///< catalogue id
  Precision precision = Precision::bf16;
  bool experts = false;           ///< of networks with routed experts: other kernels and moves than dense ones
  std::vector<StepValue> values;  ///< at most `most_fitted`
  int runs = 0, groups = 0;       ///< fitted on; left out by turns
  std::string left_out;           ///< what a group is: "source", "model", "release"; "" = nothing was held out
  /// mean of |predicted / measured - 1|, fitted on all and with the own group left out
  double mape = 0, held_out_mape = 0;
  Spread spread;  ///< 10th to 90th percentile of measured over predicted, held out
  /// a split forecast slower by less, as a logarithm, may be the faster one: one-sided 90 %; 0 = not known
  double pair_spread = 0;
  int pairs = 0;               ///< of held-out runs of one job with two splits, that pair_spread comes from
  std::int64_t most_gpus = 0;  ///< of the largest run among them; 0 = not known
  /// catalogue ids that the runs were on; elsewhere the fit is transferred, its spread wider
  std::vector<std::string> gpus;
  std::string source;    ///< whose runs
  bool foreign = false;  ///< of other software than the one that is forecast; in no file
};

/// Half widths of a logarithm, down and up, that something which no measured run had adds to an interval.
struct Doubt {
  double down = 0, up = 0;
};
/// In quadrature, for what is not known of a run are things apart.
Spread widened(Spread spread, Doubt doubt);

/// What a GPU adds that none of a fit's runs was on: laws fitted on one GPU are 5 to 9 % off on another of its
/// generation (transferred_spread).
inline constexpr Doubt other_gpu{0.077, 0.077};

/// Whether runs on this GPU are among those fitted on.
bool fitted_on(const StepFit& fit, const std::string& gpu);

}  // namespace stepcast
