// Every rule speaks where it should and is silent beside: one row per rule and case.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/rules/interaction_rule.h"
#include "tests/studies/launch/typed_launch.h"

namespace stepcast::launch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing_launch::changed_launch;

struct RuleCase {
  const char* id;
  Launch (*base)();
  const char* changes;    ///< to the base, so that the rule speaks
  const char* text;       ///< part of what it says
  const char* silent;     ///< changes so that it just does not
  int gpus = 0;           ///< 0: the base's
  bool forecast = false;  ///< rules about figures need one
  const char* connections = "1";
  int silent_gpus = 0;
};

using testing_launch::quiet_deepspeed;
using testing_launch::quiet_megatron;
using testing_launch::quiet_torchtitan;

/// In Megatron-DeepSpeed's words.
Launch quiet_megatron_deepspeed() {
  Launch launch =
      changed_launch(quiet_megatron(), "!--group-query-attention !--num-query-groups !--use-distributed-optimizer "
                                       "!--overlap-grad-reduce !--overlap-param-gather");
  launch.framework = find_framework("megatron-deepspeed");
  return launch;
}

const RuleCase rule_cases[] = {
    {"ranks over axes", quiet_megatron, "--tensor-model-parallel-size 3",
        "32 GPUs are no multiple of tp 3 x pp 2 x cp 1 = 6", "--tensor-model-parallel-size 4"},
    {"sp without tp", quiet_megatron, "--tensor-model-parallel-size 1", "--sequence-parallel has no effect at tp 1",
        "!--sequence-parallel --tensor-model-parallel-size 1"},
    {"experts want sp", quiet_megatron, "--num-experts 8 !--sequence-parallel",
        "experts at tp 2 need --sequence-parallel", "--num-experts 8"},
    {"heads over tp", quiet_megatron, "--num-attention-heads 33", "tp 2 does not divide 33 attention heads",
        "--num-attention-heads 34"},
    {"groups over tp", quiet_megatron, "--num-query-groups 3", "tp 2 neither divides 3 query groups",
        "--num-query-groups 1"},
    {"repeated groups", quiet_megatron, "--num-query-groups 1", "2 ranks each make the same keys and values",
        "--num-query-groups 2"},
    {"tp across nodes", quiet_megatron, "--tensor-model-parallel-size 16", "tp 16 spans 2 nodes of 8 GPUs",
        "--tensor-model-parallel-size 8"},
    {"tensor overlap without sp", quiet_megatron, "--tp-comm-overlap !--sequence-parallel",
        "--tp-comm-overlap needs --sequence-parallel", "--tp-comm-overlap"},
    {"one connection missing", quiet_megatron, "", "tp 2, cp 1: Megatron-LM stops unless CUDA_DEVICE_MAX_CONNECTIONS=1",
        "--tensor-model-parallel-size 1", 0, false, ""},
    {"one connection under fsdp", quiet_megatron, "--use-megatron-fsdp", "--use-megatron-fsdp is refused beside", ""},
    {"fsdp and other optimizers", quiet_megatron, "--use-megatron-fsdp --optimizer muon",
        "--use-megatron-fsdp takes sgd or adam", "--use-megatron-fsdp --optimizer sgd"},
    {"fsdp of version 2", quiet_megatron, "--use-megatron-fsdp --megatron-fsdp-version 2",
        "--megatron-fsdp-version 2 is refused beside --use-distributed-optimizer",
        "--use-megatron-fsdp --megatron-fsdp-version 1"},
    {"sequence over cp", quiet_megatron, "--context-parallel-size 4 --seq-length 8188", "no multiple of 2 x cp 4 = 8",
        "--context-parallel-size 4"},
    // 8 key heads at tp 2: 4 of a rank
    {"heads over cp", quiet_megatron, "--context-parallel-size 8 --cp-comm-type a2a", "cp 8 by all-to-all",
        "--context-parallel-size 4 --cp-comm-type a2a"},
    {"kinds of cp over layers", quiet_megatron, "--context-parallel-size 2 --cp-comm-type p2p a2a",
        "--cp-comm-type has 2 kinds for 32 layers", "--context-parallel-size 2 --cp-comm-type a2a"},
    {"sequence over tp", quiet_megatron, "--seq-length 8191", "sequence 8191 is no multiple of tp 2 x cp 1",
        "--seq-length 8191 !--sequence-parallel"},
    {"ep without experts", quiet_megatron, "--expert-model-parallel-size 4",
        "ep 4 without experts: --num-experts is missing", "--expert-model-parallel-size 4 --num-experts 8"},
    {"ep over experts", quiet_megatron, "--expert-model-parallel-size 4 --num-experts 6",
        "ep 4 does not divide 6 experts", "--expert-model-parallel-size 4 --num-experts 8"},
    // 32 GPUs over pp 2: 16 ranks; ep 8 x etp 4 = 32 are too many, ep 8 x etp 2 fill them.
    {"experts over ranks", quiet_megatron,
        "--num-experts 8 --expert-model-parallel-size 8 --expert-tensor-parallel-size 4",
        "ep 8 x etp 4 = 32 does not divide the 16 ranks of a stage", "--num-experts 8 --expert-model-parallel-size 8"},

    {"chunks without stages", quiet_megatron,
        "--pipeline-model-parallel-size 1 --num-virtual-stages-per-pipeline-rank 2", "at pp 1",
        "--num-virtual-stages-per-pipeline-rank 2"},
    {"chunks on two stages", quiet_megatron, "--num-virtual-stages-per-pipeline-rank 2 --no-overlap-p2p-communication",
        "with --no-overlap-p2p-communication: refused", "--num-virtual-stages-per-pipeline-rank 2"},
    {"batches over stages", quiet_megatron, "--num-virtual-stages-per-pipeline-rank 2 --global-batch-size 136",
        "17 micro-batches are no multiple of pp 2: the interleaved schedule is illegal", "--global-batch-size 136"},
    {"layers over stages", quiet_megatron, "--num-layers 31", "31 layers do not divide over pp 2 x 1 virtual stage = 2",
        "--num-layers 31 --account-for-embedding-in-pipeline-split"},
    {"chunk over stage", quiet_megatron, "--num-layers-per-virtual-pipeline-stage 5",
        "5 does not divide the 16 layers of a stage", "--num-layers-per-virtual-pipeline-stage 4"},
    {"chunks said twice", quiet_megatron,
        "--num-virtual-stages-per-pipeline-rank 2 --num-layers-per-virtual-pipeline-stage 8", "only one of them",
        "--num-virtual-stages-per-pipeline-rank 2"},
    {"overlap without chunks", quiet_megatron, "--overlap-p2p-communication", "has no effect without virtual stages",
        "--overlap-p2p-communication --num-virtual-stages-per-pipeline-rank 2"},
    // m 4 on 2 stages: 1/(4 + 1) idle; at 8 of them 1/9.
    {"few batches", quiet_megatron, "--global-batch-size 32",
        "4 micro-batches on 2 stages: the ranks stand idle at least 20.0 % of the pipeline's time; with 8 it would be "
        "about 11.1 %",
        "--global-batch-size 64"},
    {"batches below stages", quiet_torchtitan, "--training.local_batch_size 1", "makes 1 micro-batches for 2 stages",
        "--training.local_batch_size 2"},
    {"batch not said", quiet_megatron, "!--global-batch-size", "micro-batch 1 x dp 8 = 8, one micro-batch per step",
        ""},
    {"batch over ranks", quiet_megatron, "--global-batch-size 130", "130 is no multiple of micro-batch 1 x dp 8 = 8",
        "--global-batch-size 136"},
    {"batch sizes disagree", quiet_deepspeed, "--gradient_accumulation_steps 8",
        "64, but micro-batch 2 x 8 accumulation steps x dp 8 = 128", "!--gradient_accumulation_steps"},
    {"batch ramps up", quiet_megatron, "--rampup-batch-size 16 16 1000000", "the first steps take fewer micro-batches",
        ""},

    {"lone optimizer", quiet_megatron, "", "--use-distributed-optimizer has no effect at dp 1",
        "--context-parallel-size 2", 4, false, "1", 8},
    {"lone gradients", quiet_megatron, "", "--overlap-grad-reduce has no effect at dp 1", "", 4, false, "1", 8},
    {"lone weights", quiet_megatron, "", "--overlap-param-gather has no effect at dp 1", "!--overlap-param-gather", 4},
    {"gathers without shards", quiet_megatron, "!--use-distributed-optimizer",
        "refused without --use-distributed-optimizer", "!--use-distributed-optimizer --use-megatron-fsdp"},
    {"gathers without reduces", quiet_megatron, "!--overlap-grad-reduce", "refused without --overlap-grad-reduce",
        "!--overlap-grad-reduce !--overlap-param-gather"},
    {"copies without shards", quiet_megatron,
        "!--use-distributed-optimizer !--overlap-param-gather --num-distributed-optimizer-instances 2",
        "--num-distributed-optimizer-instances is refused without --use-distributed-optimizer",
        "--num-distributed-optimizer-instances 2"},
    {"exposed gradients", quiet_megatron, "!--overlap-grad-reduce !--overlap-param-gather --global-batch-size 64",
        "without --overlap-grad-reduce the step waits", "--global-batch-size 64", 0, true},
    {"zero under stages", quiet_megatron_deepspeed, "--zero-stage 2", "ZeRO-2 at pp 2", "--zero-stage 1"},
    {"fsdp under stages", quiet_megatron, "--use-torch-fsdp2", "--use-torch-fsdp2 at pp 2, ep 1",
        "--use-torch-fsdp2 --pipeline-model-parallel-size 1"},
    {"fsdp and optimizer", quiet_megatron, "--use-torch-fsdp2", "both shard the optimizer",
        "--use-torch-fsdp2 !--use-distributed-optimizer"},
    {"offloaded", quiet_deepspeed,
        "--zero_optimization.offload_param.device cpu --zero_optimization.offload_optimizer.device nvme",
        "offload_param.device (weights), --zero_optimization.offload_optimizer.device (optimizer states)",
        "--zero_optimization.offload_param.device none"},
    {"method without full", quiet_megatron, "--recompute-method uniform",
        "has no effect: --recompute-granularity full is missing",
        "--recompute-granularity full --recompute-method uniform"},
    {"full without method", quiet_megatron, "--recompute-granularity full",
        "full needs --recompute-method uniform or block", "--recompute-granularity selective"},
    {"selective under fused", quiet_megatron, "--recompute-granularity selective",
        "selective recomputation saves little", "", 0, true},
    {"selective under fused", quiet_megatron, "--recompute-granularity selective --recompute-modules core_attn mlp",
        "core_attn among the modules that run again saves little",
        "--recompute-granularity selective --recompute-modules mlp", 0, true},
    {"needless recompute", quiet_megatron,
        "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
        "and memory does not need it", "", 0, true},

    {"no common release", quiet_megatron, "--checkpoint-activations",
        "--checkpoint-activations went with release 23.04 and", "--recompute-activations"},
    {"ignored groups", quiet_megatron, "!--group-query-attention",
        "--num-query-groups 8 is ignored without --group-query-attention: attention is multi-head, with 32 groups",
        "!--num-query-groups"},
    // 8/3 x 4096 = 10922.7, in whole 64s 10880.
    {"gated without width", quiet_megatron, "!--ffn-hidden-size", "the MLP becomes 10880 wide",
        "!--ffn-hidden-size !--swiglu"},
    {"default dropout", quiet_megatron, "!--hidden-dropout", "dropout stays on by default (--hidden-dropout 0.1)",
        "!--hidden-dropout --position-embedding-type learned_absolute --normalization LayerNorm"},
    {"default network", quiet_megatron, "!--disable-bias-linear", "biases on every product (--disable-bias-linear)",
        "!--disable-bias-linear !--swiglu"},
    {"tied by default", quiet_megatron, "!--untie-embeddings-and-output-weights", "the LM head is the embedding",
        "!--untie-embeddings-and-output-weights !--swiglu"},
    // In steps of 128 x 2: 196.3 of them.
    {"padded vocabulary", quiet_megatron, "--vocab-size 50257",
        "vocabulary 50257 is padded to 50432, a multiple of --make-vocab-size-divisible-by 128 x tp 2",
        "--vocab-size 50432"},
    {"two number types", quiet_megatron, "--fp16", "--bf16 and --fp16 contradict each other", "--fp16 !--bf16"},
    {"no number type", quiet_megatron, "!--bf16", "everything is trained in fp32", "!--bf16 --fp16"},
    {"two narrow types", quiet_megatron, "--fp8-format hybrid --fp4-format e2m1", "contradict each other",
        "--fp8-format hybrid"},
    {"limited experts", quiet_megatron, "--num-experts 8 --moe-expert-capacity-factor 1.25",
        "at most 1.25 x the mean rows", "--num-experts 8"},
    {"experts one by one", quiet_megatron, "--num-experts 8 --expert-model-parallel-size 4",
        "without --moe-grouped-gemm the 2 experts of a rank", "--num-experts 8 --expert-model-parallel-size 8"},
    {"few positions", quiet_megatron, "--max-position-embeddings 4096", "4096 is less than the sequence of 8192", ""},
};

