// Results of sweeps that never ran: every configuration gets figures from its index alone, so that any part can be
// folded by itself.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include <fmt/format.h>

#include "studies/sweep/result/result.h"

namespace stepcast::sweep::testing_sweep {

/// 2 x 3 x `last` configurations.
inline SweepQuestion question(std::size_t last = 7, std::uint64_t top = 5) {
  SweepQuestion q;
  q.network = "llama3-8b", q.machine = "dgx-h100", q.stack = "megatron-core", q.profile = "h100-sxm";
  q.fixed = {{"gpus", "64"}, {"global_batch", "256"}};
  q.axes = {{"tp", {"1", "2"}}, {"schedule", {"1f1b", "gpipe", "odd \"name\", with comma"}}, {"micro_batch", {}}};
  for (std::size_t i = 1; i <= last; ++i) q.axes.back().values.push_back(fmt::format("{}", i));
  q.objective = "step_time";
  q.where = "tp <= 8";
  q.pareto = {"step_time", "memory.peak", "tokens_per_s_per_gpu"};
  q.top = top;
  q.price_per_gpu_hour = 2.1;
  q.nouns_hash = "0123456789abcdef";
  return q;
}

inline SweepRow row(const SweepQuestion& q, std::uint64_t index) {
  SweepRow out;
  out.index = index;
  out.choices.resize(q.axes.size());
  std::uint64_t rest = index;
  for (std::size_t i = q.axes.size(); i-- > 0; rest /= q.axes[i].values.size())
    out.choices[i] = q.axes[i].values[rest % q.axes[i].values.size()];
  std::mt19937_64 random(index);
  for (double& figure : out.figures) figure = static_cast<double>(random()) / 3e17;
  // Few values, so that there are ties and equal points.
  for (const Figure figure : {Figure::step_time, Figure::memory_peak, Figure::tokens_per_s_per_gpu})
    out.figures[static_cast<std::size_t>(figure)] = 0.1 * static_cast<double>(1 + random() % 12);
  return out;
}

/// Looks at one configuration, as a sweep does: a sixth is illegal, a sixth does not fit, the others are kept if good
/// enough.
inline void look(SweepResult& result, std::uint64_t index) {
  add_range(result.done, {index, index + 1});
  ++result.tally.enumerated;
  const std::uint64_t kind = (index * 2654435761U) % 6;
  if (kind == 0) {
    ++result.tally.illegal[index % 2 == 0 ? "tp does not divide the heads" : "more stages than layers"];
  } else if (kind == 1) {
    SweepTally one;
    one.does_not_fit = 1;
    one.smallest_overflow_bytes = 1e9 * static_cast<double>(1 + index % 5);
    one.smallest_overflow_index = index;
    result.tally.add(one);
  } else {
    keep_top(result.top, row(result.question, index), result.question);
    keep_front(result.pareto, row(result.question, index),
        {Figure::step_time, Figure::memory_peak, Figure::tokens_per_s_per_gpu});
  }
}

/// `left` configurations at its end are not done.
inline SweepResult result(const SweepQuestion& q, Shard shard = {}, std::uint64_t left = 0) {
  SweepResult out;
  out.question = q;
  out.shard = shard;
  const IndexRange all = range_of(shard, q.size());
  for (std::uint64_t index = all.begin; index + left < all.end; ++index) look(out, index);
  return out;
}

}  // namespace stepcast::sweep::testing_sweep
