// examples/two-cards: its closed forms hold in the engine over a grid of times, its forecasts are what predict says.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::studies {
namespace {

using TwoCardsJson = nlohmann::json;
const std::string two_cards = std::string(STEPCAST_SOURCE_DIR) + "/examples/two-cards/";

/// Time beyond the work of one rank, m (F + I + W), on two ranks; two chunks, slices or copies where the kind has them.
struct ClosedForm {
  const char* kinds;
  std::function<double(double f, double i, double w)> excess;
};

double waits_for_input_gradient(double f, double i, double w) { return std::max({f, i, f + i - w}); }

const ClosedForm closed_forms[] = {
    {"gpipe 1f1b eager-1f1b", [](double f, double i, double w) { return f + i + w; }},
    {"interleaved-1f1b interleaved-flex looped-bfs seq-1f1b terapipe",
        [](double f, double i, double w) { return (f + i + w) / 2; }},
    {"zb-h1 zb-1p", waits_for_input_gradient},
    {"interleaved-zb", [](double f, double i, double w) { return waits_for_input_gradient(f, i, w) / 2; }},
    {"zb-2p zb-auto", [](double f, double, double) { return f; }},
    {"zb-v-auto", [](double f, double i, double) { return std::max(f, i) / 2; }},
    {"zb-v",
        [](double f, double i, double w) {
          return std::max({f / 2, i / 2, i - w});
        }},
    {"v-1f1b", [](double, double i, double w) { return i + w; }},
    {"dualpipe chimera", [](double, double, double) { return 0.0; }},
};

std::map<std::string, double> excess_of_kinds(double f, double i, double w, int micro_batches) {
  const auto ran = testing_program::run_line(
      fmt::format("schedule --compare --json --stages 2 --micro-batches {} --forward {} --input-grad {} "
                  "--weight-grad {}",
          micro_batches, f, i, w));
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::map<std::string, double> excess;
  const TwoCardsJson compared = TwoCardsJson::parse(ran.out);
  for (const TwoCardsJson& row : compared.at("schedules"))
    excess[row.at("schedule")] = row.at("makespan").get<double>() - micro_batches * (f + i + w);
  return excess;
}

TEST(TwoCards, ClosedFormsHoldInTheEngine) {
  int compared = 0;
  for (const double f : {2., 3., 4.})
    for (const double i : {2., 3., 4., 5.})
      for (const double w : {2., 3., 4.})
        for (const int micro_batches : {4, 6, 16}) {
          const auto excess = excess_of_kinds(f, i, w, micro_batches);
          for (const ClosedForm& form : closed_forms) {
            std::istringstream kinds(form.kinds);
            for (std::string kind; kinds >> kind; ++compared) {
              ASSERT_TRUE(excess.contains(kind)) << kind;
              EXPECT_NEAR(excess.at(kind), form.excess(f, i, w), 1e-9)
                  << kind << " " << f << " " << i << " " << w << ", " << micro_batches;
            }
          }
        }
  EXPECT_EQ(compared, 3 * 4 * 3 * 3 * 18);
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',') {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

TEST(TwoCards, ForecastsAreWhatPredictSays) {
  std::ifstream file(two_cards + "forecasts.csv");
  std::string line;
  ASSERT_TRUE(std::getline(file, line)) << "no forecasts.csv";
  ASSERT_TRUE(line.starts_with("network,plan,sequences,flags,step_s,")) << line;
  int compared = 0;
  while (std::getline(file, line)) {
    const auto cells = cells_of(line);
    if (cells[4].empty()) continue;  // refused when the table was made
    const auto ran = testing_program::run_line(
        fmt::format("predict {}{}.json {} --global-batch {} --json", two_cards, cells[0], cells[3], cells[2]));
    ASSERT_EQ(ran.code, 0) << line << "\n" << ran.err;
    const double step = TwoCardsJson::parse(ran.out).at("step_time_s");
    EXPECT_NEAR(std::stod(cells[4]) / step, 1, 1e-4) << line << ": run examples/two-cards/run.sh";
    ++compared;
  }
  EXPECT_GE(compared, 150);
}

}  // namespace
}  // namespace stepcast::studies
