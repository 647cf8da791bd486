// stepcast explain --megatron: its figures are those that stepcast predict prints, twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::launch {
namespace {

using testing::HasSubstr;

constexpr const char* explained_words =
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention "
    "--num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192 --vocab-size 128256 --swiglu "
    "--normalization RMSNorm --disable-bias-linear --position-embedding-type rope "
    "--untie-embeddings-and-output-weights "
    "--attention-dropout 0 --hidden-dropout 0 --bf16 --tensor-model-parallel-size 2 --sequence-parallel "
    "--use-distributed-optimizer --micro-batch-size 1 --global-batch-size 64 --lr 1e-4";

std::string without_words(std::string text, const std::string& words) {
  const std::size_t at = text.find(words);
  EXPECT_NE(at, std::string::npos) << words;
  return text.erase(at, words.size());
}

nlohmann::json printed(const std::string& line) {
  const auto ran = testing_program::run_line(line);
  EXPECT_EQ(ran.code, 0) << line << "\n" << ran.err;
  return ran.code == 0 ? nlohmann::json::parse(ran.out) : nlohmann::json{};
}

struct TypedArgument {
  const char *words, *name;
};

TEST(ExplainLaunchCommand, FiguresAreThoseOfPredict) {
  const std::string run = "--gpus 16 --machine dgx-h100 --json --megatron -- ";
  const auto document = printed("explain " + run + explained_words);
  const auto base = printed("predict " + run + explained_words);
  EXPECT_EQ(document.at("forecast").at("step_s"), base.at("step_time_s"));
  for (const auto& [words, name] : {TypedArgument{"--tensor-model-parallel-size 2 ", "tensor_model_parallel_size"},
           {"--sequence-parallel ", "sequence_parallel"}, {"--use-distributed-optimizer ", "use_distributed_optimizer"},
           {"--global-batch-size 64 ", "global_batch_size"}}) {
    const auto other = printed("predict " + run + without_words(explained_words, words));
    bool found = false;
    for (const auto& argument : document.at("arguments")) {
      if (argument.at("name") != name) continue;
      found = true;
      EXPECT_EQ(argument.at("effect").at("with_step_s"), base.at("step_time_s")) << name;
      EXPECT_EQ(argument.at("effect").at("without_step_s"), other.at("step_time_s")) << name;
      EXPECT_EQ(argument.at("effect").at("with_peak_bytes"), base.at("memory").at("peak_bytes")) << name;
      EXPECT_EQ(argument.at("effect").at("without_peak_bytes"), other.at("memory").at("peak_bytes")) << name;
    }
    EXPECT_TRUE(found) << name;
  }
}

/// What explain calls wrong of the arguments is wrong for who forecasts them too, unless another split is put over
/// them.
TEST(ExplainLaunchCommand, PredictSaysWhatIsWrong) {
  const std::string words = without_words(explained_words, "--tensor-model-parallel-size 2 ");
  EXPECT_THAT(testing_program::run_line("predict --gpus 16 --megatron -- " + words).out,
      HasSubstr("wrong: --sequence-parallel has no effect at tp 1"));
  EXPECT_THAT(testing_program::run_line("predict --gpus 16 --micro-batch 2 --megatron -- " + words).out,
      testing::Not(HasSubstr("wrong: ")));
  EXPECT_THAT(testing_program::run_line("predict --gpus 16 --tp 2 --megatron -- " + words).out,
      testing::Not(HasSubstr("wrong: ")));
  EXPECT_THAT(testing_program::run_line(std::string("predict --gpus 16 --megatron -- ") + explained_words).out,
      testing::Not(HasSubstr("wrong: ")));
}

TEST(ExplainLaunchCommand, TextNamesTheFrameworkAndEveryArgument) {
  const auto ran = testing_program::run_line(std::string("explain --gpus 16 --megatron -- ") + explained_words);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Megatron-LM launch in command line"));
  for (const char* name : {"--num-layers 32", "--tensor-model-parallel-size 2", "--lr 1e-4"})
    EXPECT_THAT(ran.out, HasSubstr(name));
}

TEST(ExplainLaunchCommand, TermsTakeNoFlagsOfARun) {
  const auto ran = testing_program::run_line("explain MFU --tp 8");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--tp"));
  EXPECT_THAT(ran.err, HasSubstr("belongs to a launch"));
  EXPECT_EQ(testing_program::run_line("explain MFU --json").code, 0);
}

}  // namespace
}  // namespace stepcast::launch
