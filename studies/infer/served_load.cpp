#include "studies/infer/served_load.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/infer/serving_split.h"

namespace stepcast::infer {

sim::BatchingPolicy policy_of(const Serving& serving, double length, const BatchingWishes& wishes, std::int64_t head) {
  const Engine& engine = serving.engine;
  sim::BatchingPolicy policy;
  policy.most_positions = wishes.most_positions.value_or(engine.most_positions);
  policy.most_sequences = wishes.most_sequences.value_or(engine.most_sequences);
  policy.prompts_apart = engine.prompts_apart, policy.pieces = !engine.whole_prompts;
  policy.reserves_all = engine.reserves_all, policy.plans_ahead = engine.plans_ahead;
  policy.block = engine.cache_block;
  const Capacity room = capacity(serving, std::max<std::int64_t>(2, std::llround(length)), wishes.most_positions);
  policy.blocks = room.blocks;
  policy.shared_blocks = head / policy.block;
  if (swaps(engine, wishes)) {
    const double bytes = room.bytes_per_position * static_cast<double>(policy.block);
    policy.swaps = true;
    policy.host_blocks = bytes > 0 ? static_cast<std::int64_t>(swap_space(serving, wishes).value() / bytes) : 0;
    policy.spare_blocks = static_cast<std::int64_t>(engine.swapping.spare * static_cast<double>(policy.blocks));
    policy.spare_of_each = spare_of_each(engine);
  }
  return sim::lane_policy(policy, serving.stages);
}

std::vector<double> stage_parts(const Serving& serving) {
  if (serving.stages == 1) return {};
  const ServingCost cost(serving);
  constexpr sim::Rows some{64, 1, 1024};
  const std::span rows(&some, 1);
  std::vector<double> parts(static_cast<std::size_t>(serving.stages), 0);
  double all = 0;
  for (const sim::IterationSlice& slice : cost.in_order(rows, cost.time(rows)))
    parts[static_cast<std::size_t>(slice.stage)] += slice.time.value(), all += slice.time.value();
  for (double& part : parts) part /= all;
  return parts;
}

Seconds ServedTimes::guessed(const sim::Batch& batch) {
  if (batch.words == 0) return table_.time(batch);
  constexpr double per_doubling = 16;  // between two steps an iteration changes by less than 5 % of its attention
  const double step = std::round(per_doubling * std::log2(std::max(1.0, batch.contexts / batch.words)));
  const auto [tried, anew] = tried_.try_emplace({batch.words, step});
  if (anew) {
    const double context = std::exp2(step / per_doubling), guesses = static_cast<double>(serving_->draft);
    tried->second =
        cost_.time({batch.words, 1 + guesses, context}).time + drafts_->time({batch.words, 1, context}).time * guesses;
  }
  const Seconds words = tried->second / said_;
  if (batch.prompts == 0) return words;
  return words + table_.time(batch) - table_.time({.words = batch.words, .contexts = batch.contexts});
}

sim::IterationTime ServedTimes::whole(const sim::Batch& batch) const {
  std::vector<sim::Rows> rows;
  if (batch.words > 0)
    rows.push_back({batch.words, 1 + static_cast<double>(serving_->draft), batch.contexts / batch.words});
  if (batch.prompts > 0) {
    const double each = batch.positions / batch.prompts;
    rows.push_back({batch.prompts, each, std::max(0.0, batch.pairs / batch.positions - each / 2)});
  }
  return cost_.time(rows);
}

Expected<void> check_served(const Serving& serving, const sim::ServingRequest& request) {
  if (!serving.scenario.split)
    return fail("--mapping", "a load on a mapping of one's own", "stepcast infer for one iteration");
  if (serving.cp > 1)
    return fail("--cp", "a load whose prompts are split by position", "--cp 1, or stepcast infer for one prompt");
  if (serving.stages > 1 && serving.attention_groups() > 1)
    return fail("--pp", "a load on several stages of groups with sequences of their own",
        "--pp 1 or --dp-attention 1, or stepcast infer for one iteration");
  const NetworkSpec& network = serving.network();
  const bool learned = network.positions == Positions::learned && network.max_positions > 0;
  if (learned && request.prompt + request.output > network.max_positions)
    return fail("--input",
        fmt::format("a request of {} + {} positions, and {} has learned positions for {}", request.prompt,
            request.output, network.id, network.max_positions),
        fmt::format("at most {} with what comes out", network.max_positions));
  if (sees_picked_blocks(network, request.prompt + request.output))
    return fail("--input",
        fmt::format("a request of {} + {} positions, and beyond {} queries of {} see picked keys, and {}",
            request.prompt, request.output, network.dense_positions, network.id, unpicked_reason(network)),
        fmt::format("at most {} with what comes out{}", network.dense_positions, unpicked_hint(network)));
  return {};
}

bool has_room(const sim::ServingRequest& request, const sim::BatchingPolicy& policy) {
  return sim::Batcher(policy).blocks_at_end(request) <= policy.own_blocks();
}

Expected<void> check_requests(
    const Serving& serving, const std::vector<sim::ServingRequest>& requests, const sim::BatchingPolicy& policy) {
  for (const sim::ServingRequest& request : requests) {
    TRY(check_served(serving, request));
    if (has_room(request, policy)) continue;
    return fail("--gpus",
        fmt::format("a request of {} + {} positions needs {} blocks of {}{}, and the cache of a GPU beside {} of "
                    "weights has {}{}",
            request.prompt, request.output, sim::Batcher(policy).blocks_at_end(request), policy.block,
            policy.shared_blocks > 0 ? fmt::format(" beside {} of the shared head", policy.shared_blocks) : "",
            format_bytes(Bytes(serving.weight_bytes())), policy.blocks,
            serving.stages > 1 ? " for each of its lanes, of which every stage has one" : ""),
        "more GPUs, narrower --weights or --kv, or shorter requests");
  }
  return {};
}

std::vector<Repeated> condensed(
    ServedTimes& times, const std::vector<sim::RanIteration>& iterations, const std::vector<double>& weights) {
  struct Pot {
    double weight = 0;
    sim::IterationSums sums;
  };
  std::map<std::pair<bool, int>, Pot> pots;
  constexpr double per_doubling = 4;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    if (weights[i] <= 0) continue;
    const sim::Batch& batch = iterations[i].batch;
    const bool prompts = batch.prompts > 0;
    const double size = prompts ? batch.positions : batch.words;
    Pot& pot = pots[{prompts, static_cast<int>(per_doubling * std::log2(std::max(1.0, size)))}];
    const sim::IterationSums sums = times.sums(batch);
    pot.weight += weights[i];
    pot.sums.hosts = sums.hosts, pot.sums.host_pace = sums.host_pace;
    pot.sums.add(sums, weights[i]);
  }
  std::vector<Repeated> out;
  for (auto& [key, pot] : pots) {
    sim::IterationSums mean;
    mean.hosts = pot.sums.hosts, mean.host_pace = pot.sums.host_pace;
    mean.add(pot.sums, 1 / pot.weight);
    out.push_back({pot.weight, mean});
  }
  return out;
}

}  // namespace stepcast::infer
