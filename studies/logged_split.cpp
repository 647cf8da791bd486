// Sizes of a logged run's split and batch. Each program tells some of them, and the rest follows.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "calibrate/import/delimited.h"
#include "studies/logged_answers.h"
#include "studies/logged_run.h"

namespace stepcast {
namespace {

/// Up to 1e15, which is beyond any job: sizes that contradict each other must not overflow before that is said.
std::int64_t bounded_product(std::initializer_list<std::int64_t> factors) {
  constexpr double most = 1e15;
  double exact = 1;
  for (const std::int64_t factor : factors) exact *= static_cast<double>(factor);
  return static_cast<std::int64_t>(std::min(exact, most));
}

class SplitReader {
 public:
  SplitReader(const LoggedSource& source, Run& run)
      : source_(source), ask_(source.answers), run_(run), p_(run.parallel) {}

  Expected<void> read() {
    axes();
    if (auto good = world(); !good) return good;
    chunks();
    shards();
    if (ask_.error()) return tl::unexpected(*ask_.error());
    return batch();
  }

 private:
  void axes() {
    p_.tp = ask_.count(Asked::tp, 1);
    p_.pp = ask_.count(Asked::pp, 1);
    if (ask_.flag(Asked::no_stages, false)) p_.pp = 1;
    p_.cp = ask_.count(Asked::cp, 1);
    const std::int64_t ep = ask_.count(Asked::ep, 1);
    const auto etp = ask_.count(Asked::etp);
    if (!run_.model.experts) return;
    p_.ep = ep;
    p_.etp = etp ? *etp : source_.program.expert_tp ? p_.tp : 1;
    if (!etp && p_.tp > 1) source_.assumptions.push_back(fmt::format("experts split over tp {}", *p_.etp));
  }

  [[nodiscard]] std::int64_t model_ranks() const { return bounded_product({p_.tp, p_.pp, p_.cp}); }

  /// By the log's own print, the launcher, the mesh or the user; what two of them say must agree.
  Expected<void> world() {
    const auto shards = ask_.count(Asked::shards), replicas = ask_.count(Asked::replicas);
    const auto nodes = ask_.count(Asked::nodes), per_node = ask_.count(Asked::gpus_per_node),
               printed = ask_.count(Asked::world);
    struct Said {
      const char* by;
      std::int64_t gpus;
    };
    const Said said[] = {
        {"world_size", printed.value_or(0)},
        {"--gpus", source_.hints.gpus},
        {"the device mesh", shards ? bounded_product({*shards, replicas.value_or(1), model_ranks()}) : 0},
        {"the trainer's nodes and devices", per_node ? *per_node * nodes.value_or(1) : 0},
        {"the launcher", source_.log.gpus}};
    const Said* first = nullptr;
    for (const Said& row : said) {
      if (row.gpus <= 0) continue;
      if (first == nullptr)
        first = &row;
      else if (row.gpus != first->gpus && !one_node_of(row.by, first->gpus))
        return fail(source_.log.where,
                    fmt::format("{} GPUs by {}, but {} by {}", first->gpus, first->by, row.gpus, row.by),
                    "the arguments belong to another run, or --gpus N is wrong");
    }
    if (first == nullptr)
      return fail(source_.log.where, "neither the log nor its arguments tell the number of GPUs", "--gpus N");
    p_.gpus = first->gpus;
    if (p_.gpus % model_ranks() != 0)
      return fail(source_.log.where,
                  fmt::format("{} GPUs are no multiple of tp {} x pp {} x cp {} = {}", p_.gpus, p_.tp, p_.pp, p_.cp,
                              model_ranks()),
                  fmt::format("{} or {} GPUs", std::max<std::int64_t>(1, p_.gpus / model_ranks()) * model_ranks(),
                              (p_.gpus / model_ranks() + 1) * model_ranks()));
    p_.dp = p_.gpus / model_ranks();
    return {};
  }

  /// A launcher that was told the GPUs of a node only: their number may come from a variable of the cluster.
  [[nodiscard]] bool one_node_of(std::string_view by, std::int64_t gpus) const {
    return by == "the launcher" && source_.log.gpus == source_.log.gpus_per_node && gpus % source_.log.gpus == 0;
  }

  /// Chunks per stage: said, or by the layers of one; torch's schedules by their name.
  void chunks() {
    const auto said = ask_.count(Asked::chunks), layers = ask_.count(Asked::layers_per_chunk);
    const std::string schedule = lower_case(ask_.text(Asked::schedule).value_or(""));
    p_.chunks = 1;
    if (p_.pp == 1) return;
    constexpr std::int64_t torch_chunks =
        2;  // of schedules with several stages per rank (torchtitan's pipeline_parallel.py)
    const std::int64_t per_stage = *run_.model.layers / p_.pp;
    if (said)
      p_.chunks = said;
    else if (layers)
      p_.chunks = std::max<std::int64_t>(1, per_stage / *layers);
    else if (schedule.find("interleaved") != schedule.npos)
      p_.chunks = torch_chunks;
    p_.schedule = *p_.chunks > 1 ? "interleaved-1f1b" : "1f1b";
    if (!schedule.empty() && schedule.find("1f1b") == schedule.npos)
      source_.assumptions.push_back(fmt::format("{} in place of {}", *p_.schedule, schedule));
  }

