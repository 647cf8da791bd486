// Tensor parallelism inside experts: what a record says, else what its software does.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "studies/records/built_in_runs.h"
#include "studies/records/run_scenario.h"

namespace stepcast::records {
namespace {

/// "etp:2" of the mapping's mesh of experts.
std::string expert_ways(const Run& run) {
  const auto made = scenario_of(run);
  if (!made) return to_text(made.error());
  const std::string& mapping = made->scenario.plan.mapping;
  const std::size_t at = mapping.find("etp:");
  return at == std::string::npos ? "none" : mapping.substr(at, 5);
}

/// A word of the record comes first; Megatron-LM's default is the tensor parallelism of the layers, recipes say 1.
TEST(RunExpertSplit, IsThatOfTheSoftwareWhereTheRecordIsSilent) {
  const auto runs = built_in_runs();
  ASSERT_TRUE(runs) << to_text(runs.error());
  const auto qwen = std::ranges::find_if(*runs,
      [](const records::Run& run) { return run.id.starts_with("mbridge-26.04-pretrain-qwen3-235b-a22b-dgx-h100"); });
  ASSERT_NE(qwen, runs->end());
  records::Run run = *qwen;
  ASSERT_EQ(run.parallel.tp, 2);
  ASSERT_FALSE(run.parallel.etp);
  EXPECT_EQ(expert_ways(run), "etp:1") << "a recipe of Megatron-Bridge";
  run.software = "Megatron-LM core 0.17";
  EXPECT_EQ(expert_ways(run), "etp:2");
  run.parallel.etp = 1;
  EXPECT_EQ(expert_ways(run), "etp:1");
  run.parallel.etp.reset(), run.software = "a program nobody knows";
  EXPECT_EQ(expert_ways(run), "etp:1") << "taken to follow the recipes";
}

/// 8 GPUs with TP 4 and EP 2 leave no ranks over: DP of the source's tables counts none of EP.
TEST(RunExpertSplit, OfGrokIsThatOfItsTables) {
  const auto runs = built_in_runs();
  ASSERT_TRUE(runs) << to_text(runs.error());
  int seen = 0;
  for (const records::Run& run : *runs) {
    if (!run.id.starts_with("dgxc2411-grok1") && !run.id.starts_with("dgxc2504-grok1")) continue;
    EXPECT_EQ(expert_ways(run), "etp:4") << run.id;
    EXPECT_EQ(run.parallel.dp * run.parallel.cp % run.parallel.ep.value_or(0), 0) << run.id;
    ++seen;
  }
  EXPECT_EQ(seen, 14);
}

}  // namespace
}  // namespace stepcast::records
