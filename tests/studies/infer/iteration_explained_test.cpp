// What --explain says of an iteration: its mapping, who splits what by which line, and why anything moves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::infer {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing_program::run_line;

nlohmann::json iteration_explained(const std::string& flags) {
  const auto ran = run_line("infer llama3-70b --machine dgx-h100 --batch 8 --explain --json " + flags);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return nlohmann::json::parse(ran.out);
}

/// Of a layer's two sums over eight tensor ranks, and what comes before and behind: the table of words and the logits.
TEST(InferExplain, SaysWhoSplitsWhatAndWhatMoves) {
  const auto ran = run_line("infer llama3-70b --machine dgx-h100 --tp 8 --context 8192 --batch 8 --explain");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, ContainsRegex("attn.core +tp +g +par g"));
  EXPECT_THAT(ran.out, ContainsRegex("layer +Y1 all_reduce +tp +8 "));
  const auto one = iteration_explained("--tp 8 --context 8192");
  int of_layer = 0;
  for (const auto& move : one.at("moves")) {
    EXPECT_EQ(move.at("ranks"), 8);
    EXPECT_NE(move.at("because"), "");
    of_layer += move.at("block") == "layer" ? 1 : 0;
  }
  EXPECT_EQ(of_layer, 2);
  EXPECT_TRUE(iteration_explained("--tp 1 --weights int4 --context 8").at("moves").empty());
}

/// Words see keys that lie on all ranks and join results; prompts gather keys, by a mapping of their own.
TEST(InferExplain, PromptsHaveTheirOwnMapping) {
  const std::string words = iteration_explained("--tp 4 --cp 2 --context 8192").at("mapping"),
                    prompts = iteration_explained("--tp 4 --cp 2 --phase prefill --prompt 8192").at("mapping");
  EXPECT_THAT(words, HasSubstr("par t on cp"));
  EXPECT_THAT(prompts, HasSubstr("par s on cp"));
  EXPECT_THAT(words, Not(HasSubstr("par s on cp")));
}

TEST(InferExplain, StagesSendAndOneGpuSplitsNothing) {
  const auto two = iteration_explained("--tp 1 --pp 2 --weights fp8 --context 8").at("moves");
  ASSERT_EQ(two.size(), 1U);
  EXPECT_EQ(two[0].at("label"), "boundary send_recv");
  EXPECT_EQ(two[0].at("because"), "home on another stage");
  const auto one = run_line("infer llama3-8b --machine dgx-h100 --context 8 --explain");
  EXPECT_THAT(one.out, HasSubstr("one GPU has all of it"));
  EXPECT_THAT(one.out, Not(HasSubstr("by the line")));
}

TEST(InferExplain, StandsAlone) {
  const auto ran = run_line("infer llama3-8b --context 8 --roofline --explain");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--explain: does not go with --roofline"));
}

}  // namespace
}  // namespace stepcast::infer
