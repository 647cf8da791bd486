// Programs that train weights in the type in which they load them, and FSDP's settings as their files spell them.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/read/launch_request.h"
#include "tests/studies/launch/meant_launch.h"

namespace stepcast::launch {
namespace {

using meant_launches::read_in;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Bytes of a parameter beside its weight in bf16: a gradient of 2 and two moments of 2, else a gradient of 4, two
/// moments of 4 and a copy in 32 bits, which FSDP's stack holds as the other 2 bytes of it.
struct ParameterBytes {
  double gradient = 0, master = 0, moments = 0;
  bool operator==(const ParameterBytes&) const = default;
};
constexpr ParameterBytes as_loaded{2, 0, 4};

ParameterBytes bytes_of(const std::string& text, const std::string& where, std::set<FieldId> told = {}) {
  auto launch = read_in(text, where);
  EXPECT_TRUE(launch) << to_text(launch.error()) << text;
  if (!launch) return {};
  launch->told = std::move(told);
  LaunchHints hints;
  hints.gpus = 8;
  hints.told.insert(FieldId::sequence);  // as if --seq told it where samples are not packed
  const auto reading = read_meaning(*launch, hints);
  EXPECT_TRUE(reading) << to_text(reading.error()) << text;
  if (!reading) return {};
  const Stack& stack = reading->request.stack->row;
  return {stack.gradient_bytes, stack.master_bytes, stack.optimizer_bytes};
}

const std::string swift = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B-Instruct --max_length 2048 "
                          "--tuner_type full ";
const std::string trainer = "torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen3-8B --bf16 "
                            "--max_seq_length 2048 --per_device_train_batch_size 1 ";

TEST(LoadedWeights, SwiftTrainsThemAsTheyAre) {
  EXPECT_EQ(bytes_of(swift, "run.sh"), as_loaded);
  EXPECT_EQ(bytes_of(swift + "--torch_dtype bfloat16\n", "run.sh"), as_loaded);
  EXPECT_NE(bytes_of(swift + "--deepspeed zero2\n", "run.sh"), as_loaded) << "DeepSpeed has copies";
  EXPECT_NE(bytes_of(swift + "--fsdp full_shard\n", "run.sh"), as_loaded) << "accelerate makes copies for FSDP";
  EXPECT_NE(bytes_of(swift + "--torch_dtype float32\n", "run.sh"), as_loaded);
  EXPECT_NE(bytes_of(swift + "--torch_dtype float32 --bf16 true\n", "run.sh"), as_loaded) << "loaded in 32 bits";
  EXPECT_EQ(bytes_of(swift + "--torch_dtype bfloat16 --bf16 true\n", "run.sh"), as_loaded);
  EXPECT_NE(bytes_of(swift, "run.sh", {FieldId::zero}), as_loaded) << "--zero is another run";
  std::string adapters = swift;
  adapters.replace(adapters.find("full"), 4, "lora");
  EXPECT_NE(bytes_of(adapters, "run.sh"), as_loaded);
}

TEST(LoadedWeights, TheTypeOfTheTrainersProgramsIsTold) {
  EXPECT_NE(bytes_of(trainer, "run.sh"), as_loaded) << "loaded in 32 bits unless told";
  for (const char* type : {"bfloat16", "auto", "torch.bfloat16"})
    EXPECT_EQ(bytes_of(trainer + "--torch_dtype " + type + "\n", "run.sh"), as_loaded) << type;
  EXPECT_EQ(bytes_of(trainer + "--dtype bfloat16\n", "run.sh"), as_loaded);
  EXPECT_NE(bytes_of(trainer + "--torch_dtype float32\n", "run.sh"), as_loaded);
  EXPECT_NE(bytes_of(trainer + "--torch_dtype bfloat16 --fsdp full_shard\n", "run.sh"), as_loaded);
  EXPECT_NE(bytes_of(trainer + "--torch_dtype bfloat16 --use_peft --lora_r 8\n", "run.sh"), as_loaded);
  const std::string file = "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\nmodel_name_or_path: "
                           "Qwen/Qwen3-8B\nper_device_train_batch_size: 1\nmax_length: 2048\ntorch_dtype: bfloat16\n";
  EXPECT_NE(bytes_of(file + "fsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n", "run.yaml"), as_loaded);
  std::string copies = file;
  copies.replace(copies.find("FSDP"), 4, "MULTI_GPU");
  EXPECT_EQ(bytes_of(copies, "run.yaml"), as_loaded);
}

/// Engines that accelerate is told to start, and switches that say the opposite.
TEST(LoadedWeights, EnginesThatAccelerateStartsKeepCopies) {
  const auto run = [](const std::string& engine) {
    return bytes_of("accelerate launch --num_processes 8 " + engine +
                        " train.py --model_name_or_path Qwen/Qwen3-8B --max_seq_length 2048 "
                        "--per_device_train_batch_size 1 --bf16 --torch_dtype bfloat16\n",
        "run.sh");
  };
  EXPECT_EQ(run(""), as_loaded);
  for (const char* engine : {"--use_deepspeed", "--use_fsdp", "--use_deepspeed --zero_stage 0",
           "--use_deepspeed --zero_stage 1", "--use_deepspeed --zero_stage 3", "--use_fsdp --fsdp_version 2"})
    EXPECT_NE(run(engine), as_loaded) << engine;
  for (const char* stage : {"0", "1", "2"})
    EXPECT_NE(bytes_of(trainer + "--torch_dtype bfloat16 --zero_stage " + stage + "\n", "run.sh"), as_loaded) << stage;
  EXPECT_EQ(bytes_of(trainer + "--torch_dtype bfloat16 --deepspeed null\n", "run.sh"), as_loaded);
}

TEST(LoadedWeights, AxolotlLoadsThemInTheTypeOfItsProducts) {
  const std::string axolotl = "base_model: Qwen/Qwen3-8B\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: ";
  EXPECT_EQ(bytes_of(axolotl + "true\n", "run.yaml"), as_loaded);
  EXPECT_NE(bytes_of(axolotl + "true\ndeepspeed: deepspeed_configs/zero1.json\n", "run.yaml"), as_loaded);
  EXPECT_NE(bytes_of(axolotl + "true\nfsdp:\n  - full_shard\n  - auto_wrap\n", "run.yaml"), as_loaded);
  EXPECT_NE(bytes_of(axolotl + "true\nadapter: lora\nlora_r: 8\nlora_target_linear: true\n", "run.yaml"), as_loaded);
  EXPECT_NE(bytes_of(axolotl + "false\n", "run.yaml"), as_loaded);
  EXPECT_EQ(bytes_of(axolotl + "false\nbfloat16: true\n", "run.yaml"), as_loaded) << "the same type";
  EXPECT_EQ(bytes_of(axolotl + "true\nfsdp_version: 2\n", "run.yaml"), as_loaded) << "a version alone starts nothing";
}

/// What a file of ms-swift's says of FSDP is known: weights that stay whole behind forward are stage 2.
TEST(LoadedWeights, SwiftsFilesOfFsdpAreRead) {
  const auto zero = [](const std::string& settings) {
    const auto launch = read_in("cat > fsdp.json <<EOF\n{\"fsdp\": \"full_shard auto_wrap\", \"fsdp_config\": {" +
                                    settings + "}}\nEOF\n" + swift + "--fsdp fsdp.json\n",
        "run.sh");
    LaunchHints hints;
    hints.gpus = 8;
    hints.told.insert(FieldId::sequence);
    const auto reading = launch ? read_meaning(*launch, hints) : tl::unexpected(launch.error());
    return reading ? reading->request.said().at("zero").text : to_text(reading.error());
  };
  const std::string kept = "\"auto_wrap_policy\": \"TRANSFORMER_BASED_WRAP\", \"state_dict_type\": "
                           "\"SHARDED_STATE_DICT\", \"transformer_cls_names_to_wrap\": \"Qwen2DecoderLayer\", "
                           "\"reshard_after_forward\": ";
  EXPECT_EQ(zero(kept + "true"), "3");
  EXPECT_EQ(zero(kept + "false"), "2");
  EXPECT_THAT(zero("\"activation_cpu_offload\": true"), HasSubstr("in host memory"));
  EXPECT_EQ(zero("\"activation_cpu_offload\": false"), "3");
  EXPECT_THAT(zero("\"made_up\": true"), HasSubstr("made_up"));
}

/// Two GPUs are seen, and accelerate starts a rank for each; where four are, a rank's layers lie over two.
TEST(LoadedWeights, AcceleratesRanksOfSwiftCount) {
  const std::string ranks = " accelerate launch --num_processes 2 swift/cli/sft.py --model Qwen/Qwen2.5-7B-Instruct "
                            "--tuner_type lora --packing true --max_length 2048\n";
  const auto more = read_in("CUDA_VISIBLE_DEVICES=0,1,2,3" + ranks, "run.sh");
  EXPECT_THAT(more ? "" : to_text(more.error()), HasSubstr("4 GPUs for 2 ranks of a node"));
  const auto launch = read_in("CUDA_VISIBLE_DEVICES=0,1" + ranks, "run.sh");
  ASSERT_TRUE(launch) << to_text(launch.error());
  const auto reading = read_meaning(*launch, {});
  ASSERT_TRUE(reading) << to_text(reading.error());
  EXPECT_EQ(reading->request.said().at("gpus").text, "2");
}

}  // namespace
}  // namespace stepcast::launch
