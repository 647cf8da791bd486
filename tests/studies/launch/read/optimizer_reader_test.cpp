#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/given_launch.h"

namespace stepcast::launch {
namespace {

using given_launches::given_launch;
using given_launches::megatron_reading;
using given_launches::with_gpt;
using testing::HasSubstr;

TEST(OptimizerOfALaunch, ItsStatesHaveTheirBytesAndItsTimeIsSaidToBeAdams) {
  const struct {
    const char* name;
    double bytes;
  } rows[] = {{"lion", 4}, {"sgd", 4}, {"muon", 4}, {"adafactor", 0}, {"adamw_8bit", 2}};
  for (const auto& row : rows) {
    const auto reading = megatron_reading({{"optimizer", row.name}});
    ASSERT_TRUE(reading) << to_text(reading.error());
    EXPECT_EQ(reading->request.stack->row.optimizer_bytes, row.bytes) << row.name;
    EXPECT_EQ(reading->request.stack->id, "");  // a scenario file writes it in full
    EXPECT_THAT(reading->request.warnings, testing::ElementsAre(HasSubstr("Adam's"))) << row.name;
  }
}

TEST(OptimizerOfALaunch, AdamIsTheStacksOwn) {
  for (const char* name : {"adam", "AdamW", "torch.optim.AdamW", "distributed_fused_adam"}) {
    const auto reading = megatron_reading({{"optimizer", name}});
    ASSERT_TRUE(reading) << name;
    EXPECT_EQ(reading->request.stack->id, "megatron-core");
    EXPECT_TRUE(reading->request.warnings.empty());
  }
}

TEST(OptimizerOfALaunch, OneThatNobodyKnowsIsRefusedUnlessLenient) {
  for (const char* name : {"soap", "shampoo", "wibble"}) {
    const auto refused = megatron_reading({{"optimizer", name}});
    ASSERT_FALSE(refused) << name;
    EXPECT_THAT(refused.error().where, HasSubstr("--optimizer"));
    LaunchHints lenient;
    lenient.lenient = true;
    const auto reading = read_meaning(given_launch("megatron-lm", with_gpt({{"optimizer", name}}), 64), lenient);
    ASSERT_TRUE(reading);
    EXPECT_THAT(reading->request.warnings, testing::ElementsAre(HasSubstr(name)));
  }
}

}  // namespace
}  // namespace stepcast::launch