  /// Which of weights, gradients and optimizer are in shards over the data ranks, and over how many.
  void shards() {
    const auto zero = ask_.count(Asked::zero);
    const bool fully = ask_.flag(Asked::fully_sharded, false);
    const std::string strategy = lower_case(ask_.text(Asked::sharding).value_or("")),
                      optimizer = lower_case(ask_.text(Asked::optimizer_name).value_or(""));
    const bool distributed = ask_.flag(Asked::sharded_optimizer, optimizer.find("distributed") != optimizer.npos);
    const std::string kept = lower_case(ask_.text(Asked::keep_weights).value_or("default"));
    const auto replicas = ask_.count(Asked::replicas);
    if (source_.program.zero >= 0)
      p_.zero_stage = kept == "never" || (kept == "default" && p_.pp > 1) ? 2 : source_.program.zero;
    else if (fully)
      p_.zero_stage = strategy == "optim" ? 1 : strategy == "optim_grads" ? 2 : strategy == "no_shard" ? 0 : 3;
    else
      p_.zero_stage = zero ? *zero : distributed ? 1 : 0;
    if (source_.program.zero >= 0 && replicas && *replicas >= p_.dp) p_.zero_stage = 0;
    if (replicas && *replicas > 1 && *replicas < p_.dp) p_.shard_group = p_.dp / *replicas * p_.cp;
    p_.sequence_parallel = ask_.flag(Asked::sequence_parallel, source_.program.sequence_parallel) && p_.tp > 1;
  }

  /// Sequences of one rank and micro-batch; torchtitan's newest release counts tokens instead.
  MaybeCount asked_micro_batch() {
    const auto micro = ask_.count(Asked::micro_batch), tokens = ask_.count(Asked::tokens_per_rank);
    if (micro) return micro;
    if (tokens) return std::max<std::int64_t>(1, *tokens / *run_.model.seq_len);
    if (source_.program.micro_batch > 0 && unread_file().empty()) {
      source_.assumptions.push_back(
          fmt::format("micro-batch {}, as the program does unless told", source_.program.micro_batch));
      return source_.program.micro_batch;
    }
    return std::nullopt;
  }

  /// A configuration file that the command names says what it likes; it is known to be read where its values are there.
  std::string unread_file() {
    if (const auto file = ask_.text(Asked::config_file)) return *file;
    const auto named = source_.log.environment.find("CONFIG_FILE");
    return named == source_.log.environment.end() ? "" : named->second;
  }

  Expected<void> batch() {
    const auto global = ask_.count(Asked::global_batch), accumulation = ask_.count(Asked::accumulation),
               stage = ask_.count(Asked::stage_batch);
    const std::int64_t logged = source_.log.steps.back().global_batch;
    MaybeCount micro = asked_micro_batch();
    if (ask_.error()) return tl::unexpected(*ask_.error());
    if (!micro)
      return fail(source_.log.where, "neither the log nor its arguments tell the micro-batch",
                  unread_file().empty() ? "--launch FILE: the script or configuration that the run was started with"
                                        : fmt::format("--launch {:.80}", unread_file()));
    const std::int64_t each = bounded_product({*micro, p_.dp});
    run_.global_batch = global ? *global : logged > 0 ? logged : bounded_product({each, accumulation.value_or(1)});
    if (!global && logged == 0) source_.assumptions.push_back(fmt::format("global batch {}", run_.global_batch));
    if (run_.global_batch % each != 0)
      return fail(source_.log.where,
                  fmt::format("a global batch of {} is no multiple of micro-batch {} x dp {}", run_.global_batch,
                              *micro, p_.dp),
                  fmt::format("{} or {}", std::max<std::int64_t>(1, run_.global_batch / each) * each,
                              (run_.global_batch / each + 1) * each));
    if (global && accumulation && bounded_product({each, *accumulation}) != *global)
      return fail(source_.log.where,
                  fmt::format("a global batch of {}, but micro-batch {} x dp {} x {} accumulation steps = {}", *global,
                              *micro, p_.dp, *accumulation, bounded_product({each, *accumulation})),
                  "one of them belongs to another run");
    // torch's stages cut a rank's batch again, into pieces of one sequence unless told.
    const bool cuts = source_.program.framework == std::string_view("torchtitan") && p_.pp > 1;
    run_.micro_batch = cuts ? std::gcd(*micro, stage.value_or(1)) : *micro;
    return {};
  }

  const LoggedSource& source_;
  LoggedAnswers& ask_;
  Run& run_;
  RunParallel& p_;
};

}  // namespace

Expected<void> logged_split(const LoggedSource& source, Run& run) { return SplitReader(source, run).read(); }

}  // namespace stepcast
