// A stretch of a GPU's time as a picture has it: bars in lanes, few enough to draw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/trace/rank_trace.h"

namespace stepcast::comparison {

enum class Lane : std::uint8_t { compute, communication, copies, host };

struct DrawnBar {
  Lane lane = Lane::compute;
  WorkKind kind = WorkKind::unplaced;
  std::int32_t name = 0;               ///< index into DrawnTrace::names
  std::int64_t start = 0, length = 0;  ///< nanoseconds from the stretch's begin
  std::int32_t events = 1;             ///< that stand so close that they are one bar
};

struct DrawnTrace {
  std::string title;
  double seconds = 0;
  std::vector<std::string> names;
  std::vector<DrawnBar> bars;  ///< by start
};

/// Events of one kind in one lane that follow each other closely become one bar where there are more than this.
inline constexpr std::size_t most_drawn_bars = 20'000;

/// From `begin` to `end`, in the recording's microseconds.
DrawnTrace drawn_trace(const RankTrace& trace, double begin, double end, const std::string& title);

}  // namespace stepcast::comparison
