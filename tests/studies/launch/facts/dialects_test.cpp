#include "studies/launch/facts/dialects.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/read/launch_request.h"
#include "tests/studies/launch/meant_launch.h"

namespace stepcast::launch {
namespace {

using meant_launches::meaning_of;
using meant_launches::read_in;
using testing::HasSubstr;

TEST(Dialects, EveryOneIsReadOrSaysWhatWouldBeNeeded) {
  for (const Dialect& row : dialects()) {
    EXPECT_NE(row.framework.empty(), row.needed.empty()) << row.name;
    if (!row.framework.empty()) {
      EXPECT_NE(find_framework(row.framework), nullptr) << row.name;
    }
  }
  for (const Dialect& row : text_dialects()) EXPECT_FALSE(row.needed.empty()) << row.name;
}

/// A file with the marks of a dialect, all of one alternative together, is told to be of that dialect.
TEST(Dialects, MarksTellTheDialect) {
  for (const Dialect& row : dialects())
    for (std::string_view rest = row.marks; !rest.empty();) {
      std::string_view together = rest.substr(0, rest.find('|'));
      rest.remove_prefix(std::min(rest.size(), together.size() + 1));
      Launch launch;
      for (; !together.empty(); together.remove_prefix(std::min(together.size(), together.find(' ') + 1))) {
        std::string name(together.substr(0, together.find(' ')));
        if (name.ends_with('.')) name += "any";
        launch.arguments.push_back({name, name, "1", 1, {}});
        if (together.find(' ') == together.npos) break;
      }
      const Dialect* found = dialect_of(launch);
      ASSERT_NE(found, nullptr) << row.name;
      EXPECT_EQ(found->name, row.name) << launch.arguments.front().name;
    }
}

TEST(Dialects, WhatIsNotReadIsNamed) {
  const auto maxtext = read_in("base_emb_dim: 4096\nbase_num_decoder_layers: 32\nper_device_batch_size: 4\n");
  ASSERT_FALSE(maxtext);
  EXPECT_THAT(to_text(maxtext.error()), HasSubstr("a configuration of MaxText, which is recognised and not read"));
  EXPECT_THAT(maxtext.error().hint, HasSubstr("--stack jax"));
  const auto colossal = read_in("from colossalai import x\nplugin = dict(tp_size=2)\n", "config.py");
  ASSERT_FALSE(colossal);
  EXPECT_THAT(colossal.error().what, HasSubstr("ColossalAI"));
}

TEST(Dialects, WhatNoForecastFollowsIsAnErrorWithItsLine) {
  const std::string axolotl = "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 4096\nload_in_4bit: ";
  const auto meaning = [&](const std::string& value) {
    const auto launch = read_in(axolotl + value + "\n");
    EXPECT_TRUE(launch) << value;
    const auto reading = read_meaning(*launch, {});
    return reading ? "" : to_text(reading.error());
  };
  EXPECT_THAT(meaning("true"), HasSubstr("run.yaml:3 load_in_4bit true (frozen weights of few bits are not forecast)"));
  EXPECT_THAT(meaning("false"), testing::Not(HasSubstr("load_in_4bit")));
}

const std::string tune = "tokenizer:\n  max_seq_len: 2048\nbatch_size: 1\nmodel:\n  _component_: torchtune.models.";

TEST(Dialects, BuildersOfTorchtuneNameTheirNetwork) {
  EXPECT_THAT(meaning_of(tune + "llama3_1.llama3_1_8b\n"), HasSubstr("torchtune llama3-8b "));
  EXPECT_THAT(meaning_of(tune + "qwen2_5.qwen2_5_7b_instruct\n"), HasSubstr("torchtune qwen2.5-7b "));
  EXPECT_THAT(meaning_of(tune + "gemma2.gemma2_9b\n"), HasSubstr("torchtune gemma2-9b "));
  EXPECT_THAT(meaning_of(tune + "llama2.lora_llama2_7b\n"), HasSubstr("adapters on no projection"));
  EXPECT_THAT(meaning_of(tune + "llama2.lora_llama2_7b\n  lora_attn_modules: ['q_proj', 'output_proj']\n"),
      testing::AllOf(HasSubstr("lora=8"), HasSubstr("lora_on=q,out")));
  EXPECT_THAT(meaning_of(tune + "llama3_1.llama3_1_9b\n"), HasSubstr("do not tell the layers"));
  EXPECT_THAT(meaning_of(tune + "llama2.qlora_llama2_7b\n"), HasSubstr("weights of few bits"));
}

TEST(Dialects, RecipesThatAreNoFineTuningAreRefused) {
  const std::string plain = tune + "llama2.llama2_7b\n";
  EXPECT_THAT(meaning_of(plain + "loss:\n  _component_: torchtune.rlhf.loss.DPOLoss\n"), HasSubstr("by preferences"));
  EXPECT_THAT(meaning_of(plain + "optimizer_in_bwd: True\n"), HasSubstr("updates inside backward"));
  EXPECT_THAT(meaning_of(plain + "quantizer:\n  _component_: x.Int4\n"), HasSubstr("as if weights had few bits"));
  EXPECT_THAT(meaning_of(plain + "made_up: 2\n"), HasSubstr("made_up"));
  EXPECT_THAT(meaning_of(plain + "dtype: fp32\n"), HasSubstr("precision=fp32"));
}

/// Without steps of accumulation it takes as many as make 16 sequences (swift/trainers/arguments.py).
TEST(Dialects, DefaultsOfSwiftAreItsOwn) {
  const std::string swift = "NPROC_PER_NODE=4 swift sft --model Qwen/Qwen3-8B --max_length 4096 ";
  EXPECT_THAT(meaning_of(swift + "--deepspeed zero2\n", "run.sh"),
      testing::AllOf(HasSubstr("ms-swift qwen3-8b "), HasSubstr("gpus=8"), HasSubstr("global_batch=16"),
          HasSubstr("lora=8"), HasSubstr("recompute=full"), HasSubstr("zero=2"), HasSubstr("precision=bf16")));
  EXPECT_THAT(meaning_of(swift + "--tuner_type full --per_device_train_batch_size 3\n", "run.sh"),
      testing::AllOf(HasSubstr("global_batch=24"), testing::Not(HasSubstr("lora="))));
  EXPECT_THAT(meaning_of(swift + "--deepspeed zero3_offload\n", "run.sh"), HasSubstr("in host memory"));
  EXPECT_THAT(meaning_of(swift + "--quant_bits 4\n", "run.sh"), HasSubstr("weights of few bits"));
  EXPECT_THAT(meaning_of(swift + "--torch_dtype float32\n", "run.sh"), HasSubstr("precision=fp32"));
  EXPECT_THAT(meaning_of(swift + "--torch_dtype float64\n", "run.sh"), HasSubstr("'float64' is not known"));
  EXPECT_THAT(meaning_of(swift + "--tuner_type longlora\n", "run.sh"), HasSubstr("some layers alone"));
  EXPECT_THAT(meaning_of("NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --max_length 4096\n", "run.sh"),
      testing::AllOf(HasSubstr("megatron-swift qwen3-8b "), HasSubstr("global_batch=16"), HasSubstr("zero=1"),
          HasSubstr("recompute=selective"), testing::Not(HasSubstr("lora="))));
  EXPECT_THAT(meaning_of("NPROC_PER_NODE=8 swift rlhf --rlhf_type dpo --model Qwen/Qwen3-8B\n", "run.sh"),
      HasSubstr("preferences or rewards"));
}

TEST(Dialects, PresetsOfPrimusAreNamed) {
  const std::string head = "modules:\n  pre_trainer:\n    framework: ",
                    tail = "    overrides:\n      seq_length: 4096\n";
  EXPECT_THAT(meaning_of(head + "megatron\n    model: mixtral_8x7B_v0.1.yaml\n" + tail),
      testing::AllOf(HasSubstr("primus mixtral-8x7b "), HasSubstr("micro_batch=2"), HasSubstr("global_batch=16")));
  EXPECT_THAT(
      meaning_of(head + "megatron\n    model: somebodys_9B.yaml\n" + tail), HasSubstr("do not tell the layers"));
  EXPECT_THAT(meaning_of(head + "maxtext\n    model: llama3_8B.yaml\n" + tail), HasSubstr("only Megatron is read"));
}

TEST(Dialects, ExpertsOfMegaBlocksLieOverAllDataRanks) {
  const std::string line = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 --hidden-size 256 "
                           "--num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 --vocab-size 512 "
                           "--micro-batch-size 1 --moe-expert-model-parallelism --moe-num-experts ";
  EXPECT_THAT(meaning_of(line + "16\n", "run.sh"), HasSubstr(" ep=8"));
  EXPECT_THAT(meaning_of(line + "12\n", "run.sh"), HasSubstr("experts in parts are not forecast"));
  EXPECT_THAT(meaning_of(line + "16 --moe-capacity-factor 17\n", "run.sh"),
      HasSubstr("--moe-capacity-factor: 17 times the mean"));
}

/// Eight ranks have no experts of a dense network to share, and a step has one pass or more.
TEST(Dialects, NanotronsSplitIsThatOfItsNetwork) {
  const auto meaning = [](const char* experts, const char* passes) {
    return meaning_of(fmt::format("model:\n  model_config:\n    hidden_size: 256\n    intermediate_size: 512\n"
                                  "    num_attention_heads: 4\n    num_hidden_layers: 2\n    num_key_value_heads: 4\n"
                                  "    vocab_size: 512\nparallelism:\n  dp: 8\n  expert_parallel_size: {}\n  pp: 1\n"
                                  "  tp: 1\ntokens:\n  batch_accumulation_per_replica: {}\n  micro_batch_size: 1\n"
                                  "  sequence_length: 64\n",
        experts, passes));
  };
  EXPECT_THAT(meaning("1", "2"), HasSubstr("nanotron"));
  EXPECT_THAT(meaning("4", "2"), HasSubstr("ranks of experts, and no layer has any"));
  EXPECT_THAT(meaning("1", "0"), HasSubstr("0 passes of a step (1 or more)"));
}

TEST(Dialects, ADeepSpeedFileThatIsNotThereIsAskedFor) {
  const std::string axolotl =
      "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 4096\ndeepspeed: configs/zero3.json\n";
  const auto refused = read_in(axolotl);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint, HasSubstr("--zero_optimization.stage N"));
}

}  // namespace
}  // namespace stepcast::launch
