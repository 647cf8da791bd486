// Ranges of the host that tell where steps begin and end, by the names that profilers and programs give them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "calibrate/trace/iteration_rows.h"

namespace stepcast::calibrate {

enum class MarkKind : std::uint8_t { step, numbered, pass, optimizer, zero_grad };

/// Microseconds of the recording's clock.
struct HostMark {
  MarkKind kind = MarkKind::step;
  double start = 0, end = 0;
  std::int64_t number = -1;  ///< ProfilerStep#17, iteration17
  IterationRows rows;        ///< of an engine's pass
};

/// Of torch.profiler's steps, PyTorch's optimizers, engines' passes, and ranges that programs number by hand as
/// iterations or steps ("iteration 17", "step_17"); nullopt: of none of them.
std::optional<HostMark> host_mark_of(std::string_view name, double start, double end);

}  // namespace stepcast::calibrate
