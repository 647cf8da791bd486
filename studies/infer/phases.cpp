#include "studies/infer/phases.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace stepcast::infer {
namespace {

Spread widest(Spread a, Spread b) { return {std::min(a.p10, b.p10), std::max(a.p90, b.p90)}; }

void add(Phase& phase, sim::IterationTime iteration, double times) {
  phase.time += iteration.time * times;
  phase.iterations.push_back({times, iteration.sums});
  phase.spread = widest(phase.spread, iteration.spread);
  phase.shown = std::move(iteration);
}

Phase empty_phase() {
  Phase phase;
  phase.spread = {1, 1};
  return phase;
}

void add_prompts(Phase& phase, const ServingCost& cost, std::int64_t most, std::int64_t batch, std::int64_t prompt,
    std::int64_t cached) {
  const auto run = [&](std::int64_t sequences, std::int64_t positions, std::int64_t behind, std::int64_t times) {
    if (times > 0)
      add(phase,
          cost.time({static_cast<double>(sequences), static_cast<double>(positions), static_cast<double>(behind)}),
          static_cast<double>(times));
  };
  if (prompt > most) {  // pieces of one prompt behind each other
    for (std::int64_t done = 0; done < prompt; done += most)
      run(1, std::min(most, prompt - done), cached + done, batch);
    return;
  }
  const std::int64_t together = std::max<std::int64_t>(1, most / prompt);
  run(together, prompt, cached, batch / together);
  run(batch % together, prompt, cached, batch % together > 0 ? 1 : 0);
}

}  // namespace

Phase prefill(const Serving& serving, std::int64_t batch, std::int64_t prompt, std::int64_t cached) {
  const ServingCost cost(serving);
  Phase phase = empty_phase();
  add_prompts(phase, cost, serving.engine.most_positions, batch, prompt, cached);
  phase.prefill = phase.time;
  return phase;
}

Phase decode(const Serving& serving, std::int64_t batch, std::int64_t context) {
  const ServingCost cost(serving);
  Phase phase = empty_phase();
  add(phase, cost.time({static_cast<double>(batch), 1, static_cast<double>(context)}), 1);
  phase.decode = phase.time;
  return phase;
}

Phase static_batch(const Serving& serving, std::int64_t batch, std::int64_t prompt, std::int64_t output) {
  const ServingCost cost(serving);
  const Capacity room = capacity(serving, std::max<std::int64_t>(2, prompt + output / 2));
  Phase phase = empty_phase();
  add_prompts(phase, cost, serving.engine.most_positions, batch, prompt, 0);
  phase.prefill = phase.time;
  if (output <= 1) return phase;
  // What the cache does not hold at once goes in waves.
  const std::int64_t together = std::clamp<std::int64_t>(room.sequences, 1, batch);
  phase.waves = static_cast<double>(batch) / static_cast<double>(together);
  const auto first = static_cast<double>(prompt + 1), last = static_cast<double>(prompt + output - 1),
             words = static_cast<double>(output - 1);
  constexpr double ends = 1.0 / 6, middles = 4.0 / 6;
  for (const auto& [context, share] :
      {std::pair{first, ends}, std::pair{(first + last) / 2, middles}, std::pair{last, ends}})
    add(phase, cost.time({static_cast<double>(together), 1, context}), share * words * phase.waves);
  phase.decode = phase.time - phase.prefill;
  return phase;
}

Capacity capacity(const Serving& serving, std::int64_t length) {
  Capacity out;
  out.memory = serving.machine().gpu.memory.value();
  out.weights = serving.weight_bytes();
  out.reserved = serving.engine.reserved.value();
  constexpr std::int64_t longest = 8192;  // what engines that take whole prompts were asked at
  const NetworkSpec& n = serving.network();
  out.activation_positions = std::min(serving.engine.most_positions, longest);
  out.activations =
      activations_of(serving.engine, {static_cast<double>(out.activation_positions), static_cast<double>(n.hidden),
                                         serving.scenario.split->tp, n.experts.count > 0})
          .value();
  const double share = serving.engine.cache_share;
  const double left = serving.engine.cache_rule == CacheRule::of_total
                          ? share * out.memory - out.weights - out.activations - out.reserved
                          : share * (out.memory - out.weights - out.activations - out.reserved);
  out.cache = std::max(0.0, left);
  out.bytes_per_position = serving.cache_bytes(static_cast<double>(length)) / static_cast<double>(length);
  const auto block = serving.engine.cache_block;
  out.blocks = static_cast<std::int64_t>(out.cache / (out.bytes_per_position * static_cast<double>(block)));
  out.positions = out.blocks * block;
  const std::int64_t needed = (length + block - 1) / block;
  out.sequences = needed > 0 ? out.blocks / needed : 0;
  return out;
}

}  // namespace stepcast::infer
