#include "studies/sweep/space/space.h"

#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/run/forecast.h"
#include "studies/run/scenario.h"
#include "tests/studies/sweep/space/space_of.h"

namespace stepcast::sweep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_program::own_path;
using testing_space::error;
using testing_space::good;
using testing_space::values;

const std::string plain = "llama3-8b --gpus 64 --global-batch 256";

TEST(Space, IndexAndDigitsAreOneNumberInMixedRadix) {
  std::mt19937_64 random(9);
  for (int trial = 0; trial < 50; ++trial) {
    Space space;
    for (auto& axis : space.values) axis.resize(1 + random() % 5);
    Digits last{};
    for (std::size_t axis = 0; axis < axis_count; ++axis)
      last[axis] = static_cast<std::uint16_t>(space.values[axis].size() - 1);
    EXPECT_EQ(space.index(Digits{}), 0U);
    EXPECT_EQ(space.index(last), space.size() - 1);
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t index = random() % space.size();
      const Digits digits = space.digits(index);
      for (std::size_t axis = 0; axis < axis_count; ++axis) ASSERT_LT(digits[axis], space.values[axis].size());
      ASSERT_EQ(space.index(digits), index);
    }
  }
}

TEST(Space, AStrideStepsOneAxisAndKeepsAllOthers) {
  const Space space = good(plain + " --tp 1,2,4 --pp 1,2,4,8 --zero 1..3 --dp-overlap on,off");
  EXPECT_EQ(space.stride(AxisId::dp_overlap), 1U);
  EXPECT_EQ(space.stride(AxisId::zero), 2U);
  EXPECT_EQ(space.stride(AxisId::gpus), space.size());
  for (const AxisId axis : {AxisId::tp, AxisId::pp, AxisId::chunks, AxisId::zero}) {
    Digits expected = space.digits(space.stride(axis) - 1);  // all digits below are at their last value
    ASSERT_EQ(expected[static_cast<std::size_t>(axis)], 0);
    const Digits next = space.digits(2 * space.stride(axis) - 1);
    expected[static_cast<std::size_t>(axis)] = 1;
    EXPECT_EQ(next, expected);
  }
}

