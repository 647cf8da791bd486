// "auto" of DeepSpeed's files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/given_launch.h"

namespace stepcast::launch {
namespace {

using given_launches::given_launch;
using given_launches::GivenValues;
using given_launches::said;
using testing::HasSubstr;

/// As Hugging Face's examples have it, over GPT-2 on 8 GPUs.
Expected<LaunchReading> trainer_reading(const GivenValues& more, std::set<FieldId> told = {}) {
  GivenValues values = {{"zero_optimization.stage", "2"}, {"bf16.enabled", "auto"}, {"train_batch_size", "auto"},
      {"train_micro_batch_size_per_gpu", "auto"}, {"gradient_accumulation_steps", "auto"},
      {"gradient_clipping", "auto"}, {"zero_optimization.reduce_bucket_size", "auto"}};
  values.insert(values.end(), more.begin(), more.end());
  LaunchHints hints;
  hints.network = *choose_network("gpt2-1.5b", "");
  hints.told = std::move(told);
  return read_meaning(given_launch("deepspeed", values, 8), hints);
}

TEST(LeftOpen, AutoIsAskedForAllAtOnce) {
  const auto refused = trainer_reading({});
  ASSERT_FALSE(refused);
  for (const char* key :
      {"bf16.enabled", "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"})
    EXPECT_THAT(refused.error().what, HasSubstr(key));
  for (const char* key : {"gradient_clipping", "reduce_bucket_size"})
    EXPECT_THAT(refused.error().what, testing::Not(HasSubstr(key)));
  for (const char* flag : {"--precision bf16", "--micro-batch N", "--global-batch N"})
    EXPECT_THAT(refused.error().hint, HasSubstr(flag));
}

TEST(LeftOpen, TheTrainersArgumentsTellIt) {
  const auto reading =
      trainer_reading({{"bf16", "true"}, {"per_device_train_batch_size", "4"}, {"gradient_accumulation_steps", "2"}});
  ASSERT_TRUE(reading) << to_text(reading.error());
  EXPECT_EQ(said(*reading, "precision"), "bf16");
  EXPECT_EQ(said(*reading, "micro_batch"), "4");
}

TEST(LeftOpen, FlagsTellIt) {
  EXPECT_TRUE(trainer_reading({}, {FieldId::precision, FieldId::micro_batch, FieldId::global_batch}));
  const auto batch = trainer_reading({}, {FieldId::precision});
  ASSERT_FALSE(batch);
  EXPECT_THAT(batch.error().what, testing::Not(HasSubstr("bf16")));
}

}  // namespace
}  // namespace stepcast::launch
