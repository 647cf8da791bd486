// Sizes of a launch's split: ranks and axes, and which homes are in shards. Each framework tells some of them, and the
// rest follows.
#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/contains.h"
#include "model/base/text.h"
#include "studies/launch/limits/shown_name.h"
#include "studies/launch/read/launch_request.h"
#include "studies/launch/read/launched_run.h"
#include "studies/launch/facts/step_words.h"
#include "studies/run/split/split.h"

namespace stepcast::launch {

std::int64_t bounded_product(std::initializer_list<std::int64_t> factors) {
  constexpr double most = 1e15;
  double exact = 1;
  for (const std::int64_t factor : factors) exact *= static_cast<double>(factor);
  return static_cast<std::int64_t>(std::min(exact, most));
}

namespace {

// clang-format off
/// FSDP's words for what is in shards, as ZeRO counts it.
struct ShardingWord { std::string_view word; std::int64_t zero; bool replicated; };
// clang-format on
constexpr ShardingWord sharding_words[] = {{"no_shard", 0, false}, {"optim", 1, false}, {"optim_grads", 2, false},
    {"optim_grads_params", 3, false}, {"full_shard", 3, false}, {"shard_grad_op", 2, false}, {"hybrid_shard", 3, true},
    {"hybrid_shard_zero2", 2, true}, {"1", 3, false}, {"2", 2, false}, {"3", 0, false}, {"4", 3, true}, {"5", 2, true},
    {"_hybrid_shard_zero2", 2, true}, {"full", 3, false}, {"hybrid", 3, true}, {"grad", 2, false}};

/// Words of cp_comm_type, which may be one for each layer, and what their layers do.
struct ContextWord {
  std::string_view part, name;
  ContextKind kind;
};
constexpr ContextWord context_words[] = {{"p2p", "ring", ContextKind::ring}, {"gather", "gather", ContextKind::gather},
    {"a2a", "all-to-all", ContextKind::ulysses}};

/// Optimizers whose name brings shards. `always`: whatever use_distributed_optimizer says.
struct ShardingOptimizer {
  std::string_view part;
  bool always;
};
constexpr ShardingOptimizer sharding_optimizers[] = {{"distributed", false},
    // NVIDIA/Megatron-LM@d98e8a64dd: megatron/training/arguments.py sets use_layer_wise_distributed_optimizer
    {"dist_muon", true}};

const ShardingOptimizer* sharding_optimizer(const std::string& name) {
  const auto row = std::ranges::find_if(
      sharding_optimizers, [&](const ShardingOptimizer& candidate) { return name.find(candidate.part) != name.npos; });
  return row == std::end(sharding_optimizers) ? nullptr : row;
}

class SplitReader {
 public:
  explicit SplitReader(const LaunchSubject& subject)
      : subject_(subject), ask_(subject.answers), run_(subject.out.run), p_(run_.parallel) {}

  Expected<void> read() {
    axes();
    TRY(world());
    read_stages(subject_);
    TRY(homes());
    places();
    if (ask_.error()) return tl::unexpected(*ask_.error());
    return {};
  }

 private:
  void axes() {
    p_.tp = axis("tp", Asked::tp);
    p_.pp = axis("pp", Asked::pp);
    if (ask_.flag(Asked::no_stages, false)) p_.pp = 1;
    p_.cp = axis("cp", Asked::cp);
    if (const auto heads = ask_.count(Asked::ulysses); heads && *heads > 1 && p_.cp == 1) {
      p_.cp = *heads;
      subject_.out.context = ContextKind::ulysses;
      subject_.said("cp", Asked::ulysses);
    }
    const std::int64_t ep = axis("ep", Asked::ep);
    const auto etp = ask_.count(Asked::etp);
    subject_.said("etp", Asked::etp);
    if (!run_.model.experts) return;
    p_.ep = ep;
    const bool over_tp = subject_.framework.expert_tp || subject_.is_on("enable_expert_tensor_parallelism");
    p_.etp = etp ? *etp : over_tp ? p_.tp : 1;
    if (!etp && over_tp && p_.tp > 1) subject_.note(fmt::format("experts split over tp {}", *p_.etp));
  }

  std::int64_t axis(const char* key, Asked asked) {
    subject_.said(key, asked);
    return ask_.count(asked, 1);
  }

  [[nodiscard]] std::int64_t model_ranks() const { return bounded_product({p_.tp, p_.pp, p_.cp}); }