std::vector<Interaction> found_in(const RuleCase& row, const char* changes) {
  Launch launch = changed_launch(row.base(), changes);
  if (row.gpus > 0) launch.gpus = row.gpus;
  launch.environment["CUDA_DEVICE_MAX_CONNECTIONS"] = row.connections;
  if (row.forecast) {
    const ExplainedLaunch explained = explain_launch(launch, {}, {});
    EXPECT_TRUE(explained.prediction) << row.id << ": " << (explained.refusal ? to_text(*explained.refusal) : "");
    return interactions_of(explained);
  }
  ExplainedLaunch explained;
  explained.launch = &launch;
  return interactions_of(explained);
}

const Interaction* rule_named(const std::vector<Interaction>& found, std::string_view id) {
  const auto at = std::find_if(found.begin(), found.end(), [&](const Interaction& one) { return one.id == id; });
  return at == found.end() ? nullptr : &*at;
}

std::vector<InteractionRule> all_rules() {
  const Launch launch = quiet_megatron();
  ExplainedLaunch explained;
  explained.launch = &launch;
  LaunchView view(explained);
  std::vector<InteractionRule> rules;
  for (const auto part :
      {split_rules_of_launches, pipeline_rules_of_launches, memory_rules_of_launches, network_rules_of_launches})
    for (InteractionRule& rule : part(view)) rules.push_back(std::move(rule));
  return rules;
}

