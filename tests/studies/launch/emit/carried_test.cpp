#include "studies/launch/emit/carried.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/megatron_emission.h"

namespace stepcast::launch {
namespace {

using emit_tests::emitted;
using emit_tests::emit_scenario;
using emit_tests::megatron_wishes;
using emit_tests::take_wishes;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const Framework* framework_called(std::string_view id) {
  static Framework frameworks[2];
  Framework& row = frameworks[id == "megatron-lm" ? 0 : 1];
  row.id = id;
  return &row;
}

Launch inherited_launch() {
  Launch launch;
  launch.framework = framework_called("megatron-lm");
  launch.where = "old.sh";
  launch.arguments = {{"tensor_model_parallel_size", "--tensor-model-parallel-size", "8", 3, {}},
      {"save", "--save", "$CHECKPOINTS/run 1", 4, {"CHECKPOINTS"}},
      {"data_path", "--data-path", "0.3 $DATA/a 0.7 b", 5, {"DATA"}}, {"lr", "--lr", "6e-5", 6, {}},
      {"log_interval", "--log-interval", "1", 7, {}}, {"log_interval", "--log-interval", "10", 8, {}},
      {"tokenizer_type", "--tokenizer-type", "GPT2BPETokenizer", 9, {}},
      {"my_own_switch", "--my-own-switch", "true", 10, {}}, {"manual_gc", "--manual-gc", "true", 11, {}},
      {"lr_decay_style", "--lr-decay-style", "it's", 12, {}}};
  launch.environment = {{"NCCL_IB_TIMEOUT", "20"}, {"CUDA_DEVICE_MAX_CONNECTIONS", "8"}, {"GPUS_PER_NODE", "8"}};
  return launch;
}

/// A plan has its bytes alone, and Megatron-LM trains with Adam where nothing names another.
TEST(CarriedArguments, TheOptimizerStaysWhatItWas) {
  Scenario scenario = emit_scenario("llama3-8b");
  ASSERT_TRUE(take_wishes(scenario, megatron_wishes()));
  for (const char* optimizer : {"muon", "dist_muon", "lion", "sgd"}) {
    Launch like;
    like.framework = find_framework("megatron-lm"), like.where = "old.sh";
    like.arguments = {{"optimizer", "--optimizer", optimizer, 3, {}}};
    EXPECT_THAT(emitted(scenario, &like).text, HasSubstr(std::string("\n  --optimizer ") + optimizer + "\n"));
  }
  EXPECT_THAT(emitted(scenario).text, Not(HasSubstr("--optimizer ")));
}

TEST(CarriedArguments, WhatALaunchSaysBesideTheStepIsWrittenAgain) {
  Scenario scenario = emit_scenario("llama3-8b");
  ASSERT_TRUE(take_wishes(scenario, megatron_wishes()));
  const Launch like = inherited_launch();
  const Emission emission = emitted(scenario, &like);
  const std::string& text = emission.text;
  EXPECT_THAT(text, HasSubstr("\n  --save \"$CHECKPOINTS/run 1\"\n"));
  EXPECT_THAT(text, HasSubstr("\n  --data-path 0.3 \"$DATA/a\" 0.7 b\n"));
  EXPECT_THAT(text, HasSubstr("\n  --lr 6e-5\n"));
  EXPECT_THAT(text, HasSubstr("\n  --log-interval 10\n"));
  EXPECT_THAT(text, ContainsRegex("\n  --my-own-switch +# not known of any release\n"));
  EXPECT_THAT(text, HasSubstr("\n  --lr-decay-style 'it'\\''s'\n"));
  EXPECT_THAT(text, HasSubstr("\nexport NCCL_IB_TIMEOUT=20\n"));
  EXPECT_THAT(text, HasSubstr("\n  --tokenizer-type GPT2BPETokenizer\n"));
  EXPECT_THAT(text, HasSubstr("\n# It takes from outside, as old.sh did: $CHECKPOINTS, $DATA.\n"));
  EXPECT_THAT(text, HasSubstr("--padded-vocab-size 128256"));
  EXPECT_THAT(text, HasSubstr("--train-iters 100"));
  for (const char* gone : {"--log-interval 1\n", "MAX_CONNECTIONS=8", "GPUS_PER_NODE", "--mock-data", "NullTokenizer",
           "parallel-size 8", "1e-4"})
    EXPECT_THAT(text, Not(HasSubstr(gone)));
}

TEST(CarriedArguments, WhatTodaysReleaseDoesNotTakeIsLeftOutAndSaid) {
  Scenario scenario = emit_scenario("llama3-8b");
  ASSERT_TRUE(take_wishes(scenario, megatron_wishes()));
  Launch like = inherited_launch();
  std::erase_if(like.arguments, [](const GivenArgument& given) { return given.name == "data_path"; });
  like.arguments.push_back({"data_impl", "--data-impl", "mmap", 13, {}});
  like.arguments.push_back({"data_path", "--data-path", "true", 14, {}});  // DATA_PATH=<where it lies>
  like.arguments.push_back({"vocab_file", "--vocab-file", "$3", 15, {"3"}});
  const std::string text = emitted(scenario, &like).text;
  EXPECT_THAT(text,
      HasSubstr("\n# Left out of old.sh: --data-impl is gone since core 0.4.0; --data-path has no value there.\n"));
  EXPECT_THAT(text, HasSubstr("\n  --mock-data"));
  EXPECT_THAT(text, HasSubstr("\n  --vocab-file \"$3\"\n"));
  for (const char* gone : {"--data-impl mmap", "--data-path true", "NullTokenizer"})
    EXPECT_THAT(text, Not(HasSubstr(gone)));
}

TEST(CarriedArguments, WhatIsNoNameIsNotPutIntoAScript) {
  Scenario scenario = emit_scenario("llama3-8b");
  ASSERT_TRUE(take_wishes(scenario, megatron_wishes()));
  Launch like = inherited_launch();
  for (const char* name : {"--it's", "--a$(date)", "--a;b", "--a)"})
    like.arguments.push_back({argument_name(name), name, "1", 13, {}});
  const std::string text = emitted(scenario, &like).text;
  EXPECT_THAT(text,
      HasSubstr(
          "# Left out of old.sh: --it's is no name; --a$(date) is no name; --a;b is no name; --a) is no name.\n"));
  for (const char* gone : {"  --it's", "  --a$(date)", "  --a;b", "  --a)"}) EXPECT_THAT(text, Not(HasSubstr(gone)));
}

TEST(CarriedArguments, AnotherProgramsArgumentsAreNotMegatrons) {
  Scenario scenario = emit_scenario("llama3-8b");
  ASSERT_TRUE(take_wishes(scenario, megatron_wishes()));
  Launch like = inherited_launch();
  like.framework = framework_called("torchtitan");
  EXPECT_EQ(emitted(scenario, &like).text, emitted(scenario).text);
}

}  // namespace
}  // namespace stepcast::launch
