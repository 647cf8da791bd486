// A stretch of one GPU's time, every instant of it in one row: what computes goes before what communicates, that before
// what copies, and what is left is idle. Rows therefore sum to the stretch, and two stretches differ by the sum of
// their rows' differences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/trace/rank_trace.h"

namespace stepcast::comparison {

enum class SplitFamily : std::uint8_t { compute, exposed, copies, host, idle };

/// Times in seconds.
struct SplitRow {
  SplitFamily family = SplitFamily::idle;
  WorkKind kind = WorkKind::unplaced;
  std::string name;    ///< the kernel's, the collective's kind, the host's stretch
  std::string fabric;  ///< of a collective whose trace says it
  double seconds = 0;  ///< in this row alone
  double flight = 0;   ///< durations of all events, also beside others
  std::size_t calls = 0;
};

/// A stretch in which nothing ran, with what came before and after it (indices into RankTrace::names, -1: nothing).
struct IdleGap {
  double seconds = 0;
  std::int32_t before = -1, after = -1;
  bool host_late = false;            ///< what came after it was launched when the GPU had run dry
  std::optional<HostCallKind> call;  ///< what the host did meanwhile, where the recording says it
};

struct SplitProduct {
  std::string name;
  double seconds = 0;  ///< in its row
  double flops = 0;    ///< 0: not known
};

struct TimeSplit {
  double seconds = 0;
  std::vector<SplitRow> rows;
  std::vector<IdleGap> gaps;
  std::vector<SplitProduct> products;  ///< matrix products in order
  double compute_flight = 0;           ///< durations of all kernels that compute
};

/// Of a kernel of attention, as forecasts and libraries name it.
bool is_backward_attention(std::string_view kernel);

/// From `begin` to `end`, in the recording's microseconds.
TimeSplit split_time(const RankTrace& trace, double begin, double end);

}  // namespace stepcast::comparison
