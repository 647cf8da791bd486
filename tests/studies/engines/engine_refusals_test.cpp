// What launches of engines leave open or get wrong: it is refused with the nearest name, or asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::Pair;

/// Releases of 2024 made one group of each rank, later ones none.
TEST(EngineLaunch, GroupsOfAttentionThatNobodyCountsAreAskedFor) {
  const std::string line =
      "python3 -m sglang.launch_server --model deepseek-ai/DeepSeek-V3 --tp 8 --enable-dp-attention";
  EXPECT_THAT(read(line).error, AllOf(HasSubstr("releases differ"), HasSubstr("--dp-size 8")));
  EXPECT_THAT(read(line + " --dp-size 4").asked.flags, IsSupersetOf({Pair("--dp-attention", "4"), Pair("--tp", "2")}));
  EXPECT_THAT(read(line + " --dp-size 1").asked.flags, Contains(Pair("--tp", "8")));
}

/// A file that names a model beside other things is no service of KServe's.
TEST(EngineLaunch, ANameOfAModelIsNoEngine) {
  EXPECT_THAT(
      read("apiVersion: v1\nkind: Scenario\ncommon:\n  model: {name: Qwen/Qwen3-8B, maxModelLen: 16000}\n").error,
      HasSubstr("no command in it starts a serving engine"));
}

TEST(EngineLaunch, WhatIsNotKnownIsNamedWithTheNearest) {
  const auto got = read("vllm serve Qwen/Qwen3-8B --max-num-seqz 8");
  EXPECT_THAT(got.error, HasSubstr("launch.sh:1 --max-num-seqz (not known of vLLM; near it: --max-num-seqs)"));
  const auto lenient = read("vllm serve Qwen/Qwen3-8B --max-num-seqz 8", {}, "", true);
  ASSERT_EQ(lenient.error, "");
  EXPECT_THAT(lenient.warnings, ElementsAre(HasSubstr("--max-num-seqz ")));
  EXPECT_EQ(lenient.asked.row.most_sequences, 1024);
}

TEST(EngineLaunch, TheBeginningOfANameIsEnoughWhereArgparseReads) {
  EXPECT_EQ(read("vllm serve Qwen/Qwen3-8B --max-num-s 8").asked.row.most_sequences, 8);
  EXPECT_EQ(read("python -m sglang.launch_server --model Qwen/Qwen3-8B --mem-frac 0.7").asked.row.cache_share, 0.7);
  EXPECT_THAT(read("vllm serve Qwen/Qwen3-8B --max-num 8").error, HasSubstr("--max-num (not known"));  // of several
  EXPECT_THAT(read("trtllm-serve Qwen/Qwen3-8B --max_batch 8").error, HasSubstr("--max_batch (not known"));
}

TEST(EngineLaunch, WhatIsNotForecastIsRefused) {
  EXPECT_THAT(read("vllm serve Qwen/Qwen3-8B --enable-lora").error, HasSubstr("adapters are not forecast"));
  EXPECT_THAT(read("vllm serve Qwen/Qwen3-8B --cpu-offload-gb 20").error, HasSubstr("weights in host memory"));
  EXPECT_EQ(read("vllm serve Qwen/Qwen3-8B --cpu-offload-gb 0").error, "");
  EXPECT_THAT(read("vllm serve Qwen/Qwen3-8B --kv-transfer-config '{\"kv_connector\":\"NixlConnector\"}'").error,
      HasSubstr("a part of several pools"));
  const std::string ngram = R"(--speculative-config '{"method": "ngram", "num_speculative_tokens": 4}')";
  EXPECT_THAT(read("vllm serve Qwen/Qwen3-8B " + ngram).error, HasSubstr("tokens that ngram guesses"));
  EXPECT_THAT(read("vllm serve Qwen/Qwen3-8B --quantization bitsandbytes").error, HasSubstr("are not forecast"));
  EXPECT_THAT(read("vllm serve Qwen/Qwen3-8B --quantization awq").error, HasSubstr("weights that are stored so"));
  EXPECT_EQ(read("vllm serve Qwen/Qwen3-8B-AWQ --quantization awq").error, "");
  EXPECT_EQ(read("vllm serve /models/qwen3-8b --quantization awq").error, "") << "a folder's name is its owner's";
}

/// A tree has guesses beside each other; three steps make three tokens, and a fourth is tried with them.
TEST(EngineLaunch, TreesOfGuessesAreRefused) {
  const std::string line = "python -m sglang.launch_server --model Qwen/Qwen3-8B --speculative-algorithm EAGLE3 "
                           "--speculative-num-steps 3 ";
  const auto got = [&](const std::string& more, bool lenient = false) { return read(line + more, {}, "", lenient); };
  EXPECT_THAT(got("--speculative-eagle-topk 8").error,
      testing::AllOf(HasSubstr("a tree of 8 guesses"), HasSubstr("--speculative-eagle-topk 1")));
  EXPECT_THAT(got("--speculative-num-draft-tokens 64").error, HasSubstr("64 tokens are tried after 3 steps"));
  EXPECT_THAT(got("--speculative-eagle-topk 8", true).asked.warnings, Contains(HasSubstr("a tree of 8 guesses")));
  const std::string chain = "--speculative-eagle-topk 1 --speculative-num-draft-tokens 4";
  EXPECT_THAT(got(chain).error, HasSubstr("3 tokens that eagle3 guesses are not forecast without --accepted"));
}

