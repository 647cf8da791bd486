// What launches of fine-tuning are told and a forecast would leave out: matrices that are trained whole beside
// adapters, and optimizers and copies of weights in words of a program's own.
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/read/launch_request.h"
#include "tests/studies/launch/meant_launch.h"

namespace stepcast::launch {
namespace {

using meant_launches::meaning_of;
using meant_launches::read_in;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Expected<LaunchReading> read_left_out(const std::string& text, const std::string& where, bool lenient) {
  TRY(const auto launch, read_in(text, where));
  LaunchHints hints;
  hints.gpus = 8, hints.lenient = lenient;
  hints.told.insert(FieldId::sequence);
  return read_meaning(launch, hints);
}

const std::string swift_sft = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B-Instruct --torch_dtype bfloat16 "
                              "--per_device_train_batch_size 1 --max_length 4096 --packing true --dataset x ";

TEST(LeftOut, MatricesTrainedWholeBesideAdaptersAreErrors) {
  const std::string trl = "accelerate launch --num_processes 8 trl/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-7B "
                          "--max_length 4096 --packing --per_device_train_batch_size 1 --bf16 --use_peft --lora_r 8 "
                          "--gradient_checkpointing true ",
                    mcore = "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen2.5-7B-Instruct --tuner_type lora "
                            "--micro_batch_size 1 --global_batch_size 16 --max_length 4096 --packing true --dataset x ",
                    factory =
                        "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\nfinetuning_type: lora\ncutoff_len: 4096\n"
                        "packing: true\nper_device_train_batch_size: 1\nbf16: true\n",
                    axolotl = "base_model: Qwen/Qwen2.5-7B\nadapter: lora\nlora_r: 16\nlora_target_linear: true\n"
                              "sequence_len: 4096\nsample_packing: true\nmicro_batch_size: 1\nbf16: true\n";
  const struct {
    std::string launch, whole;
    const char* where;
  } rows[] = {{swift_sft + "--tuner_type lora ", "--modules_to_save embed_tokens lm_head\n", "run.sh"},
      {trl, "--lora_modules_to_save embed_tokens lm_head\n", "run.sh"},
      {mcore, "--modules_to_save word_embeddings output_layer\n", "run.sh"},
      {factory, "additional_target: embed_tokens,lm_head\n", "run.yaml"},
      {axolotl, "lora_modules_to_save:\n  - embed_tokens\n  - lm_head\n", "run.yaml"}};
  for (const auto& row : rows) {
    EXPECT_TRUE(read_left_out(row.launch + "\n", row.where, false)) << row.launch;
    const auto refused = read_left_out(row.launch + row.whole, row.where, false);
    ASSERT_FALSE(refused) << row.whole;
    EXPECT_THAT(refused.error().what, HasSubstr("trained whole beside adapters")) << row.whole;
    EXPECT_THAT(refused.error().hint, HasSubstr("--lenient")) << row.whole;
    const auto lenient = read_left_out(row.launch + row.whole, row.where, true);
    ASSERT_TRUE(lenient) << to_text(lenient.error());
    EXPECT_THAT(lenient->request.warnings, Contains(HasSubstr("trained whole beside adapters"))) << row.whole;
  }
  // without adapters it says nothing
  EXPECT_TRUE(read_left_out(swift_sft + "--tuner_type full --modules_to_save lm_head\n", "run.sh", false));
}

/// swift/optimizers/mapping.py: Muon in place of --optim; LoRA+ and groups of a network with images keep it.
TEST(LeftOut, OptimizersOfSwiftsOwnAreNoAdam) {
  const auto states = [](const std::string& more) {
    const auto reading = read_left_out(swift_sft + "--tuner_type full " + more + "\n", "run.sh", false);
    if (!reading) return to_text(reading.error());
    return fmt::format("{} bytes", reading->request.stack->row.optimizer_bytes);
  };
  EXPECT_EQ(states("--optim adamw_torch"), states(""));
  EXPECT_NE(states("--optimizer muon"), states(""));
  EXPECT_EQ(states("--optimizer muon --optim adamw_torch"), states("--optim muon"));
  EXPECT_EQ(states("--optimizer multimodal --optim adamw_torch"), states(""));
  for (const char* name : {"galore", "muonclip", "nonsense"})
    EXPECT_THAT(states(fmt::format("--optimizer {}", name)),
        AllOf(HasSubstr("--optimizer"), HasSubstr(fmt::format("the optimizer '{}' is not known", name))));
}

/// src/nanotron/helpers.py: AdamW has the bf16 weights themselves where no accumulator keeps copies in fp32, with two
/// states of 2 bytes each.
TEST(LeftOut, NanotronsCopiesInFp32ComeWithTheAccumulator) {
  const auto stack = [](const char* accumulates) {
    const std::string text =
        fmt::format("model:\n  dtype: bfloat16\n  model_config:\n    hidden_size: 1024\n    intermediate_size: 4096\n"
                    "    num_hidden_layers: 16\n    is_llama_config: true\n    max_position_embeddings: 1024\n"
                    "    num_attention_heads: 8\n    num_key_value_heads: 4\n    vocab_size: 49152\noptimizer:\n"
                    "  accumulate_grad_in_fp32: {}\n  zero_stage: 0\nparallelism:\n  dp: 8\n  pp: 1\n  tp: 1\n"
                    "tokens:\n  micro_batch_size: 1\n  sequence_length: 1024\n  batch_accumulation_per_replica: 1\n",
            accumulates);
    const auto reading = read_left_out(text, "run.yaml", false);
    if (!reading) return to_text(reading.error());
    const Stack& row = reading->request.stack->row;
    return fmt::format("{} {}", row.master_bytes, row.optimizer_bytes);
  };
  EXPECT_EQ(stack("true"), "4 8");
  EXPECT_EQ(stack("false"), "0 4");
}

/// torch.optim.SGD has no momentum unless told: nothing, and 2 bytes of one state in 16 bits.
TEST(LeftOut, SgdOfTorchHasAStateForItsMomentumAlone) {
  const auto states = [](const std::string& more) {
    const auto reading = read_left_out("model:\n  _component_: torchtune.models.llama2.llama2_7b\nbatch_size: 1\n"
                                       "tokenizer:\n  max_seq_len: 2048\ndtype: bf16\noptimizer:\n  lr: 0.1\n"
                                       "  _component_: torch.optim.SGD\n" +
                                           more,
        "run.yaml", false);
    if (!reading) return to_text(reading.error());
    std::string said = fmt::format("{} bytes", reading->request.stack->row.optimizer_bytes);
    for (const std::string& warning : reading->request.warnings)
      if (warning.find("bytes of states") != warning.npos) said += "; " + warning;
    return said;
  };
  EXPECT_THAT(states(""), AllOf(HasSubstr("0 bytes; "), HasSubstr("0 bytes of states")));
  EXPECT_THAT(states("  momentum: 0.9\n"), AllOf(HasSubstr("2 bytes; "), HasSubstr("2 bytes of states")));
}

TEST(LeftOut, WorkersOfRayAreGpus) {
  const auto launch = read_in("model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\nfinetuning_type: lora\n"
                              "cutoff_len: 4096\npacking: true\nper_device_train_batch_size: 1\nbf16: true\n"
                              "ray_num_workers: 4\n");
  ASSERT_TRUE(launch) << to_text(launch.error());
  const auto reading = read_meaning(*launch, LaunchHints{});
  ASSERT_TRUE(reading) << to_text(reading.error());
  EXPECT_EQ(reading->request.said().at("gpus").text, "4");
}

TEST(LeftOut, OpenrlhfIsRecognisedByItsProgramsUnderBothKindsOfNames) {
  for (const char* command : {"openrlhf.cli.train_dpo --train.batch_size 256 --model.model_name_or_path x",
           "openrlhf.cli.train_rm --train.batch_size 256 --ds.zero_stage 3",
           "openrlhf.cli.train_ppo_ray --train_batch_size 256 --zero_stage 3"})
    EXPECT_THAT(meaning_of(fmt::format("deepspeed --module {}\n", command), "run.sh"),
        AllOf(HasSubstr("OpenRLHF"), Not(HasSubstr("Megatron"))))
        << command;
}

/// realpath and readlink -f print where a name lies: the same file; readlink alone prints what a link holds.
TEST(LeftOut, ResolvedNamesInInnerShellsAreFollowed) {
  const auto of = [](const std::string& command) {
    return meaning_of("export ENV_DIR=$(" + command +
                          ")\nsrun bash -c \"${ENV_DIR}/bin/torchrun --nnodes=1 --nproc-per-node=8 pretrain_gpt.py "
                          "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
                          "--max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --bf16 "
                          "--vocab-size 50304\"\n",
        "run.sh");
  };
  for (const char* command :
      {"realpath \"$1\"", "realpath $1", "realpath -eP \"$1\"", "readlink -f /env", "readlink --canonicalize /env"})
    EXPECT_THAT(of(command), AllOf(HasSubstr("megatron-lm"), HasSubstr("global_batch=64"))) << command;
  for (const char* command : {"readlink /env", "realpath --relative-to=/a /env", "realpath /a /b"})
    EXPECT_THAT(of(command), Not(HasSubstr("global_batch=64"))) << command;
}

/// The file with all arguments is named, though no argument tells the framework.
TEST(LeftOut, AFileWithAllArgumentsIsNamed) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "left_out_sourced";
  std::filesystem::create_directories(folder);
  LaunchSource source;
  source.flag = find_launch_flag("--launch");
  source.file = (folder / "run.sh").string();
  std::ofstream(source.file) << "source params/${NAME}.sh\n"
                                "mpirun -np 16 --npernode 8 python pretrain_gpt.py ${ALL_PARAMS[@]}\n";
  const auto launch = read_launch(source);
  std::filesystem::remove_all(folder);
  ASSERT_FALSE(launch);
  EXPECT_THAT(
      to_text(launch.error()), AllOf(HasSubstr("params/${NAME}.sh is not there"), HasSubstr("--files-from FOLDER")));
}

}  // namespace
}  // namespace stepcast::launch
