#include "studies/sweep/search/ties.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

namespace stepcast::sweep {
namespace {

std::size_t differing(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  assert(a.size() == b.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
  return count;
}

std::string comparison_error(double pair_spread) { return fmt::format("{:.1f} %", 100 * std::expm1(pair_spread)); }

}  // namespace

std::size_t tied_count(std::span<const double> steps, double pair_spread) {
  assert(!steps.empty() && steps.front() > 0 && std::is_sorted(steps.begin(), steps.end()));
  const double last = steps.front() * std::exp(pair_spread);
  return static_cast<std::size_t>(std::upper_bound(steps.begin(), steps.end(), last) - steps.begin());
}

std::vector<std::size_t> measure_first(std::span<const std::vector<std::string>> choices) {
  if (choices.size() < 2) return {0};
  std::size_t other = 1;
  for (std::size_t i = 2; i < choices.size(); ++i)
    if (differing(choices[i], choices[0]) > differing(choices[other], choices[0])) other = i;
  return {0, other};
}

Ties ties_of(std::span<const double> steps, std::span<const std::vector<std::string>> choices, double pair_spread,
    bool listed_all) {
  assert(steps.size() == choices.size());
  Ties ties;
  ties.count = tied_count(steps, pair_spread);
  ties.cut_short = ties.count == steps.size() && !listed_all;
  ties.pair_spread = pair_spread;
  ties.measure = measure_first(choices.first(ties.count));
  return ties;
}

std::string ties_text(const Ties& ties, std::span<const std::string> names, std::span<const double> steps) {
  const std::string error = comparison_error(ties.pair_spread);
  if (ties.count < 2) {
    const std::string more = ties.cut_short ? "; more than one row is needed to see ties (--top)" : "";
    if (steps.size() < 2) return fmt::format("{} stands alone{}", names[0], more);
    return fmt::format("{} leads by {:.1f} %, more than the error of a comparison ({})", names[0],
        100 * (steps[1] / steps[0] - 1), error);
  }
  return fmt::format("these {}{} are within the error of a comparison ({}); measure these 2 to decide: {}; {}",
      ties.count, ties.cut_short ? ", and perhaps more beyond the list," : "", error, names[ties.measure[0]],
      names[ties.measure[1]]);
}

}  // namespace stepcast::sweep
