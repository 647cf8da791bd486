// What --explain prints as the mapping is a mapping: given back with --mapping it is the same run, move by move.
#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::predict {
namespace {

using ExplainedJson = nlohmann::json;

class DrawnMapping {
 public:
  template <typename T> T one_of(const std::vector<T>& values) { return values[random_() % values.size()]; }

  /// Network, batch and what else no mapping says.
  std::string question() {
    const int gpus = one_of<int>({8, 16, 32, 64});
    return fmt::format(
        "predict {} --machine {} --stack {} --gpus {} --micro-batch {} --global-batch {} --precision {}{}",
        one_of<std::string>({"llama2-7b", "gpt3-6.7b", "mixtral-8x7b", "deepseek-v2-lite", "nemotron-h-8b",
            "qwen3-next-80b-a3b", "mamba2-2.7b", "gemma3-4b", "t5-v1.1-xxl", "llama3-70b"}),
        one_of<std::string>({"dgx-a100", "dgx-h100", "dgx-b200"}),
        one_of<std::string>({"megatron-core", "nemo", "pytorch-fsdp", "deepspeed-zero", "jax"}), gpus,
        one_of<int>({1, 2}), 4 * gpus, one_of<std::string>({"bf16", "bf16", "fp16"}),
        one_of<std::string>({"", "", "", "", " --lora 16"}));
  }

  /// Flags that a mapping stands for.
  std::string split() {
    const int pp = one_of<int>({1, 1, 2, 4});
    std::string text = fmt::format("--tp {} --cp {} --pp {} --zero {} --recompute {}", one_of<int>({1, 2, 4}),
        one_of<int>({1, 1, 2}), pp, one_of<int>({0, 1, 2, 3}), one_of<std::string>({"none", "selective", "full"}));
    text += one_of<std::string>({"", " --sp on", " --sp off", " --cp-kind ring", " --cp-kind ulysses",
        " --dp-replicate 2", " --ep 2", " --ep 4", " --save-gathered on", " --scatter-boundary on"});
    if (pp > 1)
      text += one_of<std::string>({"", " --schedule gpipe", " --schedule zb-h1", " --schedule zb-v", " --chunks 2",
          " --layout balanced", " --schedule dualpipe"});
    return text;
  }

 private:
  std::mt19937 random_{20261127};
};

/// Kind, span, calls and seconds of every move, in an order of their own.
std::vector<std::tuple<std::string, std::string, double, double>> moves_of(const ExplainedJson& report) {
  std::vector<std::tuple<std::string, std::string, double, double>> moves;
  for (const ExplainedJson& row : report.at("collectives"))
    moves.emplace_back(row.at("kind"), row.at("span"), row.at("count"), row.at("time_s"));
  std::ranges::sort(moves);
  return moves;
}

TEST(ExpandedMapping, IsTakenBackAndMovesTheSame) {
  DrawnMapping drawn;
  constexpr int enough = 50;
  int taken = 0;
  for (int draws = 0; draws < 20 * enough && taken < enough; ++draws) {
    const std::string question = drawn.question(), split = drawn.split();
    const auto first = testing_program::run_line(question + " --explain --json " + split);
    if (first.code != 0) continue;  // a split that the network refuses
    const auto told = ExplainedJson::parse(first.out);
    const std::string file = testing_program::own_path("given_back.flow");
    std::ofstream(file) << told.at("explanation").at("mapping").get<std::string>();
    const auto again = testing_program::run_line(question + " --json --mapping " + file);
    ++taken;
    ASSERT_EQ(again.code, 0) << question << ' ' << split << '\n' << again.err;
    const auto back = ExplainedJson::parse(again.out);
    EXPECT_EQ(moves_of(back), moves_of(told)) << question << ' ' << split;
    EXPECT_EQ(back.at("step_time_s"), told.at("step_time_s")) << question << ' ' << split;
    EXPECT_EQ(back.at("memory"), told.at("memory")) << question << ' ' << split;
  }
  EXPECT_EQ(taken, enough) << "the others were refused";
}

}  // namespace
}  // namespace stepcast::predict
