#include "studies/serve/saturation.h"

#include <algorithm>

#include "sim/serving/service_figures.h"

namespace stepcast::serve {
namespace {

/// Sequences of which each holds so many blocks that one group's cache takes at once, if it lets in so many.
std::int64_t fitting(const sim::BatchingPolicy& policy, double blocks) {
  const auto held = static_cast<std::int64_t>(static_cast<double>(policy.own_blocks()) / std::max(1.0, blocks));
  return std::clamp<std::int64_t>(held, 1, policy.most_sequences);
}

/// Requests that one replica's cache holds at once.
std::int64_t together(const std::vector<sim::ServingRequest>& requests, const sim::Servers& servers) {
  double cached = 0;
  for (const sim::ServingRequest& request : requests) cached += static_cast<double>(request.cached);
  const double own = mean_length(requests) - cached / static_cast<double>(requests.size());
  return fitting(servers.policy, own / static_cast<double>(servers.policy.block)) * servers.groups * servers.stages;
}

/// Sequences of one group that the cache holds to their ends.
std::int64_t surely_fitting(const std::vector<sim::ServingRequest>& requests, const sim::BatchingPolicy& policy) {
  const sim::Batcher group(policy);
  double blocks = 0;
  for (const sim::ServingRequest& request : requests) blocks += static_cast<double>(group.blocks_at_end(request));
  return fitting(policy, blocks / static_cast<double>(requests.size()));
}

/// Requests at once that fill a replica some times over, from all over the load: a trace's first may be unlike others.
sim::Load all_at_once(const std::vector<sim::ServingRequest>& requests, const sim::Servers& servers) {
  constexpr std::int64_t fills = 3;
  sim::Load load;
  const auto count = static_cast<std::size_t>(fills * together(requests, servers) + 1);
  const std::size_t size = requests.size();
  for (std::size_t i = 0; i < count; ++i) {
    load.requests.push_back(requests[count < size ? i * size / count : i % size]);
    load.requests.back().arrival = Seconds(0);
  }
  return load;
}

/// While others waited.
ServedRates rates_of(const sim::ServedRun& run, double words_of_request, const sim::Servers& servers) {
  const auto [begin, end] = sim::full_span(run);
  double words = 0, running = 0, speaking = 0;
  Seconds span;
  for (std::size_t i = begin; i < end; ++i) {
    const sim::RanIteration& ran = run.iterations[i];
    span += ran.time;
    words += static_cast<double>(ran.words);
    running += static_cast<double>(ran.running) * ran.time.value();
    speaking += static_cast<double>(ran.speaking) * ran.time.value();
  }
  span = span / static_cast<double>(servers.stages);  // whose iterations run beside each other
  const auto all = static_cast<double>(servers.replicas);
  ServedRates out;
  out.words_per_second = all * words / span.value();
  out.requests_per_second = out.words_per_second / words_of_request;
  out.word = Seconds(speaking / words);
  out.running = all * running / span.value();
  out.gave_way = static_cast<double>(run.preempted), out.host_full = run.swaps.refused > 0;
  return out;
}

/// Of servers that do what `run` says with the requests of a load. The more wait, the more run at once; what is taken
/// for the most is with all of them, or without those that give way.
template <typename Run> Saturation most_of(const sim::Load& load, const sim::Servers& servers, const Run& run) {
  const double words = mean_words(load.requests);
  sim::Servers one = servers;
  one.replicas = 1;
  Saturation out;
  out.waiting = rates_of(run(one), words, servers);
  static_cast<ServedRates&>(out) = out.waiting;
  if (out.waiting.gave_way == 0) return out;
  one.policy.most_sequences = surely_fitting(load.requests, servers.policy);
  const ServedRates fewer = rates_of(run(one), words, servers);
  if (fewer.requests_per_second <= out.requests_per_second) return out;
  static_cast<ServedRates&>(out) = fewer;
  out.most_sequences = one.policy.most_sequences * servers.stages;
  return out;
}

}  // namespace

double mean_length(const std::vector<sim::ServingRequest>& requests) {
  double sum = 0;
  for (const sim::ServingRequest& request : requests)
    sum += static_cast<double>(request.prompt) + static_cast<double>(request.output) / 2;
  return sum / static_cast<double>(requests.size());
}

double mean_words(const std::vector<sim::ServingRequest>& requests) {
  double sum = 0;
  for (const sim::ServingRequest& request : requests) sum += static_cast<double>(request.output);
  return sum / static_cast<double>(requests.size());
}

Saturation saturation_of(
    const std::vector<sim::ServingRequest>& requests, const sim::Servers& servers, infer::ServedTimes& times) {
  const sim::Load load = all_at_once(requests, servers);
  return most_of(load, servers, [&](const sim::Servers& one) { return sim::simulate(load, one, times.timer()); });
}

Saturation words_saturation(
    const std::vector<sim::ServingRequest>& requests, const sim::Servers& servers, infer::ServedTimes& times) {
  sim::Load load = all_at_once(requests, servers);
  for (sim::ServingRequest& request : load.requests) request.cached = 0;  // keys come whole
  // Prompts are read in no time, all of them at once.
  constexpr std::int64_t any = 1'000'000'000'000;
  const sim::Servers reads{.policy = {.most_positions = any, .most_sequences = any, .blocks = any}};
  const auto at_once = [](auto) { return Seconds(0); };
  return most_of(load, servers, [&](const sim::Servers& one) {
    return sim::simulate(
        load, {reads, one, at_once}, [](const sim::Batch&) { return Seconds(0); }, times.timer())
        .served;
  });
}

}  // namespace stepcast::serve
