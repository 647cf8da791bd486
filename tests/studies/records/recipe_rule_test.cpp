// Settings of benchmark recipes by container release, GPU, network and precision: the first rule that fits.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/catalog.h"
#include "studies/records/recipe_rule.h"

namespace stepcast::records {
namespace {

Run recipe_run(const std::string& release, const char* gpu, const char* network, const char* precision) {
  Run run;
  run.software = "Megatron-Bridge, NeMo " + release + " container";
  run.hardware.gpu = gpu;
  run.model.name = network;
  run.model.experts = RunExperts{.count = 128, .top_k = 8};
  run.precision = precision;
  return run;
}

struct Followed {
  Stack stack;
  std::vector<std::string> assumptions;
};

Followed follow(const Run& run) {
  Followed followed{**find_row(built_in().stacks, "nemo", "stack"), {}};
  follow_recipe(run, followed.stack, followed.assumptions);
  return followed;
}

/// "tokens", "parts", "overlapped", ...
std::string settings(const Run& run) {
  const Stack stack = follow(run).stack;
  std::string text = stack.expert_dispatch == Dispatch::rows ? "rows" : "tokens";
  text += stack.captured == Capture::step ? " step" : stack.captured == Capture::static_parts ? " parts" : " nothing";
  text += stack.expert_moves == Manners::overlapped ? " overlapped" : " blocking";
  if (stack.narrow_attention) text += " narrow attention";
  if (stack.narrow_head) text += " narrow head";
  return text;
}

TEST(RecipeRule, ReleasesAreInOrder) {  // 26.02 < 26.02.01 < 26.04
  const auto h100 = [](const char* release) {
    return settings(recipe_run(release, "H100-80GB-SXM", "Qwen3-235B-A22B", "fp8"));
  };
  EXPECT_EQ(h100("25.11"), "rows nothing overlapped");
  EXPECT_EQ(h100("26.02"), "rows nothing overlapped");
  EXPECT_EQ(h100("26.02.01"), "tokens nothing overlapped");
  EXPECT_EQ(h100("26.04"), "rows nothing overlapped");
  const auto b300 = [](const char* release) {
    return settings(recipe_run(release, "B300", "Qwen3-235B-A22B", "mxfp8"));
  };
  EXPECT_EQ(b300("26.02"), "rows nothing overlapped");
  EXPECT_EQ(b300("26.02.01"), "tokens nothing blocking");
}

TEST(RecipeRule, UntilIncludesItsRelease) {
  const auto gb300 = [](const char* release) {
    return settings(recipe_run(release, "GB300", "DeepSeek-V3-671B", "mxfp8"));
  };
  EXPECT_EQ(gb300("26.02.01"), "tokens parts blocking");
  EXPECT_EQ(gb300("26.04"), "tokens nothing blocking");
  EXPECT_EQ(gb300("26.04.01"), "tokens nothing blocking");
  EXPECT_EQ(gb300("26.04.02"), "tokens parts blocking");
  EXPECT_EQ(gb300("26.06"), "tokens step overlapped narrow attention narrow head");
}

TEST(RecipeRule, CandidatesOfAReleaseCountAsIt) {
  auto run = recipe_run("", "GB200", "Qwen3-30B-A3B", "mxfp8");
  run.software = "Megatron-Bridge nemo 26.06.rc7";
  EXPECT_EQ(settings(run), "tokens step overlapped narrow attention");
}

TEST(RecipeRule, TheFirstThatFitsDecides) {  // the rows of one network come before those of all
  EXPECT_EQ(settings(recipe_run("26.02", "GB200", "GPT-OSS-120B", "bf16")), "rows nothing blocking");
  EXPECT_EQ(settings(recipe_run("26.02", "GB300", "GPT-OSS-120B", "bf16")), "rows parts blocking");
  EXPECT_EQ(settings(recipe_run("26.02", "GB200", "GPT-OSS-120B", "mxfp8")), "tokens parts blocking");
  EXPECT_EQ(settings(recipe_run("26.04", "GB200", "GPT-OSS-120B", "bf16")), "tokens nothing overlapped");
}

TEST(RecipeRule, WordsAreWholeUpToAHyphen) {
  EXPECT_EQ(settings(recipe_run("26.02", "B200", "Qwen3-30B-A3B", "fp8")), "rows parts blocking");
  EXPECT_EQ(settings(recipe_run("26.02", "GB200", "Qwen3-30B-A3B", "fp8")), "tokens parts blocking")
      << "GB200 is no B200";
  for (const auto& [gpu, network] : {std::pair{"H100", "Qwen3-30"}, {"H1000", "Qwen3-30B"}, {"XH100", "Qwen3-30B"}})
    EXPECT_TRUE(follow(recipe_run("26.04", gpu, network, "bf16")).assumptions.empty()) << gpu << " " << network;
  EXPECT_EQ(follow(recipe_run("26.04", "H100", "Qwen3-30B", "bf16")).assumptions.size(), 1U);
}

TEST(RecipeRule, UnderscoresAreHyphens) {
  const auto of = [](const char* network) { return settings(recipe_run("26.02", "B200", network, "mxfp8")); };
  EXPECT_EQ(of("Nemotron_3_Super"), of("Nemotron-3-Super-120B-A12B"));
  EXPECT_NE(of("Nemotron_3_Super"), of("Nemotron-4-340B"));
}

TEST(RecipeRule, OtherRunsKeepTheStacksOwnWays) {
  const std::string own = write_stack(**find_row(built_in().stacks, "nemo", "stack"));
  std::vector<records::Run> others(4, recipe_run("26.04", "H100", "Qwen3-30B", "bf16"));
  others[0].model.experts.reset();
  others[1].software = "NeMo 26.04";
  others[2].software = "Megatron-Bridge";  // no release
  others[3].software.reset();
  for (const records::Run& run : others) {
    const Followed followed = follow(run);
    EXPECT_EQ(write_stack(followed.stack), own) << run.software.value_or("");
    EXPECT_TRUE(followed.assumptions.empty()) << run.software.value_or("");
  }
}

/// Containers are called after their month, and software that nobody knows is taken to do as its month's.
TEST(RecipeRule, UnknownSoftwareTakesTheMonthForTheRelease) {
  records::Run run = recipe_run("25.11", "GB200", "Qwen3-235B-A22B", "mxfp8");
  run.software = "our own trainer 2";
  for (const char* silent : {"", "2026", "2025-10"}) {
    run.date = silent;
    EXPECT_TRUE(follow(run).assumptions.empty()) << silent;
  }
  run.date = "2026-04";
  EXPECT_EQ(settings(run), settings(recipe_run("26.04", "GB200", "Qwen3-235B-A22B", "mxfp8")));
  EXPECT_EQ(settings(run), "tokens parts blocking");
  run.parallel.zero_stage = 3;
  EXPECT_TRUE(follow(run).assumptions.empty()) << "FSDP is not those recipes' way";
}

TEST(RecipeRule, SetsNothingElse) {
  for (const char* release : {"25.11", "26.02", "26.04", "26.06"}) {
    const Followed followed = follow(recipe_run(release, "GB300", "DeepSeek-V3-671B", "mxfp8"));
    nlohmann::json after = nlohmann::json::parse(write_stack(followed.stack));
    nlohmann::json before = nlohmann::json::parse(write_stack(**find_row(built_in().stacks, "nemo", "stack")));
    const bool whole = after["captured"] == "step";
    EXPECT_EQ(after["calls_per_expert"] == 0, whole) << release;
    for (const char* key :
        {"expert_dispatch", "captured", "expert_moves", "narrow_attention", "narrow_head", "calls_per_expert"})
      before.erase(key), after.erase(key);
    EXPECT_EQ(after, before) << release;
    ASSERT_EQ(followed.assumptions.size(), 1U);
    EXPECT_NE(followed.assumptions[0].find(whole ? "the step in CUDA graphs" : "in CUDA graphs"), std::string::npos);
  }
}

}  // namespace
}  // namespace stepcast::records
