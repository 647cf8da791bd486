#include "studies/compare/clocks.h"

#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "studies/compare/traced/rank_pace.h"

namespace stepcast::comparison {
namespace {

/// Smaller changes are within what GPUs differ by.
constexpr double least_change = slow_rank_factor - 1;

struct BothSides {
  double expected = 0, measured = 0;
  void add(const GapRow& row) { expected += row.expected, measured += row.measured; }
  [[nodiscard]] double factor() const { return expected > 0 ? measured / expected : 1; }
};

/// Each part that counts is off by the same factor, and products and attention both have some.
bool one_factor(const Gap& gap, const BothSides& cores) {
  constexpr double same = 0.02, least_row = 0.02, least_part = 0.05, covered = 0.5;
  std::size_t rows = 0, parts = 0;
  double within = 0;
  for (const GapRow& row : gap.rows) {
    if (row.bound != BoundBy::cores || row.expected < least_row * cores.expected) continue;
    const auto off = [&](const GapRow& part) { return part.measured / part.expected / cores.factor() - 1; };
    if (std::abs(off(row)) > same) return false;
    ++rows;
    const std::vector<GapRow> whole{row};
    for (const GapRow& part : row.parts.empty() ? whole : row.parts) {
      if (part.expected < least_part * row.expected) continue;
      if (std::abs(off(part)) > same) return false;
      ++parts;
      within += part.expected;
    }
  }
  return rows >= 2 && parts >= 3 && within >= covered * cores.expected;
}

}  // namespace

std::optional<ClockLoss> clock_loss_in(const Gap& gap, double expected_mhz, double measured_mhz) {
  BothSides cores, memory;
  for (const GapRow& row : gap.rows) {
    if (row.bound == BoundBy::cores) cores.add(row);
    if (row.bound == BoundBy::memory) memory.add(row);
  }
  const double excess = cores.factor() - 1;
  if (std::abs(excess) < least_change || cores.measured <= 0) return std::nullopt;
  if (expected_mhz > 0 && measured_mhz > 0) {
    const double factor = expected_mhz / measured_mhz;
    // Products follow the clock at least half-way; the rest has other causes.
    if (std::abs(factor - 1) < least_change || excess / (factor - 1) < 0.5) return std::nullopt;
    return ClockLoss{factor, fmt::format("the GPU ran at {:.0f} MHz, {:.0f} MHz are expected; products and attention "
                                         "take {:.2f} times as long",
                                 measured_mhz, expected_mhz, cores.factor())};
  }
  constexpr double least_memory = 0.02;
  if (memory.expected < least_memory * gap.expected || std::abs(memory.factor() - 1) > std::abs(excess) / 3 ||
      !one_factor(gap, cores))
    return std::nullopt;
  return ClockLoss{cores.factor(), fmt::format("every product and attention take {:.2f} times as long as expected, and "
                                               "memory-bound kernels {:.2f} times",
                                       cores.factor(), memory.factor())};
}

std::string clock_drift_text(const RankTrace& trace, const FoundSteps& steps) {
  int first = -1, last = -1;
  for (std::size_t i = 0; i < steps.steps.size(); ++i)
    if (!steps.steps[i].outlier) {
      if (first < 0) first = static_cast<int>(i);
      last = static_cast<int>(i);
    }
  if (first < 0 || first == last) return "";
  struct Sums {
    std::array<double, 2> seconds{};
    std::array<std::size_t, 2> calls{};
    WorkKind kind = WorkKind::unplaced;
  };
  std::map<std::pair<std::int32_t, std::int32_t>, Sums> kernels;  // by name and shape
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const std::int32_t step = steps.step_of[i];
    if (step != first && step != last) continue;
    const DeviceEvent& event = trace.events[i];
    Sums& sums = kernels[{event.name, event.shape}];
    const std::size_t side = step == first ? 0 : 1;
    sums.seconds[side] += event.end - event.start, ++sums.calls[side], sums.kind = event.kind;
  }
  BothSides cores, memory;
  for (const auto& [name, sums] : kernels) {
    if (sums.calls[0] != sums.calls[1]) continue;
    // Of one trace the optimizer's kernels are the same ones, too.
    BothSides& into = is_bound_by_cores(sums.kind) ? cores : memory;
    if (!is_bound_by_cores(sums.kind) && !is_memory_bound(sums.kind)) continue;
    into.expected += sums.seconds[0], into.measured += sums.seconds[1];
  }
  constexpr double least_memory = 0.05;
  const double excess = cores.factor() - 1;
  if (std::abs(excess) < least_change || memory.expected < least_memory * cores.expected ||
      std::abs(memory.factor() - 1) > std::abs(excess) / 3)
    return "";
  return fmt::format("clocks {} from step {} to step {}: the same products and attention take {:.3f} times as long, "
                     "memory-bound kernels {:.3f} times",
      excess > 0 ? "fall" : "rise", steps.steps[static_cast<std::size_t>(first)].number,
      steps.steps[static_cast<std::size_t>(last)].number, cores.factor(), memory.factor());
}

double clock_of(const RankTrace& trace, const FoundSteps& steps) {
  const FoundStep& step = steps.steps[static_cast<std::size_t>(steps.taken)];
  return trace.clock_mhz(step.begin, step.next);
}

double replaced_clock_of(const RankTrace& trace, const FoundSteps& steps) {
  const FoundStep& step = steps.steps[static_cast<std::size_t>(steps.taken)];
  return median_mhz(trace.replaced_clocks, step.begin, step.next);
}

std::string clock_text(const RankTrace& trace, const FoundSteps& steps) {
  const double mhz = clock_of(trace, steps);
  if (mhz <= 0) return "";
  std::string text = fmt::format("the GPU's cores ran at {:.0f} MHz in the median", mhz);
  if (!trace.clocks_by.empty()) text += fmt::format(" by {}", trace.clocks_by);
  if (trace.replaced_clocks.empty()) return text;
  const double replaced = replaced_clock_of(trace, steps);
  return text + (replaced > 0 ? fmt::format(", in place of {:.0f} MHz that the trace recorded", replaced)
                              : ", in place of clocks that the trace recorded at other times");
}

}  // namespace stepcast::comparison