  /// A count that hangs on what nothing sets says nothing where a flag tells the GPUs.
  [[nodiscard]] std::optional<std::int64_t> ranks_told(Asked asked) {
    const GivenArgument* given = ask_.answering(asked);
    const bool flag = subject_.hints.gpus > 0 && subject_.hints.must_agree;
    return flag && given != nullptr && !given->unset.empty() ? std::nullopt : ask_.count(asked);
  }

  struct SaidWorld {
    const char* by;
    std::int64_t gpus;
  };

  /// By what was printed, the launcher, the mesh or the user. What two of them say must agree, but for a user who wants
  /// another number than the launch has.
  Expected<void> world() {
    const auto shards = ask_.count(Asked::shards), replicas = ask_.count(Asked::replicas);
    const auto data = ask_.count(Asked::data_parallel);
    const auto nodes = ranks_told(Asked::nodes), per_node = ranks_told(Asked::gpus_per_node),
               printed = ranks_told(Asked::world);
    const std::int64_t hint = subject_.hints.gpus;
    const SaidWorld said[] = {{"world_size", printed.value_or(0)}, {"--gpus", subject_.hints.must_agree ? 0 : hint},
        {"the device mesh", shards ? bounded_product({*shards, replicas.value_or(1), model_ranks()}) : 0},
        {"the size of the data axis", data ? bounded_product({*data, model_ranks()}) : 0},
        {"the nodes and devices of the configuration", per_node ? bounded_product({*per_node, nodes.value_or(1)}) : 0},
        {"the launcher", subject_.launch.gpus}};
    const SaidWorld* first = nullptr;
    for (const SaidWorld& row : said) {
      if (row.gpus <= 0) continue;
      if (first == nullptr) first = &row;
      else if (row.gpus != first->gpus && !one_node_of(row.by, first->gpus))
        return fail(subject_.launch.where,
            fmt::format("{} GPUs by {}, but {} by {}", first->gpus, first->by, row.gpus, row.by),
            "the arguments belong to another run, or --gpus N is wrong");
    }
    if (first != nullptr && per_node && !nodes && hint == 0 && first->gpus == *per_node)
      subject_.out.warnings.push_back(fmt::format(
          "one node of {} GPUs, as {} tells no nodes: --gpus N for a larger job", *per_node, subject_.launch.where));
    const bool of_several = printed && nodes && *nodes > 1 && *printed % *nodes == 0;
    subject_.out.node_ranks = subject_.launch.gpus_per_node > 0 ? subject_.launch.gpus_per_node
                              : per_node                        ? *per_node
                              : of_several                      ? *printed / *nodes
                                                                : 0;
    if (hint > 0 && subject_.hints.must_agree) p_.gpus = hint;
    else if (first != nullptr) p_.gpus = first->gpus;
    else return fail(subject_.launch.where, untold_gpus(), "--gpus N");
    return divide_world();
  }

  /// With the reading's reason, where it found one.
  [[nodiscard]] std::string untold_gpus() const {
    const std::string& why = subject_.launch.untold_gpus;
    return why.empty() ? "its arguments do not tell the number of GPUs" : why;
  }

  Expected<void> divide_world() {
    if (p_.gpus % model_ranks() == 0 || subject_.hints.resized) {
      p_.dp = std::max<std::int64_t>(1, p_.gpus / model_ranks());
      return experts_over_data();
    }
    const std::int64_t below = p_.gpus / model_ranks() * model_ranks(), above = below + model_ranks();
    return fail(subject_.launch.where,
        fmt::format(
            "{} GPUs are no multiple of tp {} x pp {} x cp {} = {}", p_.gpus, p_.tp, p_.pp, p_.cp, model_ranks()),
        below > 0 ? fmt::format("{} or {} GPUs", below, above) : fmt::format("{} GPUs", above));
  }

  /// MegaBlocks lays experts over all data ranks, and cuts each where there are more ranks than experts
  /// (megablocks/layers/mpu.py).
  Expected<void> experts_over_data() {
    if (!run_.model.experts || !subject_.is_on("moe_expert_model_parallelism")) return {};
    if (run_.model.experts->count % p_.dp != 0)
      return fail(subject_.launch.where,
          fmt::format(
              "{} experts over {} data ranks: experts in parts are not forecast", run_.model.experts->count, p_.dp),
          "data ranks that divide the experts");
    p_.ep = p_.dp;
    return {};
  }

