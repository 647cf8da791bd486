#include "sim/serving/steady/prompt_reader.h"

#include <algorithm>
#include <cmath>

#include "sim/serving/steady/cache_room.h"

namespace stepcast::sim {
namespace {

/// They end with their first word.
RequestMeans read_alone(RequestMeans means) {
  means.output = means.output_square = 1;
  return means;
}

/// Of so many of a normal law the largest, in deviations above the mean: within 0.03 of it from 2 to 100.
double largest_deviation(double of) { return of > 1 ? std::sqrt(2 * std::log(of)) - 0.6 : 0; }

}  // namespace

PromptReader::PromptReader(const RequestMeans& means, const Servers& servers, const BatchTimer& timer)
    : servers_(servers) {
  servers_.replicas = 1;
  const RequestMeans alone = read_alone(means);
  const MeanIterations iterations(alone, timer);
  most_ = std::min(WordCycles(alone, servers.policy, servers.groups, timer).most_prompts(0),
      CacheRoom(alone, servers.policy).most_running());
  const double pieces = std::max(1.0, 1 / most_), most = std::max(1.0, most_);
  const double deviation = std::sqrt(std::max(0.0, alone.read_square - alone.read * alone.read)) / alone.read *
                           largest_deviation(static_cast<double>(servers.groups));
  constexpr double step = 1.25;
  for (double prompts = 1;; prompts = std::min(most, std::max(prompts + 1, std::floor(prompts * step)))) {
    // Of groups the one with the longest prompts counts.
    const double fullest = std::min(most, prompts + std::sqrt(prompts) * deviation);
    const double time = pieces * iterations.mixed(0, fullest, fullest * alone.read / pieces);
    batches_.push_back({prompts * static_cast<double>(servers.groups), time});
    if (prompts >= most) break;
  }
}

/// As many as come while the batch before is read; of its time a line between two that are known.
PromptReader::Timed PromptReader::batch_at(double per_second) const {
  const auto above = std::ranges::find_if(batches_, [&](const Timed& one) { return one.per_second() > per_second; });
  if (above == batches_.end()) return batches_.back();
  if (above == batches_.begin()) {  // so few come that not every group has one
    const double prompts = std::max(1.0, per_second * above->time);
    return {prompts, above->time};
  }
  const Timed &low = *std::prev(above), &high = *above;
  const double each = (high.time - low.time) / (high.prompts - low.prompts);
  const double prompts = per_second * (low.time - each * low.prompts) / (1 - per_second * each);
  return {prompts, low.time + each * (prompts - low.prompts)};
}

double PromptReader::time(double prompts) const {
  const auto above = std::ranges::find_if(batches_, [&](const Timed& one) { return one.prompts >= prompts; });
  if (above == batches_.end()) return batches_.back().time;
  if (above == batches_.begin()) return above->time;
  const Timed &low = *std::prev(above), &high = *above;
  return std::lerp(low.time, high.time, (prompts - low.prompts) / (high.prompts - low.prompts));
}

/// One that comes waits for the iteration that runs, if one does, and then for room; of several replicas it goes to the
/// one with the fewest, which is idle more often (Sakasegawa 1977, as in others_prompts.h, of which this is the law for
/// one prompt to an iteration). Groups that have nothing to read wait for those of their replica that have, and so does
/// what a router gives them, though others stand still.
PromptReading PromptReader::reading(const ArrivingPrompts& come) const {
  const bool groups = servers_.groups > 1;
  const Timed batch = batch_at(come.per_second);
  const double load = std::min(0.999, come.per_second / most_per_second());
  const double at_one = come.per_second * (groups ? come.replicas : 1);
  const double busy = std::min(1.0, at_one * batch.time / batch.prompts) * come.others;
  const double power = std::sqrt(2 * (come.replicas + 1)) - 2;
  const double beside = groups ? 1 : std::pow(std::max(busy, 1e-9), power) / come.replicas;
  const double iterations =
      0.5 + waits_for_room(load, batches_.back().prompts) + (servers_.policy.plans_ahead ? busy : 0);
  const double waits = batch.time * busy * beside * iterations;
  return {batch.prompts, batch.time + waits, waits};
}

}  // namespace stepcast::sim
