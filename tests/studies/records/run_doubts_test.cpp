// Measured runs that speak against themselves are no witnesses of a fit.
#include "studies/records/run_doubts.h"

#include <gtest/gtest.h>

#include "studies/records/built_in_runs.h"
#include "studies/records/run_scenario.h"

namespace stepcast::records {
namespace {

/// Korthikanti's four runs of two models under other ids.
std::vector<Run> strangers_records() {
  auto records = *built_in_runs();
  std::erase_if(records, [](const Run& run) { return !run.id.starts_with("korthikanti22-22B"); });
  for (Run& run : records) run.id = "own-" + run.id;
  return records;
}

TEST(RunDoubts, AMeasuredTimeThatItsTokensDenyTeachesNothing) {
  auto records = strangers_records();
  ASSERT_GE(records.size(), 2U);
  records[0].measured.tokens_per_s_per_gpu = static_cast<double>(records[0].global_batch) * 2048 /
                                             static_cast<double>(records[0].parallel.gpus) /
                                             (2 * *records[0].measured.step_time_s);  // half as fast as it says
  auto runs = measured_runs(records);
  ASSERT_EQ(runs.size(), records.size());
  const auto reasons = find_doubts(runs, records);
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_NE(reasons.at(records[0].id).find("its tokens per second mean"), std::string::npos);
  for (const MeasuredRun& run : runs) EXPECT_EQ(run.witness, run.id != records[0].id) << run.id;
  EXPECT_TRUE(find_doubts(runs, records).empty()) << "once is enough";
}

TEST(RunDoubts, OneOfAGroupThatContradictsTheOthersIsNamed) {
  auto records = strangers_records();
  records.resize(1);
  for (const double times : {1.01, 0.99, 1.02, 1.6}) {
    records.push_back(records.front());
    records.back().id += std::to_string(records.size());
    records.back().measured.step_time_s = times * *records.front().measured.step_time_s;
    records.back().measured.tokens_per_s_per_gpu.reset();
  }
  auto runs = measured_runs(records);
  const auto reasons = find_doubts(runs, records);
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_TRUE(reasons.contains(records.back().id));
}

TEST(RunDoubts, StepsUnderAProfilerAreAKindOfTheirOwn) {
  auto records = strangers_records();
  const auto scenario = scenario_of(records.front())->scenario;
  EXPECT_EQ(kind_of(records.front(), scenario), "dense");
  records.front().kind = "profiled";
  EXPECT_EQ(kind_of(records.front(), scenario), "profiled");
}

/// The carried record of this id.
Run carried_record(std::string_view id) {
  const auto runs = *built_in_runs();
  for (const records::Run& run : runs)
    if (run.id == id) return run;
  ADD_FAILURE() << id;
  return {};
}

TEST(RunDoubts, EncodersAndImagesAreKindsOfTheirOwnAndTeachNoDecoder) {
  const records::Run bert = carried_record("dle-bert-large-a100-8gpu-seq128");
  const records::Run video = carried_record("mbridge-wan2.1-14b-b200-32gpu");
  EXPECT_EQ(kind_of(bert, scenario_of(bert)->scenario), "encoder");
  EXPECT_EQ(kind_of(video, scenario_of(video)->scenario), "images");
  EXPECT_FALSE(measured_run(bert)->witness);
  EXPECT_FALSE(measured_run(video)->witness);
}

TEST(RunDoubts, ExpertsWhoseSplitIsNotStatedAreDoubtful) {
  records::Run run = carried_record("automodel-h100-bf16-gpt-oss-120b-64");
  const auto untold = [&] { return checked_run(run, scenario_of(run)->scenario, 1).untold; };
  EXPECT_EQ(untold(), "");
  run.parallel.ep.reset();
  EXPECT_EQ(untold(), "over how many ranks its experts are split (parallel/ep)");
  run = strangers_records().front();  // without experts
  run.parallel.ep.reset();
  EXPECT_EQ(untold(), "");
}

}  // namespace
}  // namespace stepcast::records