  /// A launcher that was told the GPUs of a node only: their number may come from a variable of the cluster.
  [[nodiscard]] bool one_node_of(std::string_view by, std::int64_t gpus) const {
    return by == "the launcher" && subject_.launch.gpus == subject_.launch.gpus_per_node &&
           gpus % subject_.launch.gpus == 0;
  }

  /// Which of weights, gradients and optimizer are in shards over the data ranks, and over how many.
  Expected<void> homes() {
    const bool fully = ask_.flag(Asked::fully_sharded, false) || subject_.has_section("fsdp_config.");
    const bool torch = subject_.is_on("use_torch_fsdp2");  // it takes no strategy
    const auto zero = ask_.text(Asked::zero),
               sharding = fully && !torch ? ask_.text_or_default(Asked::sharding) : ask_.text(Asked::sharding);
    if (!zero) TRY(zero_of_unread());
    const std::string optimizer = lower_case(ask_.text(Asked::optimizer_name).value_or(""));
    const ShardingOptimizer* by_name = sharding_optimizer(optimizer);
    const bool distributed =
        (by_name != nullptr && by_name->always) || ask_.flag(Asked::sharded_optimizer, by_name != nullptr);
    // megatron/training/arguments.py of core_v0.18.0 sets it for all but these two; dist_muon has it wherever it runs
    const bool other =
        subject_.framework.id == "megatron-lm" && optimizer.find("adam") == optimizer.npos && optimizer != "sgd";
    const bool by_layer = distributed && !optimizer.empty() && (other || (by_name != nullptr && by_name->always));
    if (by_layer)
      subject_.note(fmt::format(
          "the optimizer {} lies in shards: each rank has whole weights, which are taken as even shares", optimizer));
    // the one flag that says it the other way round
    const bool negated = names_argument(ask_.name(Asked::keep_weights), "torch_fsdp2_no_reshard_after_forward");
    const std::string kept = negated ? (ask_.flag(Asked::keep_weights, false) ? "never" : "always")
                                     : lower_case(ask_.text(Asked::keep_weights).value_or("default"));
    const auto replicas = ask_.count(Asked::replicas);
    // DeepSpeed's oldest files say only that there is ZeRO: its first stage
    const auto stage = zero && lower_case(*zero) == "true"     ? MaybeCount(1)
                       : zero && is_off(*zero) && *zero != "1" ? MaybeCount()
                                                               : ask_.count(Asked::zero);
    const int always = subject_.framework.zero;
    const bool trainers = ask_.name(Asked::sharding) == "fsdp";  // the Trainer's, which is a switch too
    const bool switched =
        fully || trainers || always >= 0 || subject_.framework.table().answering(Asked::fully_sharded).empty();
    if (sharding && switched) p_.zero_stage = sharded(*sharding, always >= 0 ? always : 3);
    else if (always >= 0) p_.zero_stage = always;
    else if (fully) p_.zero_stage = 3;
    else p_.zero_stage = zero ? stage.value_or(0) : distributed ? 1 : 0;
    if (*p_.zero_stage == 3 && (kept == "never" || kept == "false" || (kept == "default" && p_.pp > 1 && always == 3)))
      p_.zero_stage = 2;
    if (always >= 0 && replicas && *replicas == p_.dp && p_.cp == 1) {
      p_.zero_stage = 0;
      if (*replicas > 1 && model_ranks() > 1 && subject_.framework.refuses_copies)
        subject_.note(fmt::format("copies alone are on every data rank: {} refuses these beside tensor parallelism or "
                                  "stages",
            subject_.framework.name));
    }
    if (*p_.zero_stage == 0) note_copies();
    if (*p_.zero_stage == 0 && subject_.framework.bf16_shards && ask_.flag(Asked::bf16, false)) {
      p_.zero_stage = 1;
      subject_.note("ZeRO 1: DeepSpeed's bf16 optimizer keeps its states in shards at stage 0 too");
    }
    if (replicas && !torch) repeat(*replicas, Asked::replicas);
    else TRY(repeat_groups());
    p_.sequence_parallel = ask_.flag(Asked::sequence_parallel, subject_.framework.sequence_parallel) && p_.tp > 1;
    for (const Asked asked : {Asked::zero, Asked::sharding, Asked::fully_sharded, Asked::sharded_optimizer})
      subject_.said("zero", asked);
    subject_.said("sp", Asked::sequence_parallel);
    for (const Asked asked : {Asked::offload_weights, Asked::offload_optimizer}) offload(asked);
    return {};
  }

