#include "model/profile/step_parameter.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/error.h"

namespace stepcast {
namespace {

using enum StepParameter;

// Ranges: sustained over burst rates of products are 1.0 to 1.2 on seven GPUs, libraries differ by a tenth (rate tables
// of ai-dynamo/aiconfigurator 095f58a); collectives beside kernels slow them by 0.19 on average and 0.4 at worst (arXiv
// 2507.03114); a launch costs the host 2 to 20 us, eager PyTorch operators up to 30 us.
constexpr std::array<StepParameterRow, step_parameter_count> rows{{
    {products, "products", "", 0.75, 1.7, 1, 0.12,
        "time of matrix products and attention over their laws: clocks under sustained load, library versions, casts"},
    {attention, "attention", "", 0.5, 2, 1, 0.3,
        "time of attention kernels over their law, beside what `products` says: the kernel's age and head size"},
    {memory, "memory", "", 0.5, 3, 1, 0.3,
        "time of memory-bound kernels over their law: passes over activations that the software does or fuses away "
        "beyond those listed"},
    {activation_moves, "activation_moves", "", 0.1, 2.5, 1, 0.4,
        "time of collectives that carry activations inside a layer, over their law: what the software hides of it, or "
        "lacks of its bandwidth"},
    {expert_moves, "expert_moves", "", 0.1, 3, 1, 0.4,
        "time of moving tokens to their experts and back, over its law: dispatch kernels, and what hides"},
    {gradient_moves, "gradient_moves", "", 0.2, 4, 1, 0.4,
        "time of gradient and weight collectives over their law: shared ports, stragglers among many ranks"},
    {stage_sends, "stage_sends", "", 0.1, 4, 1, 0.4,
        "time of sends between pipeline stages over their law: what hides of them, or waits for the host"},
    {contention, "contention", "", 0, 2, 0.19, 0.4,
        "how much slower kernels run beside a collective: multiprocessors and memory bandwidth that it takes"},
    {kernel_gap, "kernel_gap_s", "s", 0, 150e-6, 20e-6, 15e-6,
        "time between a kernel and the next that the laws' kernels do not contain: launches that nothing hides, small "
        "kernels that are not listed"},
    {host_per_launch, "host_per_launch_s", "s", 0, 60e-6, 15e-6, 6e-6,
        "time of the host per kernel it starts: a layer takes at least this times its kernels"},
    {host_per_step, "host_per_step_s", "s", 0, 0.6, 0.02, 0.05,
        "work around each step that no kernel shows: loader, logging, scaling checks, garbage collection"},
}};

}  // namespace

std::span<const StepParameterRow, step_parameter_count> step_parameters() { return rows; }

const StepParameterRow& row_of(StepParameter parameter) { return rows[static_cast<std::size_t>(parameter)]; }

Expected<StepParameter> parse_step_parameter(const std::string& text, const std::string& where) {
  std::vector<std::string> names;
  for (const StepParameterRow& row : rows) {
    if (row.id == text) return row.parameter;
    names.emplace_back(row.id);
  }
  return fail(where, fmt::format("unknown step parameter '{:.40}'", text), name_hint(text, names));
}

Spread widened(Spread spread, Doubt doubt) {
  return {std::exp(-std::hypot(std::log(std::max(1.0, 1 / spread.p10)), doubt.down)),
      std::exp(std::hypot(std::log(std::max(1.0, spread.p90)), doubt.up))};
}

bool fitted_on(const StepFit& fit, const std::string& gpu) { return contains(fit.gpus, gpu); }

}  // namespace stepcast
