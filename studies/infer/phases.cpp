#include "studies/infer/phases.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace stepcast::infer {
namespace {

Spread widest(Spread a, Spread b) { return {std::min(a.p10, b.p10), std::max(a.p90, b.p90)}; }

void add(Phase& phase, const Iteration& iteration, double times, double sequences) {
  const sim::IterationTime& time = iteration.time;
  phase.time += time.time * times;
  phase.totals.iterations += times;
  phase.totals.sequences += times * sequences;
  phase.totals.launched += times * time.launched;
  phase.totals.kernels += time.kernels * times;
  phase.totals.moves += time.moves * times;
  phase.spread = widest(phase.spread, time.spread);
}

}  // namespace

Expected<Phase> prefill(const Serving& serving, std::int64_t batch, std::int64_t prompt, std::int64_t cached) {
  const std::int64_t most = serving.engine.most_positions;
  Phase phase;
  phase.spread = {1, 1};
  const auto run = [&](const Rows& rows, double times) -> Expected<void> {
    TRY(auto iteration, iterate(serving, rows));
    add(phase, iteration, times, static_cast<double>(rows.sequences));
    phase.shown = std::move(iteration);
    return {};
  };
  if (prompt > most) {  // pieces of one prompt behind each other
    for (std::int64_t done = 0; done < prompt; done += most)
      TRY(run({1, std::min(most, prompt - done), cached + done}, static_cast<double>(batch)));
    return phase;
  }
  const std::int64_t together = std::max<std::int64_t>(1, most / prompt), whole = batch / together;
  if (whole > 0) TRY(run({together, prompt, cached}, static_cast<double>(whole)));
  if (batch % together > 0) TRY(run({batch % together, prompt, cached}, 1));
  return phase;
}

Expected<Phase> decode(const Serving& serving, std::int64_t batch, std::int64_t context) {
  TRY(auto iteration, iterate(serving, {batch, 1, context}));
  Phase phase;
  phase.spread = {1, 1};
  add(phase, iteration, 1, static_cast<double>(batch));
  phase.decode = phase.time;
  phase.shown = std::move(iteration);
  return phase;
}

Expected<Phase> static_batch(const Serving& serving, std::int64_t batch, std::int64_t prompt, std::int64_t output) {
  TRY(const auto room, capacity(serving, std::max<std::int64_t>(2, prompt + output / 2)));
  TRY(auto phase, prefill(serving, batch, prompt, 0));
  phase.prefill = phase.time;
  if (output <= 1) return phase;
  // What the cache does not hold at once goes in waves.
  const std::int64_t together = std::clamp<std::int64_t>(room.sequences, 1, batch);
  phase.waves = static_cast<double>(batch) / static_cast<double>(together);
  const std::int64_t first = prompt + 1, last = prompt + output - 1;
  const auto words = static_cast<double>(output - 1);
  constexpr double ends = 1.0 / 6, middles = 4.0 / 6;
  for (const auto& [context, share] :
      {std::pair{first, ends}, std::pair{(first + last) / 2, middles}, std::pair{last, ends}}) {
    TRY(auto iteration, iterate(serving, {together, 1, context}));
    add(phase, iteration, share * words * phase.waves, static_cast<double>(together));
    phase.shown = std::move(iteration);
  }
  phase.decode = phase.time - phase.prefill;
  return phase;
}

Expected<Capacity> capacity(const Serving& serving, std::int64_t length) {
  TRY(const auto one, iterate(serving, {1, 1, length - 1}));
  Capacity out;
  out.memory = serving.machine().gpu.memory.value();
  out.weights = one.weight_bytes;
  out.reserved = serving.engine.reserved.value();
  // The widest tensors of one iteration of prompts: two of the MLP and the stream, in two bytes.
  const auto positions = static_cast<double>(std::min<std::int64_t>(serving.engine.most_positions, 8192));
  const NetworkSpec& n = serving.network();
  out.activations =
      2 * positions *
      static_cast<double>(2 * std::max(n.ffn_hidden, n.hidden) / serving.scenario.split->tp + 2 * n.hidden);
  const double share = serving.engine.cache_share;
  const double left = serving.engine.cache_rule == CacheRule::of_total
                          ? share * out.memory - out.weights - out.activations - out.reserved
                          : share * (out.memory - out.weights - out.activations - out.reserved);
  out.cache = std::max(0.0, left);
  out.bytes_per_position = one.cache_bytes / static_cast<double>(length);
  const auto block = serving.engine.cache_block;
  out.blocks = static_cast<std::int64_t>(out.cache / (out.bytes_per_position * static_cast<double>(block)));
  out.positions = out.blocks * block;
  const std::int64_t needed = (length + block - 1) / block;
  out.sequences = needed > 0 ? out.blocks / needed : 0;
  return out;
}

}  // namespace stepcast::infer