TEST(Space, FlagsGiveAxesAndTheRestTakesItsDefaults) {
  const Space space = good(plain + " --tp 2,4 --pp 1..8*2 --recompute none,full:2 --seq 4096");
  EXPECT_THAT(values(space, AxisId::gpus), ElementsAre("64"));
  EXPECT_THAT(values(space, AxisId::tp), ElementsAre("2", "4"));
  EXPECT_THAT(space.numbers[static_cast<std::size_t>(AxisId::pp)], ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(values(space, AxisId::micro_batch), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(values(space, AxisId::precision), ElementsAre("bf16"));
  EXPECT_EQ(space.size(), 2U * 4 * 2 * 4 * 4);  // tp, pp, recompute, micro-batch, chunks 1, 2, 4, 8
  EXPECT_EQ(space.global_batch, 256);
  EXPECT_EQ(space.sequence, 4096);
  EXPECT_EQ(space.objective, "step_time");
  EXPECT_EQ(space.top, 10U);
  EXPECT_FALSE(space.tiers);
  EXPECT_EQ(good(plain).sequence, 8192);  // the network's own
  const Digits digits = space.digits(space.size() - 1);
  EXPECT_EQ(space.value(digits, AxisId::recompute), "full:2");
  EXPECT_EQ(space.number(digits, AxisId::tp), 4);
}

// With one value everywhere a sweep is predict.
TEST(Space, WhatHasOneValueIsInTheRequest) {
  const Space space = good(plain + " --tp 4 --pp 2 --chunks 2 --micro-batch 1,2 --schedule auto --sp on --lora 16");
  EXPECT_EQ(space.request.said().at("tp").text, "4");
  EXPECT_EQ(space.request.said().at("tp").where, "--tp");
  EXPECT_EQ(space.request.said().at("lora").text, "16");
  EXPECT_EQ(space.request.find(FieldId::micro_batch), nullptr);
  EXPECT_EQ(space.request.find(FieldId::schedule), nullptr);
  EXPECT_EQ(space.request.find(FieldId::zero), nullptr);  // nobody said it
  const auto scenario = complete(space.request);
  ASSERT_TRUE(scenario) << to_text(scenario.error());
  EXPECT_THAT(in_words(*scenario), HasSubstr("tp 4, cp 1, pp 2, dp 8, 2 chunks, sp, zero 1, interleaved-1f1b"));
}

TEST(Space, SeveralGpuCountsShareTheirDefaults) {
  const Space space = good("llama3-8b --gpus 4,16 --global-batch 64");
  EXPECT_THAT(values(space, AxisId::gpus), ElementsAre("4", "16"));
  EXPECT_THAT(values(space, AxisId::tp), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(values(space, AxisId::pp), ElementsAre("1", "2", "4", "8", "16"));
}

TEST(SpaceErrors, WhatIsMissing) {
  EXPECT_THAT(error("llama3-8b --global-batch 8"),
      AllOf(HasSubstr("--gpus: the number of GPUs is missing"), HasSubstr("--gpus 64")));
  EXPECT_THAT(error("llama3-8b --gpus 8"),
      AllOf(HasSubstr("--global-batch: the global batch is missing"), HasSubstr("sequences per step")));
  EXPECT_THAT(error("--gpus 8 --global-batch 8"), AllOf(HasSubstr("no network is named"), HasSubstr("--space FILE")));
  EXPECT_THAT(error("lama3-8b --gpus 8 --global-batch 8"), HasSubstr("llama3-8b"));
}

TEST(SpaceErrors, WhatNoConfigurationCouldRun) {
  EXPECT_THAT(
      error("llama3-8b --gpus 64,20000 --global-batch 8"), AllOf(HasSubstr("--gpus: 20000 GPUs"), HasSubstr("16384")));
  EXPECT_THAT(error("llama3-8b --machine dgx-1-v100 --gpus 8 --global-batch 8 --precision fp16,bf16"),
      AllOf(HasSubstr("--precision"), HasSubstr("no bf16 matrix units")));
  EXPECT_THAT(error("gpt3-175b --gpus 64 --global-batch 8 --seq 4096"),
      AllOf(HasSubstr("--seq"), HasSubstr("learned positions")));
  EXPECT_THAT(good("llama3-8b --machine dgx-1-v100 --gpus 8 --global-batch 8 --precision all").values[1],
      testing::Contains("fp16"));
}

TEST(SpaceErrors, WhatASweepDoesNotTake) {
  EXPECT_THAT(error(plain + " --mapping run.flow"), HasSubstr("--mapping: unknown flag"));
  const std::string path = own_path("run.json");
  std::ofstream(path)
      << R"({"network": "llama3-8b", "gpus": 8, "global_batch": 8, "mapping": ["mesh dp:8", "use dp"]})";
  EXPECT_THAT(
      error(path), AllOf(HasSubstr("run.json:/mapping: a mapping says how the work is split"), HasSubstr("tp, pp")));
}

TEST(SpaceErrors, Goals) {
  EXPECT_THAT(error(plain + " --objective spede"), HasSubstr("--objective"));
  EXPECT_THAT(error(plain + " --objective cost"), HasSubstr("--objective: the cost needs the price"));
  EXPECT_THAT(error(plain + " --pareto time,cost"), HasSubstr("--pareto: the cost needs the price"));
  EXPECT_THAT(error(plain + " --pareto time,,cost"), HasSubstr("--pareto"));
  EXPECT_THAT(error(plain + " --price nan"), HasSubstr("--price: 'nan' is not a number"));
  EXPECT_THAT(error(plain + " --price 2,5"), HasSubstr("--price: '2,5' is not a number"));
  EXPECT_THAT(error(plain + " --price -1"), HasSubstr("--price: -1 is out of range"));
  EXPECT_THAT(error(plain + " --price 1e9"), HasSubstr("out of range"));
  EXPECT_THAT(error(plain + " --top 0"), HasSubstr("--top: 0 is out of range"));
  EXPECT_THAT(good(plain + " --price 2.5 --pareto time,cost,memory.peak").pareto,
      ElementsAre("step_time", "cost", "memory.peak"));
}

TEST(SpaceErrors, MoreThanAnIndexHolds) {
  const std::string text = error(
      "llama3-8b --gpus 1..10000 --tp 1..10000 --pp 1..10000 --micro-batch 1..10000 --chunks 1..1000 --global-batch 8");
  EXPECT_THAT(text, AllOf(HasSubstr("more than 2^62"), HasSubstr("10000 values of gpus"), HasSubstr("shorter lists")));
  const Space space = good(
      "llama3-8b --gpus 1..10000 --tp 1..10000 --pp 1..10000 --micro-batch 1..1000 --chunks 1..1000 --global-batch 8");
  EXPECT_EQ(space.size(), 2'000'000'000'000'000'000U);  // recompute none, full
  EXPECT_EQ(space.index(space.digits(space.size() - 1)), space.size() - 1);
}

}  // namespace
}  // namespace stepcast::sweep
