#include "studies/infer/pools.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

namespace stepcast::infer {
namespace {

/// Ranks of a replica stand behind each other, and those of the other pool behind them.
std::int64_t farthest(const Serving& prompts, const Serving& words) {
  return prompts.scenario.plan.gpus + words.scenario.plan.gpus - 1;
}

/// Ranks that have the same sequences.
double ranks_of_group(const Serving& serving) { return static_cast<double>(serving.tensor_ways * serving.stages); }

struct Parts {
  Bytes sent, received;
};
Parts parts_of(const Serving& prompts, const Serving& words, double positions) {
  const double each = words.cache_bytes(positions);
  return {Bytes(each * ranks_of_group(words) / ranks_of_group(prompts)), Bytes(each)};
}

}  // namespace

CacheTransfer transfer_of(const Serving& prompts, const Serving& words, double positions) {
  const Parts parts = parts_of(prompts, words, positions);
  CacheTransfer out{parts.sent, parts.received, {}, {}};
  const std::int64_t last = farthest(prompts, words);
  out.time = ServingCost(words).send(std::max(out.sent, out.received), last);
  for (const Level& level : words.machine().levels) {
    out.fabric = level.name;
    if (last < level.gpus) break;
  }
  return out;
}

std::function<Seconds(std::int64_t)> transfers(const Serving& prompts, const Serving& words) {
  struct Known {
    explicit Known(const Serving& serving) : cost(serving) {}
    ServingCost cost;
    std::unordered_map<std::int64_t, Seconds> times;
  };
  auto known = std::make_shared<Known>(words);
  return [known, &prompts, &words, last = farthest(prompts, words)](std::int64_t positions) {
    const auto [found, anew] = known->times.try_emplace(positions);
    if (anew) {
      const Parts parts = parts_of(prompts, words, static_cast<double>(positions));
      found->second = known->cost.send(std::max(parts.sent, parts.received), last);
    }
    return found->second;
  };
}

}  // namespace stepcast::infer
