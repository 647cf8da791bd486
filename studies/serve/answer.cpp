#include "studies/serve/answer.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/quantity_text.h"

namespace stepcast::serve {
namespace {

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

/// Requests that one replica's cache holds at once, if it lets in so many.
std::int64_t together(const sim::Servers& servers, double length) {
  const double blocks = length / static_cast<double>(servers.policy.block);
  const auto held = static_cast<std::int64_t>(static_cast<double>(servers.policy.blocks) / std::max(1.0, blocks));
  return std::clamp<std::int64_t>(held, 1, servers.policy.most_sequences) * servers.groups;
}

/// One replica with all requests there at once, so many that it fills some times over.
Saturation saturation_of(
    const std::vector<sim::ServingRequest>& requests, const sim::Servers& servers, infer::ServedTimes& times) {
  constexpr std::int64_t fills = 3;
  sim::Load load;
  const auto count = static_cast<std::size_t>(fills * together(servers, mean_length(requests)) + 1);
  // From all over the load, were it longer than that: a trace's first requests may be unlike the others.
  const std::size_t size = requests.size();
  for (std::size_t i = 0; i < count; ++i) {
    load.requests.push_back(requests[count < size ? i * size / count : i % size]);
    load.requests.back().arrival = Seconds(0);
  }
  sim::Servers one = servers;
  one.replicas = 1;
  const sim::ServedRun run = sim::simulate(load, one, times.timer());
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
  const auto replicas = static_cast<double>(servers.replicas);
  Saturation out;
  out.words_per_second = replicas * words / span.value();
  out.requests_per_second = out.words_per_second / mean_words(load.requests);
  out.word = Seconds(speaking / words);
  out.running = replicas * running / span.value();
  return out;
}

/// Of the iterations that take the most time together: words alone, or with prompts.
Spread spread_of(const sim::ServedRun& run, const infer::ServedTimes& times) {
  const auto& iterations = run.iterations;
  std::vector<std::pair<double, std::size_t>> sorted;
  double all = 0;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    sorted.emplace_back(iterations[i].time.value(), i);
    all += iterations[i].time.value();
  }
  std::ranges::sort(sorted);
  double seen = 0;
  for (const auto& [time, at] : sorted)
    if (seen += time; seen >= all / 2) return times.whole(iterations[at].batch).spread;
  return {1, 1};
}

/// A second, between the first and the last; 0: they come at once.
double rate_of(const std::vector<sim::ServingRequest>& requests) {
  const double span = (requests.back().arrival - requests.front().arrival).value();
  return span > 0 ? static_cast<double>(requests.size() - 1) / span : 0;
}

}  // namespace

Expected<Answer> answer(const Question& question) {
  TRY(auto serving, infer::serving_of(question.engine));
  Answer out;
  out.serving = std::move(serving);
  sim::Load load;
  load.requests = question.trace ? *question.trace : sim::requests_of(question.law);
  load.concurrency = question.concurrency.value_or(0);
  if (!question.trace && !question.concurrency)
    sim::let_arrive(load.requests, question.rate, question.shape, question.law.seed);
  const double length = mean_length(load.requests);
  out.room = infer::capacity(out.serving, std::max<std::int64_t>(2, static_cast<std::int64_t>(length)));
  out.servers = {infer::policy_of(out.serving, length, question.batching), question.replicas,
      out.serving.attention_groups(), out.serving.engine.host_per_request};
  out.gpus = out.serving.scenario.plan.gpus * question.replicas;
  TRY(infer::check_requests(out.serving, load.requests, out.servers.policy));
  const auto count = static_cast<std::int64_t>(load.requests.size());
  if (question.warm_up >= count)
    return fail("--warm-up", fmt::format("{} of {} requests are not counted", question.warm_up, count),
        fmt::format("fewer, or more --requests"));
  infer::ServedTimes times(out.serving);
  out.saturation = saturation_of(load.requests, out.servers, times);
  if (!question.concurrency) {
    out.rate = question.trace ? rate_of(load.requests) : question.rate;
    // Above 90 % of it a capacity that is a little off changes waits several times over, and it is off by some percent.
    constexpr double near = 0.9, surely = 1.05;
    const double share = out.rate / out.saturation.requests_per_second;
    if (!question.trace && share >= surely) return out;
    if (question.trace && share >= 1)
      out.warnings.emplace_back("more comes than is served while the trace lasts: waits grow to its end");
    else if (share > near)
      out.warnings.emplace_back(
          "above 90 % of saturation a capacity that is a little off changes waits many times over");
  }
  out.run = sim::simulate(load, out.servers, times.timer());
  const sim::ServedRun& run = out.run;
  out.spread = spread_of(run, times);
  out.figures = sim::figures_of(run, out.servers, static_cast<std::size_t>(question.warm_up));
  // Before the first requests have ended fewer run together than later.
  constexpr double stays = 5;
  const Seconds comes = load.requests.back().arrival - load.requests.front().arrival;
  if (!question.concurrency && !question.trace && comes < out.figures->whole.mean * stays)
    out.warnings.push_back(fmt::format("requests come for {}, and one takes {}: these are figures of a start; more "
                                       "--requests show what holds later",
        format_seconds(comes), format_seconds(out.figures->whole.mean)));
  double good = 0;
  for (std::size_t i = static_cast<std::size_t>(question.warm_up); i < run.requests.size(); ++i)
    good += meets(run.requests[i], question.targets) ? 1 : 0;
  if (!question.targets.empty()) out.met = good / out.figures->requests;
  return out;
}

}  // namespace stepcast::serve
