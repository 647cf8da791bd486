#include "sim/job/interval.h"

#include <algorithm>
#include <cmath>

namespace stepcast::sim {
namespace {

bool always(Seconds /*m*/, Seconds /*d*/, Seconds /*r*/) { return true; }
bool short_saves(Seconds m, Seconds d, Seconds /*r*/) { return d < 2 * m; }

Seconds young(Seconds m, Seconds d, Seconds /*r*/) { return Seconds(std::sqrt(2 * d.value() * m.value())); }

Seconds daly(Seconds m, Seconds d, Seconds r) {
  if (!short_saves(m, d, r)) return m;
  const double x = std::sqrt(d / (2 * m));
  return young(m, d, r) * (1 + x / 3 + x * x / 9) - d;
}

Seconds exact(Seconds m, Seconds d, Seconds /*r*/) { return exact_interval(m, d); }

Seconds availability(Seconds m, Seconds d, Seconds r) {
  return d + Seconds(std::sqrt((2 * (m + r).value() + d.value()) * d.value()));
}

constexpr IntervalLaw laws[] = {
    {"young", "Young", "sqrt(2 d M)", "Young 1974", always, young},
    {"daly", "Daly", "sqrt(2 d M)(1 + x/3 + x^2/9) - d, x^2 = d/2M", "Daly 2006", short_saves, daly},
    {"exact", "exact", "M (1 + W(-exp(-1 - d/M)))", "maximum of the exact law", always, exact},
    {"availability", "availability", "d + sqrt(2 (M + R) d + d^2)", "arXiv 2410.18124 (not confirmed)", always,
        availability},
};

}  // namespace

std::span<const IntervalLaw> interval_laws() { return laws; }

Seconds exact_interval(Seconds between_failures, Seconds save) {
  // The maximum of t / (e^((t + d)/M) - 1): (1 - x) e^x = e^(-d/M) with x = t/M, that is -log(1 - x) - x = d/M. In this
  // form W0 = x - 1 loses no digits where d is small and x^2/2 is all there is. Newton from above the root of the
  // series; the left side is convex, so that it comes down without a miss.
  const double a = save / between_failures;
  double x = std::min(std::sqrt(2 * a), 1 - std::exp(-1 - a) / 2);
  constexpr int most_steps = 100;
  for (int step = 0; step < most_steps; ++step) {
    if (x == 1) break;  // saves so long that no double is nearer to the limit
    const double small = x * x * (0.5 + x * (1.0 / 3 + x * (0.25 + x * (0.2 + x / 6))));
    const double left = x < 1e-3 ? small : -std::log1p(-x) - x;
    const double next = std::clamp(x - (left - a) * (1 - x) / x, x / 2, (1 + x) / 2);
    if (std::abs(next - x) <= 1e-15 * x) break;
    x = next;
  }
  return between_failures * x;
}

std::int64_t best_per_stored(const FailureCosts& failures, Saves saves, std::int64_t most) {
  const auto at = [&](std::int64_t count) {
    saves.per_stored = count;
    return goodput(failures, saves);
  };
  // It rises to one maximum and falls behind it.
  std::int64_t low = 1, high = std::max<std::int64_t>(1, most);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (at(middle) < at(middle + 1)) low = middle + 1;
    else high = middle;
  }
  return low;
}

}  // namespace stepcast::sim
