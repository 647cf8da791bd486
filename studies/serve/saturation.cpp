#include "studies/serve/saturation.h"

#include <algorithm>

#include "sim/serving/service_figures.h"

namespace stepcast::serve {
namespace {

/// Requests that one replica's cache holds at once, if it lets in so many.
std::int64_t together(const sim::Servers& servers, double length) {
  const double blocks = length / static_cast<double>(servers.policy.block);
  const auto held = static_cast<std::int64_t>(static_cast<double>(servers.policy.blocks) / std::max(1.0, blocks));
  return std::clamp<std::int64_t>(held, 1, servers.policy.most_sequences) * servers.groups * servers.stages;
}

/// Requests at once that fill a replica some times over, from all over the load: a trace's first may be unlike others.
sim::Load all_at_once(const std::vector<sim::ServingRequest>& requests, const sim::Servers& servers) {
  constexpr std::int64_t fills = 3;
  sim::Load load;
  const auto count = static_cast<std::size_t>(fills * together(servers, mean_length(requests)) + 1);
  const std::size_t size = requests.size();
  for (std::size_t i = 0; i < count; ++i) {
    load.requests.push_back(requests[count < size ? i * size / count : i % size]);
    load.requests.back().arrival = Seconds(0);
  }
  return load;
}

sim::Servers one_of(sim::Servers servers) {
  servers.replicas = 1;
  return servers;
}

/// While others waited.
Saturation rates_of(const sim::ServedRun& run, double words_of_request, const sim::Servers& servers) {
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
  Saturation out;
  out.words_per_second = all * words / span.value();
  out.requests_per_second = out.words_per_second / words_of_request;
  out.word = Seconds(speaking / words);
  out.running = all * running / span.value();
  out.gave_way = static_cast<double>(run.preempted);
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
  return rates_of(sim::simulate(load, one_of(servers), times.timer()), mean_words(load.requests), servers);
}

Saturation words_saturation(
    const std::vector<sim::ServingRequest>& requests, const sim::Servers& servers, infer::ServedTimes& times) {
  const sim::Load load = all_at_once(requests, servers);
  // Prompts are read in no time, all of them at once.
  constexpr std::int64_t any = 1'000'000'000'000;
  const sim::Servers reads{.policy = {.most_positions = any, .most_sequences = any, .blocks = any}};
  const auto at_once = [](auto) { return Seconds(0); };
  const sim::PooledRun run = sim::simulate(
      load, {reads, one_of(servers), at_once}, [](const sim::Batch&) { return Seconds(0); }, times.timer());
  return rates_of(run.served, mean_words(load.requests), servers);
}

}  // namespace stepcast::serve
