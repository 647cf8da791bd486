// A launch's batch: what a rank computes at once, and what a step holds.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "studies/launch/read/launch_request.h"
#include "studies/launch/read/launched_run.h"

namespace stepcast::launch {
namespace {

class BatchReader {
 public:
  explicit BatchReader(const LaunchSubject& subject)
      : subject_(subject), ask_(subject.answers), run_(subject.out.run) {}

  Expected<void> read() {
    const auto global = ask_.count(Asked::global_batch);
    auto accumulation = accumulated();
    const auto stage = ask_.count(Asked::stage_batch);
    const std::int64_t logged = subject_.launch.logged_batch, dp = run_.parallel.dp;
    MaybeCount micro = asked_micro_batch(global, accumulation);
    // Composer cuts a rank's batch into micro-batches, which are at most all of it
    if (micro && global && subject_.framework.micro_at_most_local && *micro > *global / dp) {
      micro = std::max<std::int64_t>(1, *global / dp);
      subject_.note(fmt::format("micro-batch {}: all that a rank has of the batch", *micro));
    }
    subject_.said("global_batch", Asked::global_batch);
    subject_.said("micro_batch", Asked::micro_batch);
    if (ask_.error()) return tl::unexpected(*ask_.error());
    if (!micro) return no_micro_batch();
    const std::int64_t each = bounded_product({*micro, dp});
    if (const std::int64_t sequences = subject_.framework.usual_sequences; sequences > 0 && !global && !accumulation) {
      const std::int64_t at_once = bounded_product({*micro, run_.parallel.gpus});
      accumulation = std::max<std::int64_t>(1, (sequences + at_once - 1) / at_once);
    }
    run_.global_batch = global ? *global : logged > 0 ? logged : bounded_product({each, accumulation.value_or(1)});
    if (!global && logged == 0) subject_.note(fmt::format("global batch {}", run_.global_batch));
    if (run_.global_batch % each != 0 && !subject_.hints.resized)
      return fail(ask_.where(Asked::global_batch),
          fmt::format("a global batch of {} is no multiple of micro-batch {} x dp {}", run_.global_batch, *micro, dp),
          run_.global_batch < each
              ? std::to_string(each)
              : fmt::format("{} or {}", run_.global_batch / each * each, (run_.global_batch / each + 1) * each));
    if (global && accumulation && bounded_product({each, *accumulation}) != *global && !subject_.hints.resized)
      return fail(ask_.where(Asked::global_batch),
          fmt::format("a global batch of {}, but micro-batch {} x dp {} x {} accumulation steps = {}", *global, *micro,
              dp, *accumulation, bounded_product({each, *accumulation})),
          "one of them belongs to another run");
    // torch's stages cut a rank's batch again, into pieces of one sequence unless told.
    const bool cuts = subject_.framework.stages_cut_batch && run_.parallel.pp > 1;
    if (cuts && *micro % stage.value_or(1) != 0)
      return fail(ask_.where(Asked::stage_batch),
          fmt::format("pieces of {} sequences do not make a local batch of {}", *stage, *micro),
          fmt::format("{}", std::gcd(*micro, *stage)));
    run_.micro_batch = cuts ? stage.value_or(1) : *micro;
    settle_schedule();
    return {};
  }

 private:
  /// torch's interleaved orders take any number of micro-batches, and their zero-bubble kind one chunk too.
  void settle_schedule() {
    std::string& schedule = subject_.out.schedule;
    const std::int64_t each = *run_.micro_batch * run_.parallel.dp, micro_batches = run_.global_batch / each;
    if (schedule == "interleaved-zb" && run_.parallel.chunks == 1) schedule = "zb-h1";
    if (schedule == "interleaved-1f1b" && (micro_batches % run_.parallel.pp != 0 || run_.parallel.chunks == 1))
      schedule = "interleaved-flex";
  }

  /// Steps of accumulation, or micro-batches of a pipeline, which are the same.
  MaybeCount accumulated() {
    const auto steps = ask_.count(Asked::accumulation), micro_batches = ask_.count(Asked::micro_batches);
    return steps ? steps : micro_batches;
  }

  /// Sequences of one rank and micro-batch; torchtitan's newest release counts tokens instead.
  MaybeCount asked_micro_batch(MaybeCount global, MaybeCount accumulation) {
    const auto micro = ask_.count(Asked::micro_batch), tokens = ask_.count(Asked::tokens_per_rank);
    if (subject_.hints.micro_batch > 0) return subject_.hints.micro_batch;
    if (micro) return micro;
    if (tokens) {
      const std::int64_t sequences = std::max<std::int64_t>(1, *tokens / *run_.model.seq_len);
      if (sequences * *run_.model.seq_len != *tokens)
        subject_.note(fmt::format("{} tokens of a micro-batch are no whole sequences of {}: forecast as {}", *tokens,
            *run_.model.seq_len, sequences));
      return sequences;
    }
    const std::int64_t dp = run_.parallel.dp;
    if (global && subject_.framework.micro_follows) {
      const std::int64_t parts = bounded_product({dp, accumulation.value_or(1)});
      return std::max<std::int64_t>(1, *global / parts);
    }
    if (global && accumulation && *global % bounded_product({dp, *accumulation}) == 0)
      return *global / bounded_product({dp, *accumulation});
    if (subject_.framework.micro_batch == 0 || !unread_file().empty()) return std::nullopt;
    // DeepSpeed does not start without a batch or micro-batch (runtime/config.py)
    subject_.note(fmt::format("micro-batch {}, {}", subject_.framework.micro_batch,
        subject_.framework.micro_follows ? "since nothing tells it, which DeepSpeed refuses"
                                         : "as the program does unless told"));
    return subject_.framework.micro_batch;
  }

  Expected<void> no_micro_batch() {
    const std::string file = unread_file();
    const std::string of_log =
        file.empty() ? "FILE: the script or configuration that the run was started with" : file.substr(0, 80);
    const GivenArgument* given = ask_.answering(Asked::micro_batch);
    return fail(given == nullptr ? subject_.launch.where : ask_.where(Asked::micro_batch),
        given == nullptr ? "its arguments do not tell the micro-batch"
                         : fmt::format("'{:.40}' is no micro-batch", given->value),
        subject_.hints.must_agree ? "--micro-batch N" + (file.empty() ? "" : fmt::format(", or {:.80} beside it", file))
                                  : "--launch " + of_log);
  }

  /// A configuration file that the command names says what it likes; it is known to be read where its values are there.
  std::string unread_file() {
    if (const auto file = ask_.text(Asked::config_file)) return *file;
    const auto named = subject_.launch.environment.find("CONFIG_FILE");
    return named == subject_.launch.environment.end() ? "" : named->second;
  }

  const LaunchSubject& subject_;
  LaunchAnswers& ask_;
  Run& run_;
};

}  // namespace

Expected<void> read_batch(const LaunchSubject& subject) { return BatchReader(subject).read(); }

}  // namespace stepcast::launch
