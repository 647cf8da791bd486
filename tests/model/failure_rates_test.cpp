// Rates of public fleets: what the catalogue has, and what a file may not say.
#include "model/failure_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::failure_rates_test {
namespace {

using testing::HasSubstr;

double failures_in(const char* id, double nodes, double days) {
  const auto row = find_failure_rates(id, "id");
  if (!row) {
    ADD_FAILURE() << to_text(row.error());
    return 0;
  }
  return ((*row)->per_node_day.value * nodes + (*row)->fixed_per_day.value * fixed_share(**row, nodes)) * days;
}

TEST(FailureRates, FleetsAreWhatTheyPublished) {
  EXPECT_NEAR(failures_in("llama3", 2048, 54), 419, 0.5);        // of 16,384 GPUs in 54 days
  EXPECT_NEAR(failures_in("infinitehbd", 400, 348.98), 584, 3);  // faults of 400 nodes
  EXPECT_NEAR(24 / failures_in("opt-175b", 124, 1), 7.5, 0.05);  // hours between interruptions of 992 GPUs
  EXPECT_NEAR(24 / failures_in("rsc-1", 128, 1), 7.9, 0.05);     // measured on jobs of 1,024 GPUs
  EXPECT_NEAR(1 / failures_in("rsc-1", 1, 1), 47.7, 6);          // days, measured on jobs of 8 GPUs
  EXPECT_NEAR(24 / (2048 * 0.0065), 1.8, 0.01);                  // projected without the fixed part
}

TEST(FailureRates, TheDefaultIsNotFittedToLlama3AndHoldsIt) {
  // 4 per 1,000 node-days x 2,048 nodes x 54 days = 442.4; 2 sigma are 42.
  EXPECT_NEAR(failures_in("default", 2048, 54), 442.4, 0.1);
  EXPECT_LT(442.4 - 419, 2 * 21.03);
}

TEST(FailureRates, SmallerJobsHaveFewerFailuresOnEveryFleet) {
  for (const FailureRates& row : failure_rates())
    for (double nodes = 1; nodes < 64; nodes *= 2)
      EXPECT_NEAR(failures_in(row.id.c_str(), 2 * nodes, 1), 2 * failures_in(row.id.c_str(), nodes, 1), 1e-12)
          << row.id;
}

TEST(FailureRates, EveryRowIsReadAsItIsWritten) {
  EXPECT_GE(failure_rates().size(), 6U);
  for (const FailureRates& row : failure_rates()) {
    const auto again = read_failure_rates(write_failure_rates(row), row.id);
    ASSERT_TRUE(again) << to_text(again.error());
    EXPECT_EQ(write_failure_rates(*again), write_failure_rates(row));
    EXPECT_FALSE(row.source.empty()) << row.id;
  }
}

TEST(FailureRates, WrongFilesAreRefused) {
  const auto refused = [](const std::string& rate, const std::string& mean) {
    const auto row = read_failure_rates(
        R"({"id": "a", "per_node_day": )" + rate +
            R"(, "node_gpus": 8, "taken": 0.5, "repair_median": "2 h", "repair_mean": ")" + mean + "\"}",
        "a.json");
    return row ? std::string() : to_text(row.error());
  };
  EXPECT_EQ(refused(R"({"value": 0.004, "low": 0.002, "high": 0.007})", "3 h"), "");
  EXPECT_THAT(refused(R"({"value": 0.004, "low": 0.005, "high": 0.007})", "3 h"), HasSubstr("do not rise"));
  EXPECT_THAT(refused(R"({"value": 0, "low": 0, "high": 0})", "3 h"), HasSubstr("nothing ever fails"));
  EXPECT_THAT(refused(R"({"value": 0.004, "low": 0.002, "high": 0.007})", "1 h"), HasSubstr("below the median"));
  EXPECT_THAT(find_failure_rates("lama3", "--failures").error().hint, HasSubstr("llama3"));
}

}  // namespace
}  // namespace stepcast::failure_rates_test