TEST(Interactions, EachRuleSpeaksAndIsSilent) {
  for (const RuleCase& row : rule_cases) {
    const auto spoken = found_in(row, row.changes);
    const Interaction* found = rule_named(spoken, row.id);
    ASSERT_NE(found, nullptr) << row.id << " does not see " << row.changes;
    EXPECT_THAT(found->text, HasSubstr(row.text)) << row.id;
    RuleCase beside = row;
    if (row.silent_gpus > 0) beside.gpus = row.silent_gpus;
    const auto quiet = found_in(beside, row.silent);
    const Interaction* other = rule_named(quiet, row.id);
    EXPECT_EQ(other, nullptr) << row.id << " speaks of " << row.silent << ": " << (other ? other->text : "");
  }
}

TEST(Interactions, EachRuleHasACaseAndAName) {
  std::set<std::string_view> cases, ids;
  for (const RuleCase& row : rule_cases) cases.insert(row.id);
  for (const InteractionRule& rule : all_rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_THAT(cases, Contains(rule.id));
    EXPECT_NE(rule.frameworks, 0U) << rule.id;
  }
  EXPECT_GT(ids.size(), 50U);
}

TEST(Interactions, ALaunchWithoutMistakesHasNone) {
  for (const auto base : {quiet_megatron, quiet_deepspeed, quiet_torchtitan}) {
    const Launch launch = base();
    ExplainedLaunch explained;
    explained.launch = &launch;
    for (const Interaction& found : interactions_of(explained)) ADD_FAILURE() << found.id << ": " << found.text;
  }
  const Launch launch = quiet_megatron();
  for (const Interaction& found : explain_launch(launch, {}, {}).interactions) ADD_FAILURE() << found.text;
}

