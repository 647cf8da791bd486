// Iterations of networks whose layers differ, in the order of their layers.
#include "studies/compare/iteration_forecast.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "studies/compare/compare.h"

namespace stepcast::comparison::iteration_forecast_test {
namespace {

IterationForecast forecast_of(const std::vector<std::string>& words) {
  const auto arguments = parse_arguments(compare_flags(), 1, 1, "stepcast compare", words);
  if (!arguments) return ADD_FAILURE() << to_text(arguments.error()), IterationForecast{};
  auto made = iteration_forecast(*arguments);
  if (!made) return ADD_FAILURE() << to_text(made.error()), IterationForecast{};
  double sum = 0;
  for (const SplitRow& row : made->split.rows) sum += row.seconds;
  EXPECT_NEAR(sum, made->split.seconds, 1e-9) << "every second is in one row";
  return *std::move(made);
}

std::ptrdiff_t count_of(const IterationForecast& made, std::string_view part) {
  return std::ranges::count_if(
      made.split.products, [&](const SplitProduct& one) { return one.name.find(part) != std::string::npos; });
}
std::ptrdiff_t first_of(const IterationForecast& made, std::string_view part) {
  return std::ranges::find_if(made.split.products, [&](const SplitProduct& one) {
    return one.name.find(part) != std::string::npos;
  }) - made.split.products.begin();
}

/// DeepSeek-V2-Lite: one dense layer, then 26 of experts.
TEST(IterationForecasts, DenseLayersStandInFrontOfExperts) {
  const IterationForecast made = forecast_of({"deepseek-v2-lite", "--machine", "dgx-h100", "--prompt", "512"});
  EXPECT_EQ(count_of(made, "mlp.down"), 1);
  EXPECT_EQ(count_of(made, "expert.down"), 26);
  EXPECT_LT(first_of(made, "mlp.down"), first_of(made, "expert.down"));
  EXPECT_TRUE(std::ranges::all_of(made.split.products, [](const SplitProduct& one) { return one.flops > 0; }));
}

/// Nemotron-H 8B: 24 layers of a scan, 4 of attention, 24 of an MLP, by turns.
TEST(IterationForecasts, LayersOfAHybridStandByTurns) {
  const IterationForecast made = forecast_of({"nemotron-h-8b", "--machine", "dgx-h100", "--prompt", "512"});
  EXPECT_EQ(count_of(made, "mlp.down"), 24);
  std::vector<std::ptrdiff_t> scans, attentions;
  for (std::size_t i = 0; i < made.trace.events.size(); ++i) {
    if (made.trace.events[i].kind == WorkKind::scan) scans.push_back(static_cast<std::ptrdiff_t>(i));
    if (made.trace.events[i].kind == WorkKind::attention) attentions.push_back(static_cast<std::ptrdiff_t>(i));
  }
  ASSERT_EQ(attentions.size(), 4U);
  EXPECT_LT(scans.front(), attentions.front());
  EXPECT_GT(scans.back(), attentions.back());
}

}  // namespace
}  // namespace stepcast::comparison::iteration_forecast_test