  /// Programs on the Trainer hold the whole network on each rank unless a file or accelerate says otherwise.
  void note_copies() const {
    const bool told = subject_.hints.told.contains(FieldId::zero) ||
                      std::ranges::any_of(subject_.launch.arguments, [](const GivenArgument& given) {
                        return given.name.starts_with("fsdp") || given.name.starts_with("deepspeed") ||
                               given.name.starts_with("zero") || given.name == "distributed_type";
                      });
    if (subject_.framework.trainer && subject_.framework.zero < 0 && p_.gpus > 1 && !told)
      subject_.note(fmt::format("no file of DeepSpeed or FSDP is named: each GPU holds the whole network, as {} trains "
                                "where accelerate is told nothing else (--zero N for shards)",
          subject_.framework.name));
  }

  /// DeepSpeed's own argument and accelerate's, on its command line or in its file; null where it is read, or not
  /// named.
  [[nodiscard]] const GivenArgument* unread_deepspeed_file() const {
    for (const GivenArgument& given : subject_.launch.arguments)
      if ((given.name == "deepspeed_config" || names_argument(given.name, "deepspeed_config_file")) &&
          contains(subject_.launch.unread, given.value))
        return &given;
    return nullptr;
  }

  /// DeepSpeed's file has the stage of ZeRO, and nothing else does.
  [[nodiscard]] Expected<void> zero_of_unread() const {
    // a file of Trainer's arguments: accelerate's, or the command, says what is in shards
    const bool alone = subject_.framework.id == "trainer" && subject_.launch.program.empty() && p_.gpus > 1 &&
                       subject_.launch.where != words_alone && subject_.launch.find("deepspeed") == nullptr &&
                       subject_.launch.find("fsdp") == nullptr;
    if (alone && !subject_.hints.told.contains(FieldId::zero) && !subject_.has_section("zero_optimization."))
      return fail(subject_.launch.where, "it does not say what is in shards: the command does, or accelerate's file",
          "--zero N, or the command that names this file");
    const GivenArgument* file = unread_deepspeed_file();
    if (file == nullptr || subject_.hints.told.contains(FieldId::zero) || subject_.has_section("zero_optimization."))
      return {};
    return fail(place_of(subject_.launch, *file),
        fmt::format("{} is not there, and it says the stage of ZeRO", shown_name(file->value)),
        "--zero N, or the file beside the launch");
  }

  /// Shards over a part of the data ranks, and over all context ranks in it; the parts hold copies of each other.
  void repeat(std::int64_t replicas, Asked asked) {
    if (replicas <= 1 || *p_.zero_stage == 0) return;
    subject_.out.replicas = copies_of_data(replicas);
    p_.shard_group = std::max<std::int64_t>(1, p_.dp / replicas) * p_.cp;
    subject_.said("dp_replicate", asked);
    const auto shards = ask_.count(Asked::shards);
    if (shards && p_.dp % replicas == 0 && *shards != p_.dp / replicas)
      subject_.note(fmt::format(
          "shards over {} data ranks, not over {}, as there are {} GPUs", p_.dp / replicas, *shards, p_.gpus));
    const bool outer =
        std::any_of(subject_.launch.arguments.begin(), subject_.launch.arguments.end(), [](const GivenArgument& given) {
          return names_argument(given.name, "outer_dp_sharding_strategy") && lower_case(given.value) == "optim";
        });
    if (outer && *p_.zero_stage >= 2)
      subject_.note("outer_dp_sharding_strategy optim: optimizer states in shards over the copies too are not covered, "
                    "each copy has its own here");
  }

  /// Megatron cuts data and context ranks together; copies of ours are of data ranks.
  [[nodiscard]] std::int64_t copies_of_data(std::int64_t copies) const {
    const std::int64_t nearest = std::gcd(p_.dp, copies);
    if (nearest == copies || p_.dp * p_.cp % copies != 0) return copies;
    subject_.note(fmt::format("{} copies of shards over {} data and context ranks, forecast as {} copies over {}",
        copies, p_.dp * p_.cp / copies, nearest, p_.dp * p_.cp / nearest));
    return nearest;
  }

