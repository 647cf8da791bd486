// Which stack a record ran on: by the words of its software, its month and, for one software, its id.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/catalog.h"
#include "studies/records/stack_rule.h"

namespace stepcast::records {
namespace {

Run dated(const char* software, const char* date, const char* id = "x") {
  Run run;
  run.id = id;
  run.software = *software ? MaybeText(software) : std::nullopt;
  run.date = date;
  return run;
}

std::string stack_on(const char* software, const char* date, const char* id = "x") {
  return stack_of(dated(software, date, id)).id;
}

TEST(StackRule, FollowsSoftwareAndDate) {
  EXPECT_EQ(stack_on("Megatron-LM", "2021-04"), "megatron-2020");
  EXPECT_EQ(stack_on("Megatron-LM", "2022-04"), "megatron-2020");
  EXPECT_EQ(stack_on("Megatron-LM", "2022-05"), "megatron-2022");
  EXPECT_EQ(stack_on("Megatron-LM", "2023-06"), "megatron-2022");
  EXPECT_EQ(stack_on("Megatron-LM 23e00ed0", "2023-07"), "megatron-core");
  EXPECT_EQ(stack_on("Megatron-DeepSpeed", "2022-01"), "megatron-deepspeed");
  EXPECT_EQ(stack_on("Megatron-DeepSpeed", "2022-02"), "megatron-deepspeed-2022");
  EXPECT_EQ(stack_on("Megatron-DeepSpeed", "2022-12"), "megatron-deepspeed-2022");
  EXPECT_EQ(stack_on("Megatron-DeepSpeed", "2023-01"), "megatron-deepspeed");
  EXPECT_EQ(stack_on("NeMo AutoModel (PyTorch FSDP2)", "2026-02"), "pytorch-fsdp");
  EXPECT_EQ(stack_on("NeMo 24.11", "2024-11"), "nemo");
  EXPECT_EQ(stack_on("Megatron-Bridge, NeMo 26.02 container", "2026-02"), "nemo");
}

TEST(StackRule, WithoutKnownSoftwareTheMonthDecidesAndItIsAGuess) {
  EXPECT_FALSE(stack_of(dated("NeMo 24.11", "2024-11")).guessed);
  EXPECT_TRUE(stack_of(dated("", "2022-05")).guessed);
  EXPECT_TRUE(stack_of(dated("MindSpore", "2022-05")).guessed);
  EXPECT_EQ(stack_on("", "2022-04"), "megatron-2020");
  EXPECT_EQ(stack_on("", "2022-05"), "megatron-2022");
  EXPECT_EQ(stack_on("", "2023-07"), "megatron-core");
  EXPECT_EQ(stack_on("", ""), "megatron-core") << "no month comes before any";
}

/// Weights in shards over the data ranks are FSDP's: of the first generation, then of the second run eagerly, then
/// compiled.
TEST(StackRule, WithoutKnownSoftwareShardedWeightsAreOfTheFsdpOfTheirMonth) {
  const auto sharded_in = [](const char* month) {
    records::Run run = dated("", month);
    run.parallel.zero_stage = 3;
    return stack_of(run).id;
  };
  EXPECT_EQ(sharded_in("2023-07"), "llm-foundry");
  EXPECT_EQ(sharded_in("2024-05"), "llm-foundry");
  EXPECT_EQ(sharded_in("2024-06"), "pytorch-fsdp-eager");
  EXPECT_EQ(sharded_in("2024-12"), "pytorch-fsdp");
  EXPECT_EQ(sharded_in(""), "pytorch-fsdp") << "no month comes before any";
}

/// Whatever stands in the software's place; a named software stays what it is.
TEST(StackRule, WithoutKnownSoftwareShardedWeightsAreOfFsdp) {
  for (const char* software : {"", "MindSpore"}) {
    records::Run run = dated(software, "2025-01");
    run.parallel.zero_stage = 3;
    EXPECT_EQ(stack_of(run).id, "pytorch-fsdp") << software;
    EXPECT_TRUE(stack_of(run).guessed) << software;
    run.parallel.zero_stage = 2;
    EXPECT_EQ(stack_of(run).id, "megatron-core") << software;
  }
  records::Run known = dated("NeMo 25.04", "2025-04");
  known.parallel.zero_stage = 3;
  EXPECT_EQ(stack_of(known).id, "nemo");
}

TEST(StackRule, WithoutKnownSoftwareFp16IsOfMegatronDeepSpeed) {  // since Megatron-LM itself trains in bf16
  const auto stack_in = [](const char* precision, const char* date) {
    records::Run run = dated("", date);
    run.precision = precision;
    return stack_of(run).id;
  };
  EXPECT_EQ(stack_in("fp16", "2023-11"), "megatron-deepspeed");
  EXPECT_EQ(stack_in("bf16", "2023-11"), "megatron-core");
  EXPECT_EQ(stack_in("fp16", "2022-04"), "megatron-2020");
}

/// Transformer Engine's types: the records in them are of NeMo. Experts, hybrids and weights in shards are others'
/// rows.
TEST(StackRule, WithoutKnownSoftwareNarrowTypesAreOfNemo) {
  for (const char* precision : {"fp8", "mxfp8", "nvfp4"}) {
    records::Run run = dated("", "2023-06");
    run.precision = precision;
    EXPECT_EQ(stack_of(run).id, "nemo") << precision;
    EXPECT_TRUE(stack_of(run).guessed) << precision;
    records::Run hybrid = run, routed = run, sharded = run;
    hybrid.model.attention = "hybrid", routed.model.experts.emplace(), sharded.parallel.zero_stage = 3;
    for (records::Run* other : {&hybrid, &routed, &sharded}) {
      other->date = "2025-01";
      EXPECT_NE(stack_of(*other).id, "nemo") << precision;
    }
  }
}

TEST(StackRule, TorchtitanRanEagerlyUntilItsBenchmarksSayOtherwise) {
  EXPECT_EQ(stack_on("torchtitan (FSDP2)", "2024-11"), "pytorch-fsdp-eager");
  EXPECT_EQ(stack_on("torchtitan (FSDP2)", "2024-12"), "pytorch-fsdp");
  EXPECT_EQ(stack_on("torchtitan (FSDP2)", "2024-12", "llama3-8b-eager"), "pytorch-fsdp-eager");
  EXPECT_EQ(stack_on("torchtitan (FSDP2)", ""), "pytorch-fsdp");
}

TEST(StackRule, NoOtherSoftwareGoesById) {
  for (const char* software : {"NeMo", "Megatron-LM", "Megatron-DeepSpeed", "DeepSpeed", "llm-foundry", "MaxText", ""})
    EXPECT_EQ(stack_on(software, "2024-12", "torchtitan-llm-foundry-eager"), stack_on(software, "2024-12")) << software;
}

TEST(StackRule, EveryRowNamesAStackOfTheCatalogueWithinItsMonths) {
  for (const StackRule& rule : stack_rules()) {
    const auto stack = find_row(built_in().stacks, std::string(rule.stack), "stack");
    ASSERT_TRUE(stack.has_value()) << rule.stack;
    EXPECT_EQ((*stack)->id, rule.stack) << "habits and fits go by id, not by alias";
    EXPECT_TRUE(rule.until.empty() || (*stack)->from < rule.until) << rule.stack << " begins later than its rule ends";
  }
}

/// The month before "2022-05" is "2022-04"; behind no end, any.
std::string last_month(const std::string& until) {
  if (until.empty()) return "2030-01";
  const int months = 12 * std::stoi(until.substr(0, 4)) + std::stoi(until.substr(5)) - 2;
  return fmt::format("{}-{:02}", months / 12, months % 12 + 1);
}

TEST(StackRule, EveryRowDecidesForSomeRecord) {  // no row before it takes all that it names
  for (const StackRule& rule : stack_rules()) {
    const std::string software(rule.software), id = "x" + std::string(rule.id),
                                               month = last_month(std::string(rule.until));
    records::Run run = dated(software.c_str(), month.c_str(), id.c_str());
    if (rule.sharded) run.parallel.zero_stage = 3;
    if (!rule.precision.empty()) run.precision = std::string(rule.precision);
    EXPECT_EQ(stack_of(run).id, rule.stack) << software << " in " << month;
  }
}

}  // namespace
}  // namespace stepcast::records
