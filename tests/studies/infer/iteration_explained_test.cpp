// What --explain says of an iteration: its mapping, who splits what by which line, and why anything moves.
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
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

class DrawnSplits {
 public:
  template <typename T> T one_of(const std::vector<T>& values) { return values[random_() % values.size()]; }

  /// What no mapping says.
  std::string question() {
    return fmt::format("infer {} --machine dgx-h100 --engine {} --batch {}{}",
        one_of<std::string>(
            {"llama3-8b", "llama3-70b", "mixtral-8x7b", "deepseek-v2-lite", "qwen3-30b-a3b", "deepseek-v3"}),
        one_of<std::string>({"vllm", "sglang", "tensorrt-llm"}), one_of<int>({1, 8}),
        one_of<std::string>({" --phase prefill --prompt 8192", " --phase decode --context 4096",
            " --phase mixed --prompt 1024 --context 4096", " --phase batch --prompt 2048 --output 16"}));
  }

  std::string split() {
    const int tp = one_of<int>({1, 2, 4, 8});
    return fmt::format(" --tp {} --cp {}{}", tp, one_of<int>({1, 2, 4}),
        one_of<std::string>({"", " --pp 2", " --cp-way ring", fmt::format(" --ep {}", tp), " --dcp 2"}));
  }

 private:
  std::mt19937 random_{20261128};
};

/// What is printed is a mapping, of words and of prompts where they differ: given back it is the same iteration.
TEST(InferExplain, MappingsAreTakenBackAndTakeAsLong) {
  DrawnSplits drawn;
  constexpr int enough = 60;
  int taken = 0, in_two_ways = 0;
  for (int draws = 0; draws < 20 * enough && taken < enough; ++draws) {
    const std::string question = drawn.question(), split = drawn.split();
    const auto first = run_line(question + split + " --explain --json");
    if (first.code != 0) continue;  // a split that the network or the machine refuses
    ++taken;
    const auto told = nlohmann::json::parse(first.out);
    const auto written = [](const std::string& name, const nlohmann::json& mapping) {
      const std::string file = testing_program::own_path(name);
      std::ofstream(file) << mapping.at("mapping").get<std::string>();
      return file;
    };
    std::string back = " --mapping " + written("words.flow", told);
    if (told.contains("prompts")) {
      back += " --prompts-mapping " + written("prompts.flow", told.at("prompts"));
      ++in_two_ways;
    }
    const auto as_split = nlohmann::json::parse(run_line(question + split + " --json").out);
    const auto again = run_line(question + back + " --json");
    ASSERT_EQ(again.code, 0) << question << split << '\n' << again.err;
    const double as_mapped = nlohmann::json::parse(again.out)["time_s"], expected = as_split["time_s"];
    EXPECT_NEAR(as_mapped / expected, 1, 1e-9) << question << split;
  }
  EXPECT_EQ(taken, enough) << "the others were refused";
  EXPECT_GE(in_two_ways, 10);
}

/// Keys of latents lie on several ranks as words alone see them: the mapping of words does for words.
TEST(InferExplain, PromptsAreAskedForWhereWordsCannotSpeakForThem) {
  const std::string question = "infer deepseek-v2-lite --machine dgx-h100 --batch 8";
  const auto words = run_line(question + " --tp 2 --cp 2 --phase decode --context 4096 --explain --json");
  ASSERT_EQ(words.code, 0) << words.err;
  const std::string file = testing_program::own_path("words.flow");
  std::ofstream(file) << nlohmann::json::parse(words.out).at("mapping").get<std::string>();
  const auto mixed = run_line(question + " --phase mixed --prompt 512 --context 4096 --mapping " + file);
  EXPECT_EQ(mixed.code, 2);
  EXPECT_THAT(mixed.err, HasSubstr("--prompts-mapping FILE: how prompts are split, or --phase decode"));
  const auto alone = run_line(question + " --prompt 512 --prompts-mapping " + file);
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.err, HasSubstr("--mapping FILE beside it"));
  const std::string other = testing_program::own_path("other.flow");
  std::ofstream(other) << "mesh tp:2\npar g*r on tp\n";
  const auto fewer = run_line(
      question + " --phase mixed --prompt 512 --context 4096 --mapping " + file + " --prompts-mapping " + other);
  EXPECT_EQ(fewer.code, 2);
  EXPECT_THAT(fewer.err, HasSubstr("prompts on 2 GPUs"));
}

/// An engine has one set of weights: prompts pass the stages that words do. An empty file is one all the same.
TEST(InferExplain, PromptsHaveTheStagesOfWords) {
  const std::string words = testing_program::own_path("tp.flow"), stages = testing_program::own_path("pp.flow"),
                    empty = testing_program::own_path("empty.flow");
  std::ofstream(words) << "mesh tp:4\npar g*r on tp ; par f on tp ; par v on tp\n";
  std::ofstream(stages)
      << "mesh tp:2 pp:2\npar g*r on tp ; par f on tp ; par v on tp ; par layer on pp sched 1f1b for mb:*\n";
  std::ofstream(empty).flush();
  const std::string question =
      "infer llama3-8b --machine dgx-h100 --batch 8 --phase mixed --prompt 1024 --context 4096";
  const auto unlike = run_line(question + " --mapping " + words + " --prompts-mapping " + stages);
  EXPECT_EQ(unlike.code, 2);
  EXPECT_THAT(unlike.err, HasSubstr("prompts on 2 stages, and --mapping has words on 1"));
  EXPECT_EQ(run_line(question + " --mapping " + words + " --prompts-mapping " + empty).code, 2);
  EXPECT_THAT(run_line(question + " --tp 4 --prompts-mapping " + empty).err, HasSubstr("--mapping FILE beside it"));
}

TEST(InferExplain, StandsAlone) {
  const auto ran = run_line("infer llama3-8b --context 8 --roofline --explain");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--explain: does not go with --roofline"));
}

}  // namespace
}  // namespace stepcast::infer
