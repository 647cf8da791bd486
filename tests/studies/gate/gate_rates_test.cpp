// How often a gate is right on simulated histories, beside a fixed threshold and a t-test: 10,000 pairs of checks of 10
// runs each, with noise of 1 %, Gaussian or with one run in twenty 10 % slower. The table is that of docs/gates.md.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "studies/gate/change_points.h"
#include "studies/gate/judge.h"
#include "tests/studies/gate/simulated_runs.h"

namespace stepcast::gate {
namespace {

constexpr int histories = 10'000;
constexpr std::size_t repeats = 10;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}
/// Of the mean.
double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size() - 1) / static_cast<double>(values.size());
}

/// Student's t by the expansion in 1 / n (Abramowitz and Stegun 26.7.5).
double student_quantile(double p, double n) {
  const double z = normal_quantile(p), z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

/// Welch's test with false alarms of 1 %.
bool slower_by_t(const std::vector<double>& before, const std::vector<double>& now) {
  const double a = variance_of(before), b = variance_of(now), n = static_cast<double>(repeats - 1);
  const double freedom = (a + b) * (a + b) / (a * a / n + b * b / n);
  return mean_of(now) - mean_of(before) > student_quantile(0.99, freedom) * std::sqrt(a + b);
}
/// What most scripts do.
bool slower_by_threshold(const std::vector<double>& before, const std::vector<double>& now) {
  return mean_of(now) - mean_of(before) > std::log(1.02);
}

struct FoundRates {
  double gate = 0, equal = 0, student = 0, threshold = 0;
};

FoundRates found(double outliers, double slower) {
  SimulatedRuns noise(20261126, 0.01, outliers);
  FoundRates rates;
  for (int i = 0; i < histories; ++i) {
    const auto before = noise.runs(repeats), now = noise.runs(repeats, std::log1p(slower));
    const Finding finding = judge(before, now, {0, 0.0}, {}).finding;
    rates.gate += finding == Finding::slower ? 1 : 0;
    rates.equal += finding == Finding::equal ? 1 : 0;
    rates.student += slower_by_t(before, now) ? 1 : 0;
    rates.threshold += slower_by_threshold(before, now) ? 1 : 0;
  }
  for (double* rate : {&rates.gate, &rates.equal, &rates.student, &rates.threshold}) *rate /= histories;
  return rates;
}

std::string page() {
  std::ifstream file(std::string(STEPCAST_SOURCE_DIR) + "/docs/gates.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A row of the page's table.
void expect_row(const char* noise, const char* change, const FoundRates& rates) {
  const std::string row = fmt::format("| {} | {} | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % |", noise, change,
      100 * rates.gate, 100 * rates.equal, 100 * rates.student, 100 * rates.threshold);
  EXPECT_NE(page().find(row), std::string::npos) << "docs/gates.md lacks\n" << row;
}

TEST(GateRatesHold, OfGaussianNoise) {
  const FoundRates none = found(0, 0), some = found(0, 0.025), much = found(0, 0.05);
  EXPECT_LT(none.gate, 0.01);
  EXPECT_GT(some.gate, 0.95);
  EXPECT_LT(some.equal, 0.05);
  EXPECT_GT(much.gate, 0.999);
  EXPECT_NEAR(none.student, 0.01, 0.003) << "the t-test that it is held against is right";
  expect_row("Gaussian", "none", none);
  expect_row("Gaussian", "2.5 %", some);
  expect_row("Gaussian", "5 %", much);
}

TEST(GateRatesHold, OfNoiseWithOutliers) {
  const FoundRates none = found(0.05, 0), some = found(0.05, 0.025), much = found(0.05, 0.05);
  EXPECT_LT(none.gate, 0.01);
  EXPECT_GT(much.gate, 0.95);
  EXPECT_LT(some.equal, 0.05);
  EXPECT_GT(some.gate, some.student);
  expect_row("one run in twenty 10 % slower", "none", none);
  expect_row("one run in twenty 10 % slower", "2.5 %", some);
  expect_row("one run in twenty 10 % slower", "5 %", much);
}

/// Of histories with `per_check` runs in each check: false changes of any kind, and 5 % found.
struct ChangeRates {
  double wrong = 0;    ///< histories without a change that show one
  double placed = 0;   ///< change in the middle: found within two checks of where it is
  double at_once = 0;  ///< change two checks ago: found
};

ChangeRates changes_found(double outliers, std::size_t checks, std::size_t per_check, int trials) {
  SimulatedRuns noise(7, 0.01, outliers);
  const auto history = [&](std::size_t from) {
    std::vector<double> values;
    for (std::size_t i = 0; i < checks; ++i) {
      auto runs = noise.runs(per_check, i < from ? 0 : std::log(1.05));
      std::sort(runs.begin(), runs.end());
      values.push_back((runs[(per_check - 1) / 2] + runs[per_check / 2]) / 2);
    }
    return values;
  };
  const auto near = [](const std::vector<ChangePoint>& points, std::size_t at) {
    return std::any_of(points.begin(), points.end(),
        [&](const ChangePoint& point) { return point.at + 2 >= at && point.at <= at + 2 && point.change > 0.025; });
  };
  ChangeRates rates;
  for (int i = 0; i < histories; ++i) rates.wrong += change_points(history(checks)).empty() ? 0 : 1;
  for (int i = 0; i < trials; ++i) {
    rates.placed += near(change_points(history(checks / 2)), checks / 2) ? 1 : 0;
    rates.at_once += near(change_points(history(checks - 2)), checks - 2) ? 1 : 0;
  }
  return {rates.wrong / histories, rates.placed / trials, rates.at_once / trials};
}

void expect_change_row(const char* noise, std::size_t checks, std::size_t per_check, const ChangeRates& rates) {
  const std::string row = fmt::format("| {} | {} | {} | {:.1f} % | {:.1f} % | {:.1f} % |", noise, checks, per_check,
      100 * rates.wrong, 100 * rates.placed, 100 * rates.at_once);
  EXPECT_NE(page().find(row), std::string::npos) << "docs/gates.md lacks\n" << row;
}

TEST(GateRatesHold, OfChangePoints) {
  for (const std::size_t checks : {16U, 30U, 100U})
    for (const std::size_t per_check : {1U, 5U})
      for (const double outliers : {0.0, 0.05}) {
        const ChangeRates rates = changes_found(outliers, checks, per_check, 2000);
        EXPECT_LT(rates.wrong, 0.01) << checks << " " << per_check << " " << outliers;
        const bool long_enough = checks >= 30;
        EXPECT_GT(rates.placed, long_enough ? 0.95 : 0.85) << checks << " " << per_check << " " << outliers;
        EXPECT_GT(rates.at_once, per_check > 1 || long_enough ? 0.94 : 0.88) << checks << " " << outliers;
        expect_change_row(outliers > 0 ? "with outliers" : "Gaussian", checks, per_check, rates);
      }
}

}  // namespace
}  // namespace stepcast::gate
