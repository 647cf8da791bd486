#include "studies/infer/phases.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace stepcast::infer {
namespace {

Spread widest(Spread a, Spread b) { return {std::min(a.p10, b.p10), std::max(a.p90, b.p90)}; }

}  // namespace

Expected<Phase> prefill(const Serving& serving, std::int64_t batch, std::int64_t prompt, std::int64_t cached) {
  const std::int64_t most = serving.engine.most_positions;
  Phase phase;
  phase.iterations = 0;
  phase.spread = {1, 1};
  const auto add = [&](const Rows& rows, double times) -> Expected<void> {
    TRY(auto iteration, iterate(serving, rows));
    phase.time += iteration.time.time * times;
    phase.iterations += times;
    phase.spread = widest(phase.spread, iteration.time.spread);
    phase.shown = std::move(iteration);
    return {};
  };
  if (prompt > most) {  // pieces of one prompt behind each other
    for (std::int64_t done = 0; done < prompt; done += most)
      TRY(add({1, std::min(most, prompt - done), cached + done}, static_cast<double>(batch)));
    return phase;
  }
  const std::int64_t together = std::max<std::int64_t>(1, most / prompt), whole = batch / together;
  if (whole > 0) TRY(add({together, prompt, cached}, static_cast<double>(whole)));
  if (batch % together > 0) TRY(add({batch % together, prompt, cached}, 1));
  return phase;
}

Expected<Phase> decode(const Serving& serving, std::int64_t batch, std::int64_t context) {
  TRY(auto iteration, iterate(serving, {batch, 1, context}));
  Phase phase;
  phase.time = phase.decode = iteration.time.time;
  phase.spread = iteration.time.spread;
  phase.shown = std::move(iteration);
  return phase;
}

Expected<Phase> static_batch(const Serving& serving, std::int64_t batch, std::int64_t prompt, std::int64_t output) {
  TRY(auto phase, prefill(serving, batch, prompt, 0));
  phase.prefill = phase.time;
  if (output <= 1) return phase;
  const std::int64_t last = prompt + output - 1;
  TRY(auto begin, decode(serving, batch, prompt + 1));
  TRY(const auto middle, decode(serving, batch, (prompt + 1 + last) / 2));
  TRY(const auto end, decode(serving, batch, last));
  constexpr double ends = 1.0 / 6, middles = 4.0 / 6;
  const Seconds word = begin.time * ends + middle.time * middles + end.time * ends;
  phase.decode = word * static_cast<double>(output - 1);
  phase.time += phase.decode;
  phase.iterations += static_cast<double>(output - 1);
  phase.spread = widest(phase.spread, end.spread);
  phase.shown = std::move(begin.shown);
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
