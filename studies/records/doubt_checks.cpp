#include "studies/records/doubt_checks.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/percentile.h"

namespace stepcast::records {
namespace {

constexpr double far = 0.2, robust_sigmas = 3.5, sigma_of_mad = 1.4826, uneven = 0.1, disagree = 0.05;
constexpr std::size_t fewest_in_group = 4, fewest_digits = 4;

using CheckedGroup = std::vector<const CheckedRun*>;
struct FoundDoubt {
  const CheckedRun* run = nullptr;
  double distance = 0;
  std::string reason;
};
using FoundDoubts = std::vector<FoundDoubt>;

double residual(const CheckedRun& run) { return std::log(run.seconds / run.forecast_s); }
double percent_of(double logarithm) { return 100 * (std::exp(logarithm) - 1); }

FoundDoubts untold(const CheckedGroup& group) {
  FoundDoubts found;
  for (const CheckedRun* run : group)
    if (!run->untold.empty()) found.push_back({run, 0, fmt::format("does not say {}", run->untold)});
  return found;
}

FoundDoubts beyond_roof(const CheckedGroup& group) {
  FoundDoubts found;
  for (const CheckedRun* run : group)
    if (run->peak_flops_per_s > 0 && run->flops_per_s > run->peak_flops_per_s)
      found.push_back({run, 0,
          fmt::format("its time means {:.0f} TFLOP/s on each GPU, which has {:.0f}", run->flops_per_s / 1e12,
              run->peak_flops_per_s / 1e12)});
  return found;
}

FoundDoubts against_own_tokens(const CheckedGroup& group) {
  FoundDoubts found;
  for (const CheckedRun* run : group)
    if (run->seconds_by_tokens > 0 && std::abs(run->seconds / run->seconds_by_tokens - 1) > disagree)
      found.push_back({run, 0,
          fmt::format("says {:.4g} s, and its tokens per second mean {:.4g} s", run->seconds, run->seconds_by_tokens)});
  return found;
}

std::size_t digits_of(double seconds) {
  std::string text = fmt::format("{:.12g}", seconds);
  std::erase(text, '.');
  text.erase(0, text.find_first_not_of('0'));
  return text.size();
}

FoundDoubts repeated(const CheckedGroup& group) {
  FoundDoubts found;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (digits_of(group[i]->seconds) < fewest_digits) continue;
    const auto earlier =
        std::find_if(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(i), [&](const CheckedRun* other) {
          return other->seconds == group[i]->seconds && other->sizes == group[i]->sizes &&
                 other->micro_batch == group[i]->micro_batch;
        });
    if (earlier != group.begin() + static_cast<std::ptrdiff_t>(i))
      found.push_back({group[i], 0,
          fmt::format("repeats the {:g} s of {} to the last digit, so it is no second measurement", group[i]->seconds,
              (*earlier)->id)});
  }
  return found;
}

FoundDoubts contradicting(const CheckedGroup& group) {
  if (group.size() < fewest_in_group) return {};
  std::vector<double> residuals, distances;
  for (const CheckedRun* run : group) residuals.push_back(residual(*run));
  const double middle = percentile(residuals, 0.5);
  for (const double one : residuals) distances.push_back(std::abs(one - middle));
  const double reach = std::max(far, robust_sigmas * sigma_of_mad * percentile(distances, 0.5));
  FoundDoubts found;
  for (std::size_t i = 0; i < group.size(); ++i)
    if (distances[i] > reach)
      found.push_back({group[i], distances[i],
          fmt::format("measured over forecast is {:+.0f} % away from the middle of its group of {} runs",
              percent_of(residuals[i] - middle), group.size())});
  return found;
}

FoundDoubts uneven_over_micro_batches(const CheckedGroup& group) {
  std::map<std::string, std::map<std::int64_t, const CheckedRun*>> ladders;
  for (const CheckedRun* run : group) ladders[run->sizes].emplace(run->micro_batch, run);
  FoundDoubts found;
  for (const auto& [sizes, ladder] : ladders) {
    for (auto at = ladder.begin(); at != ladder.end(); ++at) {
      if (at == ladder.begin() || std::next(at) == ladder.end()) continue;
      const auto& [below, smaller] = *std::prev(at);
      const auto& [above, larger] = *std::next(at);
      const double share = std::log(static_cast<double>(at->first) / static_cast<double>(below)) /
                           std::log(static_cast<double>(above) / static_cast<double>(below));
      const double line = residual(*smaller) + share * (residual(*larger) - residual(*smaller));
      const double off = residual(*at->second) - line;
      if (std::abs(off) > uneven)
        found.push_back({at->second, std::abs(off),
            fmt::format("{:+.0f} % off what micro-batches of {} and {} say of one of {}", percent_of(off), below, above,
                at->first)});
    }
  }
  return found;
}

struct DoubtCheck {
  FoundDoubts (*find)(const CheckedGroup& group);
  bool by_forecast;
};
constexpr DoubtCheck doubt_checks[] = {{untold, false}, {beyond_roof, false}, {against_own_tokens, false},
    {repeated, false}, {contradicting, true}, {uneven_over_micro_batches, true}};

}  // namespace

std::map<std::string, std::string> doubts_found(const std::vector<CheckedRun>& runs) {
  std::map<std::string, CheckedGroup> groups;
  for (const CheckedRun& run : runs)
    if (run.seconds > 0 && run.forecast_s > 0) groups[run.group].push_back(&run);
  std::map<std::string, std::string> reasons;
  for (const auto& [name, group] : groups) {
    std::size_t left = std::max<std::size_t>(1, group.size() / 10);
    for (const DoubtCheck& check : doubt_checks) {
      FoundDoubts found = check.find(group);
      std::ranges::stable_sort(found, std::greater<>(), &FoundDoubt::distance);
      for (FoundDoubt& one : found) {
        if (check.by_forecast && (left == 0 || reasons.contains(one.run->id))) continue;
        if (reasons.emplace(one.run->id, std::move(one.reason)).second && check.by_forecast) --left;
      }
    }
  }
  return reasons;
}

}  // namespace stepcast::records
