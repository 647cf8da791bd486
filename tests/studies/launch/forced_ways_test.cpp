// What a launch does not say and its software does all the same: shards and overlap that a name or a recipe brings.
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/meant_launch.h"

namespace stepcast::launch {
namespace {

using meant_launches::meaning_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string of_megatron(const std::string& more) {
  return meaning_of("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
                    "--num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 --vocab-size 32000 "
                    "--micro-batch-size 1 --global-batch-size 512 --bf16 " +
                        more + "\n",
      "run.sh");
}

/// megatron_fsdp.py sets both overlaps where all is in shards, and that of gradients where weights are not.
TEST(ForcedWays, ShardersThatOverlapWhateverTheyAreTold) {
  const std::string fully = "--use-distributed-optimizer --use-megatron-fsdp --data-parallel-sharding-strategy ",
                    both = "--overlap-grad-reduce --overlap-param-gather ";
  const auto on = AllOf(HasSubstr("dp_overlap=on"), Not(HasSubstr("param_overlap=")));
  EXPECT_THAT(of_megatron(fully + "optim_grads_params"), on);
  EXPECT_EQ(of_megatron(fully + "optim_grads_params"), of_megatron(fully + "optim_grads_params " + both));
  EXPECT_THAT(of_megatron(fully + "optim_grads"), AllOf(HasSubstr("dp_overlap=on"), HasSubstr("param_overlap=off")));
  EXPECT_THAT(of_megatron(fully + "optim"), Not(HasSubstr("overlap=on")));
  EXPECT_THAT(of_megatron("--use-torch-fsdp2"), on);
  EXPECT_THAT(of_megatron("--use-distributed-optimizer"), Not(HasSubstr("overlap=on")));
  EXPECT_THAT(of_megatron(both + "--use-distributed-optimizer"), on);
}

/// transformer_config.py: a list of kinds has one for each layer; what mixes them is no all-to-all inside a ring.
TEST(ForcedWays, KindsOfContextParallelism) {
  const auto notes = [](const std::string& kinds) {
    const auto launch = meant_launches::read_in("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 2 "
                                                "--hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
                                                "--max-position-embeddings 2048 --vocab-size 32000 --bf16 "
                                                "--micro-batch-size 1 --global-batch-size 512 "
                                                "--context-parallel-size 2 --cp-comm-type " +
                                                    kinds + "\n",
        "run.sh");
    if (!launch) return to_text(launch.error());
    const auto reading = read_meaning(*launch, {});
    if (!reading) return to_text(reading.error());
    std::string all;
    for (const std::string& note : reading->notes) all += note + "\n";
    return all;
  };
  EXPECT_THAT(notes("p2p a2a"), HasSubstr("ring in some layers and all-to-all in others"));
  EXPECT_THAT(notes("p2p all_gather p2p"), HasSubstr("ring in some layers and gather in others is forecast as ring"));
  EXPECT_THAT(notes("allgather a2a"), HasSubstr("gather in some layers and all-to-all in others"));
  EXPECT_THAT(notes("allgather"), Not(HasSubstr("in others")));
  EXPECT_THAT(notes("a2a+p2p"), HasSubstr("all-to-all inside and ring outside"));
  EXPECT_THAT(notes("a2a"), Not(HasSubstr("forecast as a ring")));
}

/// A launch of Megatron-LM with more words.
Expected<Launch> megatron_with(const std::string& more) {
  return meant_launches::read_in("torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 "
                                 "--hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "
                                 "--max-position-embeddings 2048 --vocab-size 32000 --bf16 "
                                 "--micro-batch-size 1 --global-batch-size 512 " +
                                     more + "\n",
      "run.sh");
}

/// What it is warned of.
std::string warned_of(const std::string& more) {
  const auto launch = megatron_with(more);
  if (!launch) return to_text(launch.error());
  const auto reading = read_meaning(*launch, {});
  return reading ? fmt::format("{}", fmt::join(reading->request.warnings, "\n")) : to_text(reading.error());
}

/// What scales fp8 otherwise than by tensors is said, and what has one scale per tensor is not.
TEST(ForcedWays, ScalesOfBlocksAndRowsAreSaid) {
  EXPECT_THAT(warned_of("--fp8-format e4m3 --fp8-recipe blockwise"), HasSubstr("1 x 128 numbers"));
  for (const char* recipe : {"delayed", "tensorwise", "mxfp8"})
    EXPECT_THAT(warned_of(std::string("--fp8-format e4m3 --fp8-recipe ") + recipe), Not(HasSubstr("one scale")));
}

/// Two operators with masks of their own: each is trained with or without.
TEST(ForcedWays, EitherDropoutIsForecastAlone) {
  const auto trained = [](const std::string& arguments) {
    const auto launch = megatron_with(arguments);
    EXPECT_TRUE(launch) << to_text(launch.error());
    const auto reading = read_meaning(*launch, {});
    EXPECT_TRUE(reading) << to_text(reading.error());
    const NetworkSpec& spec = reading->request.network->row;
    return std::string(!spec.dropout               ? "none"
                       : spec.no_attention_dropout ? "hidden"
                       : spec.no_hidden_dropout    ? "attention"
                                                   : "both");
  };
  EXPECT_EQ(trained("--attention-dropout 0"), "hidden") << "the other is 0.1 unless told";
  EXPECT_EQ(trained("--hidden-dropout 0.0 --attention-dropout 0.1"), "attention");
  EXPECT_EQ(trained("--attention-dropout 0 --hidden-dropout 0.0"), "none");
  for (const char* both : {"", "--hidden-dropout 0.2"}) EXPECT_EQ(trained(both), "both") << both;
}

/// Of a network that is named, the one that is not told is the network's: no dropout of Qwen's, none of attention's of
/// OPT's.
TEST(ForcedWays, TheDropoutThatIsNotToldIsTheNetworks) {
  const auto trained = [](const std::string& text, const std::string& where) {
    const auto launch = meant_launches::read_in(text, where);
    LaunchHints hints;
    hints.gpus = 8;
    const auto reading = launch ? read_meaning(*launch, hints) : tl::unexpected(launch.error());
    if (!reading) return to_text(reading.error());
    const NetworkSpec& spec = reading->request.network->row;
    return fmt::format("{}{}{}", spec.dropout ? "drops" : "none", spec.no_attention_dropout ? ", not scores" : "",
        spec.no_hidden_dropout ? ", not the stream" : "");
  };
  const std::string swift = "megatron sft --model Qwen/Qwen2.5-7B --packing true --max_length 4096 ",
                    bridge = "def run_8gpu_h100_config() -> ConfigContainer:\n    cfg = _pretrain_common()\n"
                             "    cfg.model = AutoBridge.from_hf_pretrained('Qwen/Qwen3-8B').get_model_config()\n";
  EXPECT_EQ(trained(swift + "--attention_dropout 0\n", "run.sh"), "none");
  EXPECT_EQ(trained(swift + "--attention_dropout 0.1\n", "run.sh"), "drops, not the stream");
  EXPECT_EQ(trained(swift + "--hidden_dropout 0.1\n", "run.sh"), "drops, not scores");
  EXPECT_EQ(trained(bridge + "    cfg.model.attention_dropout = 0.0\n    return cfg\n", "run.py"), "none");
  EXPECT_EQ(trained(bridge + "    cfg.model.hidden_dropout = 0.0\n    return cfg\n", "run.py"), "none");
}

/// Reinforcement learning is not the step that its arguments tell.
TEST(ForcedWays, RolloutsInFrontOfAStepAreRefused) {
  EXPECT_THAT(of_megatron("--perform-rl-step"), HasSubstr("answers that are generated"));
  EXPECT_THAT(meaning_of("torchrun --nproc_per_node 8 train_rl.py --num-layers 24 --hidden-size 2048\n", "run.sh"),
      HasSubstr("Megatron-LM's reinforcement learning"));
  EXPECT_THAT(of_megatron(""), HasSubstr("megatron-lm"));
}

/// Whoever starts Megatron Core.
TEST(ForcedWays, DistMuonsSharesAreSaidOfAllThatRunIt) {
  const char* said = "the optimizer dist_muon lies in shards";
  const auto notes = [](const std::string& text) {
    const auto launch = meant_launches::read_in(text, "run.sh");
    if (!launch) return to_text(launch.error());
    LaunchHints hints;
    hints.gpus = 8;
    const auto reading = read_meaning(*launch, hints);
    return reading ? fmt::format("{}", fmt::join(reading->notes, "\n")) : to_text(reading.error());
  };
  EXPECT_THAT(notes("megatron sft --model Qwen/Qwen2.5-7B --optimizer dist_muon --packing true --max_length 4096\n"),
      HasSubstr(said));
  EXPECT_THAT(notes("megatron sft --model Qwen/Qwen2.5-7B --packing true --max_length 4096\n"), Not(HasSubstr(said)));
}

/// swift/megatron/arguments/megatron_args.py: the optimizer in shards is its default, and switched off beside Muon.
TEST(ForcedWays, SwiftSwitchesShardsOffBesideMuon) {
  const auto run = [](const std::string& more) {
    return meaning_of("megatron sft --model Qwen/Qwen2.5-7B --packing true --max_length 4096 " + more + "\n", "run.sh");
  };
  EXPECT_THAT(run(""), HasSubstr("zero=1"));
  EXPECT_THAT(run("--optimizer muon"), AllOf(HasSubstr("megatron-swift"), Not(HasSubstr("zero=1"))));
  EXPECT_THAT(run("--optimizer muon --use_distributed_optimizer true"), Not(HasSubstr("zero=1")));
  EXPECT_THAT(run("--optimizer dist_muon"), HasSubstr("zero=1"));
  for (const char* muon : {"muon", "dist_muon"})
    EXPECT_THAT(
        run(std::string("--use_megatron_fsdp true --optimizer ") + muon), HasSubstr("Megatron-FSDP does not take"));
  EXPECT_THAT(run("--use_megatron_fsdp true --optimizer adam"), HasSubstr("zero=3"));
}

TEST(ForcedWays, ShardsThatTheNameOfAnOptimizerBrings) {
  EXPECT_THAT(of_megatron("--optimizer dist_muon"), HasSubstr("zero=1"));
  EXPECT_THAT(of_megatron("--optimizer muon --use-distributed-optimizer"), HasSubstr("zero=1"));
  EXPECT_THAT(of_megatron("--optimizer muon"), Not(HasSubstr("zero=1")));
}

/// recipes/common.py: the optimizer of all recipes lies in shards, and pretraining overlaps.
TEST(ForcedWays, RecipesOfBridgeThatAreNotReadStartFromTheirCommonOnes) {
  const auto run = [](const std::string& recipe, const std::string& more) {
    return meaning_of("torchrun --nproc_per_node 8 scripts/training/run_recipe.py --recipe " + recipe +
                          " model.tensor_model_parallel_size=1 model.pipeline_model_parallel_size=1 "
                          "model.context_parallel_size=1 train.micro_batch_size=1 train.global_batch_size=64 "
                          "model.seq_length=4096 " +
                          more + "\n",
        "run.sh");
  };
  const std::string pretrain = "llama3_8b_pretrain_config";
  EXPECT_THAT(
      run(pretrain, ""), AllOf(HasSubstr("zero=1"), HasSubstr("dp_overlap=on"), Not(HasSubstr("param_overlap="))));
  EXPECT_THAT(run(pretrain, "ddp.use_megatron_fsdp=True"), AllOf(HasSubstr("zero=3"), HasSubstr("dp_overlap=on")));
  EXPECT_THAT(
      run(pretrain, "ddp.use_megatron_fsdp=True ddp.data_parallel_sharding_strategy=optim_grads"), HasSubstr("zero=2"));
  EXPECT_THAT(run(pretrain, "ddp.overlap_grad_reduce=False ddp.overlap_param_gather=False"),
      AllOf(HasSubstr("zero=1"), Not(HasSubstr("overlap=on"))));
  EXPECT_THAT(run(pretrain, "ddp.use_distributed_optimizer=False"), Not(HasSubstr("zero=1")));
  EXPECT_THAT(run("llama3_8b_sft_config", ""), HasSubstr("zero=1"));
}

}  // namespace
}  // namespace stepcast::launch
