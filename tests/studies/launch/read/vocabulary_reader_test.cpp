#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/given_launch.h"

namespace stepcast::launch {
namespace {

using given_launches::given_launch;
using given_launches::GivenValues;
using given_launches::trained;
using given_launches::with_gpt;
using testing::HasSubstr;

Expected<LaunchReading> tokenized(const GivenValues& tokenizer) {
  GivenValues values = with_gpt(tokenizer);
  std::erase_if(values, [](const auto& row) { return row.first == "vocab_size"; });
  values.emplace_back("make_vocab_size_divisible_by", "1");
  return read_meaning(given_launch("megatron-lm", values, 64), {});
}

TEST(VocabularyOfALaunch, ANameThatDecidesItTellsIt) {
  const struct {
    GivenValues tokenizer;
    std::int64_t rows;
  } cases[] = {{{{"tokenizer_type", "GPT2BPETokenizer"}}, 50257}, {{{"tokenizer_type", "Llama2Tokenizer"}}, 32000},
      {{{"tokenizer_type", "HuggingFaceTokenizer"}, {"tokenizer_model", "meta-llama/Meta-Llama-3-8B"}}, 128256},
      {{{"vocab_file", "/data/gpt2-vocab.json"}, {"merge_file", "/data/gpt2-merges.txt"}}, 50257},
      {{{"tokenizer_type", "HuggingFaceTokenizer"}, {"tokenizer_model", "deepseek-ai/DeepSeek-V3"}}, 129280}};
  for (const auto& row : cases) {
    const auto reading = tokenized(row.tokenizer);
    ASSERT_TRUE(reading) << to_text(reading.error());
    EXPECT_EQ(trained(*reading).vocab, row.rows);
  }
}

TEST(VocabularyOfALaunch, WhatAFileHoldsIsAskedForAndTheHintIsAccepted) {
  const GivenValues cases[] = {{{"tokenizer_type", "Llama2Tokenizer"}, {"tokenizer_model", "/data/tokenizer.model"}},
      {{"tokenizer_type", "GPT2BPETokenizer"}, {"vocab_file", "/data/my-vocab.json"}},
      {{"tokenizer_model", "/models/my-llama-3-with-more"}}, {{"tokenizer_model", "nobody/llama-3-with-more"}},
      {{"tokenizer_model", "$TOKENIZER"}}, {{"merge_file", "merges.txt"}},
      {{"tokenizer_type", "GPT2BPETokenizer"}, {"tokenizer_model", "meta-llama/Meta-Llama-3-8B"}}};
  for (const GivenValues& tokenizer : cases) {
    const auto asked = tokenized(tokenizer);
    ASSERT_FALSE(asked) << tokenizer.back().second;
    EXPECT_THAT(asked.error().what, HasSubstr("do not tell the vocabulary"));
    EXPECT_THAT(asked.error().hint, HasSubstr("-- --vocab-size N"));
    GivenValues followed = tokenizer;
    followed.emplace_back("vocab_size", "64000");
    EXPECT_EQ(trained(*read_meaning(given_launch("megatron-lm", with_gpt(followed), 64), {})).vocab % 64000, 0);
  }
}

}  // namespace
}  // namespace stepcast::launch