TEST(Interactions, SayWhichArgumentsTheyAreAbout) {
  const Launch launch =
      changed_launch(quiet_megatron(), "--global-batch-size 136 --num-virtual-stages-per-pipeline-rank 2");
  ExplainedLaunch explained;
  explained.launch = &launch;
  const auto found = interactions_of(explained);
  const Interaction* illegal = rule_named(found, "batches over stages");
  ASSERT_NE(illegal, nullptr);
  EXPECT_TRUE(illegal->wrong);
  EXPECT_THAT(illegal->arguments, testing::UnorderedElementsAre("global_batch_size", "micro_batch_size",
                                      "num_virtual_stages_per_pipeline_rank", "pipeline_model_parallel_size"));
}

TEST(Interactions, RulesOfOneFrameworkAreNotAnothers) {
  // DeepSpeed's engine checks its three sizes; Megatron-LM has no accumulation steps to check.
  const Launch launch = changed_launch(quiet_megatron(), "--zero-stage 3");
  ExplainedLaunch explained;
  explained.launch = &launch;
  EXPECT_EQ(rule_named(interactions_of(explained), "zero under stages"), nullptr);
}

/// A network that is named, and not resolved before the GPUs or its config.json are told, may have them.
TEST(Interactions, ExpertsOfANetworkThatIsNotThereYetAreNotMissing) {
  for (const bool sizes : {true, false}) {
    const Launch launch = changed_launch(
        quiet_megatron(), std::string("--expert-model-parallel-size 4") + (sizes ? "" : " !--num-layers"));
    ExplainedLaunch explained;
    explained.launch = &launch;
    EXPECT_EQ(rule_named(interactions_of(explained), "ep without experts") != nullptr, sizes);
  }
}

