// Losses that do not make all logits at once, whichever program asks for them: what the forecast has of the logits.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/read/launch_request.h"
#include "tests/studies/launch/meant_launch.h"

namespace stepcast::launch {
namespace {

using meant_launches::read_in;
using testing::Contains;
using testing::HasSubstr;

LaunchReading reading_of(const std::string& text, const std::string& where) {
  const auto launch = read_in(text, where);
  EXPECT_TRUE(launch) << to_text(launch.error()) << text;
  LaunchHints hints;
  hints.gpus = 8, hints.told.insert(FieldId::sequence);
  auto reading = launch ? read_meaning(*launch, hints) : tl::unexpected(launch.error());
  EXPECT_TRUE(reading) << to_text(reading.error()) << text;
  return reading ? std::move(*reading) : LaunchReading{};
}

/// "by width" of Liger, "again" where backward makes them again.
std::string loss_of(const std::string& text, const std::string& where) {
  const LaunchReading reading = reading_of(text, where);
  if (!reading.request.stack) return "no stack";
  const LossForm& loss = reading.request.stack->row.loss;
  constexpr const char* pieces[] = {"whole", "count", "tokens", "by width", "on chip"};
  std::string said = pieces[static_cast<int>(loss.pieces)];
  if (loss.size > 0) said += fmt::format(" {}", loss.size);
  if (loss.kept) said += " kept";
  if (loss.whole_product) said += " of all logits";
  for (const auto& statement : reading.request.statements)
    if (statement.text.find("loss") != statement.text.npos) said += " again";
  return said;
}

const std::string swift_of_losses =
                      "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-1.5B --train_type full --dataset x "
                      "--torch_dtype bfloat16 --packing true --max_length 32768 --deepspeed zero2 "
                      "--per_device_train_batch_size 1 ",
                  trl = "accelerate launch --num_processes 8 trl/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-1.5B "
                        "--bf16 --packing true --max_length 8192 --gradient_checkpointing true "
                        "--per_device_train_batch_size 1 ",
                  older = "accelerate launch --num_processes 8 trl/scripts/sft.py --model_name_or_path "
                          "Qwen/Qwen2.5-1.5B --bf16 --packing true --max_seq_length 8192 "
                          "--gradient_checkpointing true --per_device_train_batch_size 1 ",
                  factory = "model_name_or_path: Qwen/Qwen2.5-1.5B\nstage: sft\nfinetuning_type: full\n"
                            "cutoff_len: 8192\npacking: true\nper_device_train_batch_size: 1\nbf16: true\n",
                  axolotl = "base_model: Qwen/Qwen2.5-1.5B\nsequence_len: 8192\nsample_packing: true\n"
                            "micro_batch_size: 1\nbf16: true\n",
                  tune = "model:\n  _component_: torchtune.models.qwen2_5.qwen2_5_1_5b_base\nbatch_size: 1\n"
                         "tokenizer:\n  max_seq_len: 8192\ndtype: bf16\nloss:\n  _component_: ";

TEST(ToldLosses, EachProgramsWordsMeanTheirLoss) {
  const struct {
    std::string text, where, loss;
  } rows[] = {{swift_of_losses, "run.sh", "whole"}, {swift_of_losses + "--use_liger_kernel true", "run.sh", "by width"},
      {swift_of_losses + "--use_liger_kernel false", "run.sh", "whole"},
      {trl + "--use_liger_kernel", "run.sh", "by width"},
      {trl + "--loss_type chunked_nll", "run.sh", "tokens 256 again"}, {trl + "--loss_type nll", "run.sh", "whole"},
      {trl, "run.sh", "tokens 256 again"}, {older, "run.sh", "whole"}, {factory, "run.yaml", "whole"},
      {factory + "enable_liger_kernel: true\n", "run.yaml", "by width"}, {axolotl, "run.yaml", "whole"},
      {axolotl + "plugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_fused_linear_cross_entropy: true\n",
          "run.yaml", "by width"},
      {axolotl + "plugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_rms_norm: true\n", "run.yaml", "whole"},
      {axolotl + "plugins:\n  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n", "run.yaml",
          "on chip again"},
      {axolotl + "chunked_cross_entropy: true\nchunked_cross_entropy_num_chunks: 4\n", "run.yaml",
          "count 4 kept of all logits"},
      {tune + "torch.nn.CrossEntropyLoss\n", "run.yaml", "whole"},
      {tune + "torchtune.modules.loss.LinearCrossEntropyLoss\n", "run.yaml", "count 8 kept"},
      {tune + "torchtune.modules.loss.LinearCrossEntropyLoss\n  num_output_chunks: 16\n", "run.yaml", "count 16 kept"},
      {tune + "torchtune.modules.loss.CEWithChunkedOutputLoss\n", "run.yaml", "count 8 kept of all logits"}};
  for (const auto& row : rows) EXPECT_EQ(loss_of(row.text, row.where), row.loss) << row.text;
}

/// One that nobody knows is forecast with all logits, and said.
TEST(ToldLosses, AnUnknownOneIsWarnedOf) {
  EXPECT_THAT(reading_of(tune + "my.own.Loss\n", "run.yaml").request.warnings,
      Contains(HasSubstr("how many logits this loss makes at once is not known")));
}

/// trl/trainer/sft_config.py: which of both defaults holds is said where the launch fits releases of both.
TEST(ToldLosses, TheOtherDefaultOfTrlIsNamed) {
  EXPECT_THAT(reading_of(trl, "run.sh").notes,
      Contains(HasSubstr("TRL's own from 1.7.0 of June 2026 on; before, it makes all logits")));
}

/// torchtitan/config/configs.py: 2 bytes of a weight, 2 of its gradient and 4 of states, for 16 in all else.
TEST(ToldLosses, TypesThatShardsAreKeptInAreTheirs) {
  const std::string titan = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n"
                            "seq_len = 8192\n[parallelism]\ndata_parallel_shard_degree = -1\n";
  const auto bytes = [](const std::string& text, const char* where) {
    const Stack stack = reading_of(text, where).request.stack->row;
    return 2 + stack.gradient_bytes + stack.master_bytes + stack.optimizer_bytes;
  };
  const std::string type = "[training]\n";
  std::string narrow = titan;
  narrow.insert(narrow.find(type) + type.size(), "dtype = \"bfloat16\"\n");
  EXPECT_EQ(bytes(titan, "run.toml"), 16);
  EXPECT_EQ(bytes(narrow, "run.toml"), 8);
  const std::string verl = "torchrun --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer data.train_files=x "
                           "model.partial_pretrain=Qwen/Qwen2.5-1.5B data.micro_batch_size_per_gpu=4 "
                           "data.train_batch_size=256 data.max_length=2048 ";
  EXPECT_EQ(bytes(verl, "run.sh"), 16);
  EXPECT_EQ(bytes(verl + "model.fsdp_config.model_dtype=bf16", "run.sh"), 8);
  EXPECT_EQ(bytes(factory, "run.yaml"), 16);
  std::string pure = factory;
  pure.replace(pure.find("bf16: true"), 10, "pure_bf16: true");
  EXPECT_EQ(bytes(pure, "run.yaml"), 8);
}

}  // namespace
}  // namespace stepcast::launch
