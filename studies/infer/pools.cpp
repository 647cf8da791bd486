#include "studies/infer/pools.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>

namespace stepcast::infer {
namespace {

bool on_one_machine(const Serving& prompts, const Serving& words) { return prompts.machine().id == words.machine().id; }

/// As many ranks apart as the last of one pool from the first of the other, on `own`'s machine: ranks of a replica
/// stand behind each other, and those of the other pool behind them; those of another machine beyond its outermost
/// level.
std::int64_t farthest(const Serving& own, const Serving& other) {
  if (on_one_machine(own, other)) return own.scenario.plan.gpus + other.scenario.plan.gpus - 1;
  const std::vector<Level>& levels = own.machine().levels;
  return levels[levels.size() - 2].gpus;
}

/// Ranks that have the same sequences.
double ranks_of_group(const Serving& serving) { return static_cast<double>(serving.tensor_ways * serving.stages); }

/// What later tokens read of so many positions, on the stage with the most. A pool of windows has room for more, of
/// which nothing is sent.
double keys_sent(const Serving& words, double positions) {
  const bool all = words.engine.keeps_windows && words.engine.window_pool(words.network().family) == nullptr;
  double most = 0;
  for (const Serving::Held& stage : words.form->held())
    most = std::max(most, dataflow::cache_bytes(stage.caches, positions, all));
  return most;
}

struct Parts {
  Bytes sent, received;
};
Parts parts_of(const Serving& prompts, const Serving& words, double positions) {
  const double each = keys_sent(words, positions);
  return {Bytes(each * ranks_of_group(words) / ranks_of_group(prompts)), Bytes(each)};
}

/// The innermost level of a machine that holds ranks so far apart.
const std::string& level_across(const Machine& machine, std::int64_t distance) {
  for (const Level& level : machine.levels)
    if (distance < level.gpus) return level.name;
  return machine.levels.back().name;
}

/// Both ends of the way, each with the links of its own machine: the slower counts.
class Ends {
 public:
  Ends(const Serving& prompts, const Serving& words)
      : from_(prompts), to_(words), from_distance_(farthest(prompts, words)), to_distance_(farthest(words, prompts)) {}
  [[nodiscard]] Seconds sends(const Parts& parts) const { return from_.send(parts.sent, from_distance_); }
  [[nodiscard]] Seconds receives(const Parts& parts) const { return to_.send(parts.received, to_distance_); }
  [[nodiscard]] sim::KeyTransfer transfer(const Parts& parts) const { return {sends(parts), receives(parts)}; }

 private:
  ServingCost from_, to_;
  std::int64_t from_distance_, to_distance_;
};

}  // namespace

Expected<void> check_pools(const Serving& prompts, const Serving& words) {
  if (prompts.engine.kernels != words.engine.kernels)
    return fail("--prefill-engine",
        fmt::format("{} reads prompts, and {} says their words: no engine takes another's keys", prompts.engine.name,
            words.engine.name),
        "releases of one engine");
  if (prompts.engine.cache_block != words.engine.cache_block)
    return fail("--prefill-engine",
        fmt::format("{} has blocks of {} positions, and {} of {}", prompts.engine.name, prompts.engine.cache_block,
            words.engine.name, words.engine.cache_block),
        "blocks of one size: others are sorted anew on their way, which is not forecast");
  if (on_one_machine(prompts, words)) return {};
  for (const Serving* one : {&prompts, &words})
    if (one->machine().levels.size() < 2)
      return fail(one == &prompts ? "--prefill-machine" : "--machine",
          fmt::format("{} has no network, and its cache is sent to or from another machine", one->machine().id),
          "machines with a network between their nodes");
  return {};
}

CacheTransfer transfer_of(const Serving& prompts, const Serving& words, double positions) {
  const Parts parts = parts_of(prompts, words, positions);
  const sim::KeyTransfer transfer = Ends(prompts, words).transfer(parts);
  CacheTransfer out{parts.sent, parts.received, transfer.sends, transfer.receives, transfer.time(), {}};
  const bool sender = transfer.sends > transfer.receives;
  out.fabric = sender ? level_across(prompts.machine(), farthest(prompts, words))
                      : level_across(words.machine(), farthest(words, prompts));
  return out;
}

std::function<sim::KeyTransfer(std::int64_t)> transfers(const Serving& prompts, const Serving& words) {
  struct Known {
    Known(const Serving& from, const Serving& to) : ends(from, to) {}
    Ends ends;
    std::unordered_map<std::int64_t, sim::KeyTransfer> times;
  };
  auto known = std::make_shared<Known>(prompts, words);
  return [known, &prompts, &words](std::int64_t positions) {
    if (const auto found = known->times.find(positions); found != known->times.end()) return found->second;
    const Parts parts = parts_of(prompts, words, static_cast<double>(positions));
    return known->times.emplace(positions, known->ends.transfer(parts)).first->second;
  };
}

}  // namespace stepcast::infer
