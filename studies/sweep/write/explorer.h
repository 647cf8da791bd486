// A sweep's result as one HTML page to explore in a browser: it stands alone, asks for nothing over the network, and
// holds every row of the top list and of the Pareto front once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "studies/sweep/result/result.h"

namespace stepcast::sweep {

/// The best that a page lists where nobody says how many: in most sweeps all that can run.
constexpr std::uint64_t explorer_rows = 1000;

/// The name in its page_mark().
constexpr std::string_view explorer_mark = "sweep";

/// Needs no server: scripts, styles and data (base units, every digit) are inside. Names are escaped whatever they
/// hold. A result without rows, or of a part of the space, is a page too, which says so.
std::string explorer_page(const SweepResult& result);

}  // namespace stepcast::sweep
