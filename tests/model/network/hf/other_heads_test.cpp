#include "model/network/hf/other_heads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/network/hf/config.h"
#include "tests/model/network/hf/config_texts.h"

namespace stepcast {
namespace {

using hf_texts::config_with;
using hf_texts::llama_with;

/// Without the table of the logits, and with one number for each label of the last state.
TEST(HfOtherHeads, CountsClassesWithoutALanguageModelHead) {
  const auto read = [](const char* name, const std::string& keys) {
    return read_hf_config(config_with(llama_with(keys), "LlamaForCausalLM", name), "config.json");
  };
  const auto bare = read("LlamaModel", "\"id2label\": {}"),
             scores = read("LlamaForSequenceClassification", R"("id2label": {"0": "bad", "1": "so", "2": "good"})");
  ASSERT_TRUE(bare && scores) << to_text((bare ? scores : bare).error());
  constexpr std::int64_t without = 8030261248 - 128256LL * 4096;
  EXPECT_EQ(bare->parts.front().parameters, without);
  EXPECT_EQ(scores->parts.front().parameters, without + 3 * 4096);
  EXPECT_THAT(scores->missing.front(), testing::HasSubstr("a loss over tokens"));
}

/// A small BERT: no matrix and norm in front of the words, no bias of theirs; what each class has in its place.
TEST(HfOtherHeads, EncodersHaveAHeadOfTheirClass) {
  const auto weights = [](const char* name) {
    const auto read = read_hf_config(std::string(R"({"architectures": [")") + name + R"("], "hidden_size": 8,
      "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 10,
      "max_position_embeddings": 4, "type_vocab_size": 2, "hidden_act": "gelu", "id2label": {"0": "a", "1": "b", "2": "c"}})",
        "config.json");
    EXPECT_TRUE(read) << to_text(read.error());
    return read ? parameter_count(read->network) * (read->missing.empty() ? 1 : 0) +
                      (read->parts.empty() ? 0 : read->parts.front().parameters)
                : 0;
  };
  const std::int64_t layers = (10 + 4 + 2) * 8 + 16 + 4 * (8 * 8 + 8) + 8 * 16 + 16 + 16 * 8 + 8 + 2 * 16,
                     matrix = 8 * 8 + 8, scores = 8 * 3 + 3;
  EXPECT_EQ(weights("BertForMaskedLM"), layers + matrix + 16 + 10);
  EXPECT_EQ(weights("BertModel"), layers + matrix) << "of the first word";
  EXPECT_EQ(weights("BertForSequenceClassification"), layers + matrix + scores);
  EXPECT_EQ(weights("BertForTokenClassification"), layers + scores);
  // of classes that are counted in one sum the head is not known
  EXPECT_THAT(to_text(read_hf_config(R"({"architectures": ["MPNetForTokenClassification"]})", "config.json").error()),
      testing::HasSubstr("'MPNetForTokenClassification' is not known"));
}

/// The class of all layers of an encoder and a decoder: its table is tied, and nothing goes.
TEST(HfOtherHeads, EncodersAndDecodersWithoutLogits) {
  const auto weights = [](const char* name) {
    const auto read = read_hf_config(std::string(R"({"architectures": [")") + name +
                                         R"("], "d_model": 8, "encoder_layers": 1, "decoder_layers": 1,
      "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
      "vocab_size": 10, "max_position_embeddings": 4})",
        "config.json");
    EXPECT_TRUE(read) << to_text(read.error());
    return read && !read->parts.empty() ? read->parts.front().parameters : 0;
  };
  // words, two tables of 6 places, two norms; 4 and 8 matrices of attention, two MLPs, two and three norms
  EXPECT_EQ(weights("BartModel"), 10 * 8 + 2 * (6 * 8 + 16) + 12 * (64 + 8) + 2 * (2 * 8 * 16 + 16 + 8) + 5 * 16);
  EXPECT_EQ(weights("BartModel"), weights("BartForConditionalGeneration"));
}

}  // namespace
}  // namespace stepcast