TEST(Interactions, SizesBeyondAnyJobDoNotOverflow) {
  Launch launch = changed_launch(
      quiet_megatron(), "--micro-batch-size 2000000 --tensor-model-parallel-size 1 --pipeline-model-parallel-size 1");
  ExplainedLaunch explained;
  explained.launch = &launch;
  launch.gpus = 10'000'000;
  EXPECT_EQ(LaunchView(explained).dp, 10'000'000);
  launch.gpus = 100'000'000'000'000;
  EXPECT_EQ(LaunchView(explained).gpus, 0);
  for (const Interaction& found : interactions_of(explained))
    EXPECT_THAT(found.text, ::testing::Not(HasSubstr("= -"))) << found.id;
}

TEST(Interactions, OldReleasesDoNotAskForOneConnection) {
  const Launch launch =
      testing_launch::typed_launch("--num-layers 24 --tensor-model-parallel-size 2 --checkpoint-activations");
  ExplainedLaunch explained;
  explained.launch = &launch;
  EXPECT_EQ(rule_named(interactions_of(explained), "one connection missing"), nullptr);
}

TEST(Interactions, NothingIsSaidOfTheEnvironmentOfWordsAlone) {
  Launch launch = testing_launch::typed_launch("--num-layers 24 --tensor-model-parallel-size 2");
  ExplainedLaunch explained;
  explained.launch = &launch;
  EXPECT_NE(rule_named(interactions_of(explained), "one connection missing"), nullptr);
  for (const char* where : {words_alone, "args.yaml", "args.txt"}) {
    launch.where = where;
    EXPECT_EQ(rule_named(interactions_of(explained), "one connection missing"), nullptr) << where;
  }
}

TEST(Interactions, LayersThatTheFrameworkPartitionsNeedNotDivide) {
  const Launch launch =
      changed_launch(quiet_megatron_deepspeed(), "--num-layers 31 --pp-partition-method type:transformer|embedding");
  ExplainedLaunch explained;
  explained.launch = &launch;
  EXPECT_EQ(rule_named(interactions_of(explained), "layers over stages"), nullptr);
}

TEST(Interactions, TheBubbleIsTheForecastsWhereThereIsOne) {
  const Launch launch = changed_launch(quiet_megatron(), "--global-batch-size 32");
  const ExplainedLaunch explained = explain_launch(launch, {}, {});
  ASSERT_TRUE(explained.prediction);
  const std::string share = fmt::format("{:.1f} % (forecast)", 100 * explained.prediction->step.bubble_fraction);
  const auto all = interactions_of(explained);
  const Interaction* found = rule_named(all, "few batches");
  ASSERT_NE(found, nullptr);
  EXPECT_THAT(found->text, HasSubstr(share));
}

/// NeMo 1 shards the optimizer by its name, with overlap switches of its own.
TEST(Interactions, TheNamedDistributedOptimizerSharesItsShards) {
  for (const auto& [optimizer, wrong] : {std::pair{"distributed_fused_adam", false}, std::pair{"fused_adam", true}}) {
    const Launch launch = testing_launch::typed_launch(
        fmt::format("--model.optim.name {} --model.optim.overlap_grad_sync true --model.optim.overlap_param_sync true",
            optimizer),
        "nemo");
    ExplainedLaunch explained;
    explained.launch = &launch;
    EXPECT_EQ(rule_named(interactions_of(explained), "gathers without shards") != nullptr, wrong) << optimizer;
  }
}

}  // namespace
}  // namespace stepcast::launch
