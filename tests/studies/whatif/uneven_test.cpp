// predict --imbalance: what words it takes, and what the step becomes.
#include "studies/whatif/uneven.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::predict::uneven_words_test {
namespace {

using testing::HasSubstr;

std::string unevenness_refusal(const std::string& words) {
  const auto read = read_unevenness(words, "--imbalance");
  return read ? std::string() : to_text(read.error());
}

TEST(UnevenWords, AreRead) {
  const auto read = read_unevenness("ranks=2% micro-batches=0.25 actions=1% slow=3x2.5 law=1,2,4,5,2.5", "--imbalance");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->ranks, 0.02);
  EXPECT_EQ(read->micro_batches, 0.25);
  EXPECT_EQ(read->slow, 3);
  EXPECT_EQ(read->slow_factor, 2.5);
  EXPECT_EQ(read->law->p95, 4);
  const std::string name = testing_program::own_path("costs");
  std::ofstream(name) << "1\n\n 3 \n";
  EXPECT_EQ(read_unevenness("costs=" + name, "--imbalance")->costs, (std::vector<double>{1, 3}));
}

TEST(UnevenWords, WrongOnesAreRefused) {
  EXPECT_THAT(unevenness_refusal(""), HasSubstr("nothing is uneven"));
  EXPECT_THAT(unevenness_refusal("ranks"), HasSubstr("'ranks' has no ="));
  EXPECT_THAT(unevenness_refusal("speed=2%"), HasSubstr("'speed' is no kind"));
  EXPECT_THAT(unevenness_refusal("ranks=2% ranks=3%"), HasSubstr("ranks twice"));
  EXPECT_THAT(unevenness_refusal("slow=2"), HasSubstr("no number of ranks and factor"));
  EXPECT_THAT(unevenness_refusal("law=3,2,4,5,2.5"), HasSubstr("is no law"));
  EXPECT_THAT(unevenness_refusal("law=1,2,4"), HasSubstr("is no law"));
  const std::string name = testing_program::own_path("costs");
  std::ofstream(name) << "1\nmany\n";
  EXPECT_THAT(unevenness_refusal("costs=" + name), HasSubstr("costs:2: 'many' is no cost"));
}

TEST(UnevenWords, PredictShowsTheStep) {
  const std::string run = "predict llama3-8b --gpus 64 --zero 3 --global-batch 512 --imbalance ";
  const auto ran = testing_program::run_line(run + "\"micro-batches=0.25\" --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  const double even = json.at("step_time_s"), uneven = json.at("uneven").at("step_time_s");
  EXPECT_GT(uneven, 1.05 * even);
  EXPECT_NEAR(json.at("uneven").at("closed_form_s").get<double>() / uneven, 1, 0.02);
  EXPECT_EQ(json.at("uneven").at("pipelines"), 64);
  EXPECT_THAT(testing_program::run_line(run + "ranks=1%").out, HasSubstr("With uneven work"));
  EXPECT_THAT(testing_program::run_line(run + "speed=1").err, HasSubstr("--imbalance: 'speed' is no kind"));
}

}  // namespace
}  // namespace stepcast::predict::uneven_words_test