TEST(EngineLaunch, KeysOfGuessesAreKnownOrRefused) {
  const auto error = [](const std::string& keys) {
    return read("vllm serve Qwen/Qwen3-8B --speculative-config '{\"method\": \"eagle3\", " + keys + "}'").error;
  };
  const std::string three = "\"num_speculative_tokens\": 3", taken = "3 tokens that eagle3 guesses are not forecast";
  EXPECT_THAT(error(three), HasSubstr(taken));
  EXPECT_THAT(
      error(three + ", \"model\": \"x\", \"draft_tensor_parallel_size\": 1, \"revision\": \"a\""), HasSubstr(taken));
  EXPECT_THAT(error(three + ", \"foo_bar\": 8"),
      testing::AllOf(HasSubstr("speculative-config.foo_bar"), HasSubstr("not known of vLLM")));
  EXPECT_THAT(error(three + ", \"disable_by_batch_size\": 8"), HasSubstr("guesses that end with many requests"));
  EXPECT_THAT(error(three + ", \"parallel_drafting\": true"), HasSubstr("guesses that come together"));
  EXPECT_THAT(error("\"num_speculative_tokens\": 8"),
      testing::AllOf(HasSubstr("8 tokens that eagle3 guesses before an iteration"), HasSubstr("at most 7")));
}

TEST(EngineLaunch, WhatHangsOnNothingIsAskedFor) {
  const std::string text = "vllm serve Qwen/Qwen3-8B -tp $TP $EXTRA";
  EXPECT_THAT(read(text).error, testing::AllOf(HasSubstr("--define TP=..."), HasSubstr("--define EXTRA=")));
  const auto got = read(text, {}, "", false, {{"TP", "4"}, {"EXTRA", ""}});
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(got.asked.flags.at("--tp"), "4");
  // words of lists are set and not read
  EXPECT_THAT(read("declare -A SIZES=([a]=2)\nvllm serve Qwen/Qwen3-8B -tp ${SIZES[$KEY]}\n").error,
      testing::AllOf(HasSubstr("SIZES["), HasSubstr("which is not read"), testing::Not(HasSubstr("nothing sets"))));
  // a branch that nobody can decide, and that decides something
  const std::string branch = "if [ \"$LONG\" = 1 ]; then A=\"--max-model-len 99\"; else A=\"\"; fi\n"
                             "vllm serve Qwen/Qwen3-8B $A";
  EXPECT_THAT(read(branch).error, HasSubstr("hang on $LONG in line 1"));
  EXPECT_EQ(read(branch, {}, "", false, {{"LONG", ""}}).error, "");
  // a condition beside it that decides nothing is not asked for
  const std::string beside =
      "while IFS== read -r name _; do case \"$name\" in PMI*) unset \"$name\";; esac; done < <(env)\n";
  EXPECT_THAT(read(beside + branch).error,
      testing::AllOf(HasSubstr("hang on $LONG in line 2"), testing::Not(HasSubstr("$name"))));
  EXPECT_EQ(read(beside + branch, {}, "", false, {{"LONG", ""}}).error, "");
}

TEST(EngineLaunch, SeveralThatDifferAreListed) {
  const auto got = read("vllm serve Qwen/Qwen3-8B\nvllm serve Qwen/Qwen3-32B -tp 2\n");
  EXPECT_THAT(got.error, testing::AllOf(HasSubstr("2 commands start engines"), HasSubstr("line 1, line 2")));
  // ranks of one engine on several nodes start alike
  const std::string nodes =
      "vllm serve Qwen/Qwen3-32B -tp 2 --node-rank 0\nvllm serve Qwen/Qwen3-32B -tp 2 --node-rank 1\n";
  EXPECT_EQ(read(nodes).error, "");
  EXPECT_THAT(read("pip install vllm").error, HasSubstr("no command in it starts a serving engine"));
}

TEST(EngineLaunch, NetworksAndTypesAreAskedForWhereNamesDoNotTell) {
  EXPECT_THAT(read("vllm serve /data/my-model").error, HasSubstr("is no network of the catalogue"));
  EXPECT_EQ(read("vllm serve /data/my-model", {{"--weights", "fp8"}}, "llama3-8b").asked.flags.at("--weights"), "fp8");
  EXPECT_THAT(read("vllm serve /data/my-model", {}, "llama3-8b").error, HasSubstr("number type of the weights"));
}

/// EAGLE without steps: the launch has to tell them, whatever share is right.
TEST(EngineLaunch, GuessesThatNobodyCountsAreAskedFor) {
  const std::string file =
      written("eagle.sh", "python -m sglang.launch_server --model Qwen/Qwen3-8B --speculative-algorithm EAGLE\n");
  for (const char* more : {"", " --accepted 0.8"})
    EXPECT_THAT(testing_program::run_line("infer --launch " + file + " --context 512" + more).err,
        testing::AllOf(HasSubstr("how many tokens eagle guesses"), HasSubstr("--speculative-num-steps 3"),
            Not(HasSubstr("--accepted R"))));
}

}  // namespace
}  // namespace stepcast::engines