  /// By the ranks of a group, where the launch tells these.
  Expected<void> repeat_groups() {
    const auto ranks = ask_.count(Asked::shard_ranks);
    if (ranks && *p_.zero_stage == 3) {
      if (p_.dp * p_.cp % *ranks != 0 || *ranks % p_.cp != 0)
        return fail(ask_.where(Asked::shard_ranks),
            fmt::format("shards over {} ranks do not divide {} data and context ranks", *ranks, p_.dp * p_.cp),
            fmt::format("{}{}", nearest_values(divisors(p_.dp), *ranks / p_.cp),
                p_.cp > 1 ? fmt::format(", times cp {}", p_.cp) : ""));
      repeat(p_.dp * p_.cp / *ranks, Asked::shard_ranks);
    }
    if (within_nodes_) repeat_nodes();
    if (subject_.out.replicas > 1 && subject_.hints.resized)
      subject_.note(fmt::format(
          "{} copies of shards over {} data ranks, as the launch is split: with other flags, --dp-replicate N",
          subject_.out.replicas, p_.dp));
    return {};
  }

  /// FSDP's hybrid strategies keep shards within a node.
  void repeat_nodes() {
    const std::int64_t per_node = ranks_of_node(),
                       shards = ask_.count(Asked::shards).value_or(per_node / bounded_product({p_.tp, p_.cp}));
    if (shards >= p_.dp) return;
    if (shards > 0 && p_.dp % shards == 0) repeat(p_.dp / shards, Asked::sharding);
    else
      subject_.note(fmt::format("shards within a node and copies between them: {}, so that without --dp-replicate N "
                                "shards lie over all data ranks",
          per_node > 0 ? "data ranks do not divide by the node's"
                       : "the launch does not say how many GPUs a node has"));
  }

  /// By the launcher, or what the configuration says of nodes; 0: not said.
  std::int64_t ranks_of_node() {
    if (subject_.launch.gpus_per_node > 0) return subject_.launch.gpus_per_node;
    if (const auto each = ask_.count(Asked::gpus_per_node)) return *each;
    const auto nodes = ask_.count(Asked::nodes);
    return nodes && p_.gpus % *nodes == 0 ? p_.gpus / *nodes : 0;
  }

  std::int64_t sharded(const std::string& words, std::int64_t otherwise) {
    std::string word = lower_case(words);
    word = word.substr(word.rfind('.') + 1);
    word = word.substr(0, word.find(' '));  // "full_shard auto_wrap"
    const ShardingWord* row = word_row(sharding_words, word);
    if (row == nullptr) {
      ask_.refuse(Asked::sharding, fmt::format("sharding '{:.40}' is not known", words),
          "FULL_SHARD, SHARD_GRAD_OP, HYBRID_SHARD or NO_SHARD");
      return otherwise;
    }
    within_nodes_ = row->replicated;
    return row->zero;
  }

  void offload(Asked asked) {
    const std::string word = lower_case(ask_.text(asked).value_or("none"));
    if (word == "none" || word == "false" || word == "0") return;
    subject_.note(fmt::format(
        "{} {}: what is kept in host memory or on disk is not covered, and is forecast as if it stayed on the GPU",
        ask_.name(asked), word));
  }

  /// How the axes lie on the machine, and how cp brings keys and values together.
  void places() {
    if (ask_.flag(Asked::stages_inside, false))
      subject_.out.order = MeshOrder{MeshAxis::tp, MeshAxis::cp, MeshAxis::pp, MeshAxis::dp};
    subject_.said("order", Asked::stages_inside);
    subject_.said("cp_kind", Asked::context_kind);
    const auto kind = ask_.text_or_default(Asked::context_kind);
    if (!kind || p_.cp == 1 || subject_.out.context) return;
    const std::string word = lower_case(*kind);
    // of what layers one by one are told, the first row that any has
    std::vector<std::string_view> names;
    for (const ContextWord& row : context_words) {
      if (word.find(row.part) == word.npos) continue;
      if (names.empty()) subject_.out.context = row.kind;
      names.push_back(row.name);
    }
    if (names.empty()) subject_.out.context = ContextKind::ring;
    if (word.find("a2a+p2p") != word.npos)
      subject_.note("cp by all-to-all inside and ring outside is forecast as a ring");
    else if (names.size() > 1)
      subject_.note(fmt::format("cp by {} in some layers and {} in others is forecast as {} in all", names.front(),
          fmt::join(std::span(names).subspan(1), " or "), names.front()));
  }

  const LaunchSubject& subject_;
  LaunchAnswers& ask_;
  Run& run_;
  RunParallel& p_;
  bool within_nodes_ = false;
};

}  // namespace

Expected<void> read_split(const LaunchSubject& subject) { return SplitReader(subject).read(); }

}  // namespace stepcast::launch
