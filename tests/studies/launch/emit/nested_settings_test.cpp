#include "studies/launch/emit/nested_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "calibrate/import/config/config_text.h"
#include "studies/launch/emit/emit.h"
#include "tests/studies/launch/emit/emit_fixtures.h"

namespace stepcast::launch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// A file of a framework as a launch.
Launch launch_of_file(const Framework& framework, const std::string& text, const std::string& where) {
  Launch launch;
  launch.framework = &framework;
  launch.where = where;
  auto read = read_config_arguments(text, where);
  EXPECT_TRUE(read) << to_text(read.error());
  if (read) launch.arguments = std::move(*read);
  return launch;
}
constexpr Framework file_of_deepspeed{.id = "deepspeed"}, file_of_accelerate{.id = "accelerate"};

TEST(NestedSettings, SectionsStandWhereTheirFirstSettingDoes) {
  EXPECT_EQ(nested_json({{"a.b", "1"}, {"c", "\"x\""}, {"a.d.e", "true"}}), R"({
  "a": {
    "b": 1,
    "d": {
      "e": true
    }
  },
  "c": "x"
}
)");
}

TEST(NestedSettings, LiteralsAreWhatTheyLookLike) {
  const std::pair<const char*, const char*> rows[] = {{"2", "2"}, {"1e-8", "1e-8"}, {"true", "true"}, {"null", "null"},
      {"auto", "\"auto\""}, {"", "\"\""}, {"[0.9, 0.95]", "[0.9, 0.95]"},
      {"[attention.self, mlp]", "[\"attention.self\", \"mlp\"]"}, {"1, \"x\": 2", "\"1, \\\"x\\\": 2\""},
      {"1}", "\"1}\""}};
  for (const auto& [plain, literal] : rows) EXPECT_EQ(json_literal(plain), literal);
}

constexpr const char* fine_tuning = R"({
  "train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 3, "reduce_bucket_size": 5e7, "offload_optimizer": {"device": "cpu"}},
  "optimizer": {"type": "AdamW", "params": {"lr": 3e-5, "betas": [0.9, 0.95]}}, "gradient_clipping": 0.3, "fp16": {"enabled": true}, "steps_per_print": 50})";

nlohmann::json written_like(const std::string& text) {
  Scenario scenario = emit_tests::emit_scenario("llama3-8b", "deepspeed-zero");
  SplitWishes wishes;
  wishes.gpus = 8, wishes.zero = 2, wishes.global_batch = 16, wishes.sequence = 8192;
  EXPECT_TRUE(emit_tests::take_wishes(scenario, wishes));
  auto plan = plan_to_emit(scenario);
  EXPECT_TRUE(plan);
  const Launch like = launch_of_file(file_of_deepspeed, text, "old.json");
  plan->like = &like;
  return nlohmann::json::parse(emit_deepspeed(*plan).text);
}

TEST(NestedSettings, WhatIsBesideTheStepIsWrittenAgainAndThePlanGoesBefore) {
  const nlohmann::json file = written_like(fine_tuning);
  EXPECT_EQ(
      file["optimizer"], nlohmann::json::parse(R"({"type": "AdamW", "params": {"lr": 3e-5, "betas": [0.9, 0.95]}})"));
  EXPECT_EQ(file["gradient_clipping"], 0.3);
  EXPECT_EQ(file["steps_per_print"], 50);
  EXPECT_EQ(file["zero_optimization"]["stage"], 2);
  EXPECT_EQ(file["train_micro_batch_size_per_gpu"], 1);
  EXPECT_FALSE(file.contains("fp16"));
}

TEST(NestedSettings, WhatNoForecastFollowsIsNamed) {
  const nlohmann::json file = written_like(fine_tuning);
  EXPECT_EQ(file["zero_optimization"]["offload_optimizer"]["device"], "cpu");
  EXPECT_THAT(file["_comment"].get<std::vector<std::string>>(),
      Contains("No forecast follows zero_optimization.offload_optimizer.device."));
}

TEST(NestedSettings, ListsOfObjectsAndOtherFrameworksAreLeftOut) {
  const std::string text =
      R"({"tensor_parallel": {"partition_config": {"layer_specs": [{"partition_type": "row"}]}}, "dump_state": true})";
  const Launch launch = launch_of_file(file_of_deepspeed, text, "old.json");
  const auto carried = carried_settings(&launch, "deepspeed", {});
  ASSERT_EQ(carried.size(), 1u);
  EXPECT_EQ(carried.front().name, "dump_state");
  EXPECT_TRUE(carried_settings(&launch, "accelerate", {}).empty());
  EXPECT_TRUE(carried_settings(&launch, "deepspeed", {"dump_state"}).empty());
  EXPECT_TRUE(carried_settings(nullptr, "deepspeed", {}).empty());
}

TEST(NestedSettings, AnAccelerateFileKeepsWhatItsEngineStillTakes) {
  Scenario scenario = emit_tests::emit_scenario("llama3-8b", "pytorch-fsdp");
  SplitWishes wishes;
  wishes.gpus = 16, wishes.zero = 3, wishes.global_batch = 16, wishes.sequence = 8192;
  ASSERT_TRUE(emit_tests::take_wishes(scenario, wishes));
  auto plan = plan_to_emit(scenario);
  ASSERT_TRUE(plan);
  const Launch like = launch_of_file(file_of_accelerate,
      "distributed_type: FSDP\nmain_process_ip: node-0\nrdzv_backend: c10d\nfsdp_config:\n  fsdp_version: 2\n"
      "  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer\n  fsdp_offload_params: true\n"
      "deepspeed_config:\n  gradient_clipping: 0.5\n",
      "old.yaml");
  plan->like = &like;
  const std::string text = emit_accelerate(*plan).text;
  EXPECT_THAT(text, HasSubstr("main_process_ip: \"node-0\"\n"));
  EXPECT_THAT(text, HasSubstr("rdzv_backend: \"c10d\"\n"));
  EXPECT_THAT(text, HasSubstr("  fsdp_transformer_layer_cls_to_wrap: \"LlamaDecoderLayer\"\n"));
  EXPECT_THAT(text, testing::ContainsRegex("fsdp_offload_params: true +# no forecast follows it"));
  EXPECT_THAT(text, Not(HasSubstr("gradient_clipping")));
  EXPECT_THAT(text, Not(HasSubstr("127.0.0.1")));
}

}  // namespace
}  // namespace stepcast::launch
