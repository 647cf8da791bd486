#include "studies/infer/records/served_records.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "studies/infer/pools.h"
#include "studies/infer/records/benchmark_settings.h"

namespace stepcast::infer {
namespace {

/// As InferenceX and NVIDIA's reports have it: so many prompts for each user of a closed loop.
constexpr std::int64_t rounds = 10;

void repeat_prompts(const InferenceRecord& record, std::int64_t block, std::vector<sim::ServingRequest>& requests) {
  const auto unlike = repeated_prompts(record);
  for (auto i = static_cast<std::size_t>(unlike.value_or(static_cast<std::int64_t>(requests.size())));
       i < requests.size(); ++i)
    requests[i].cached = (requests[i].prompt - 1) / block * block;
}

constexpr double milliseconds = 1e3;

struct LoadedRun {
  sim::Load load;
  sim::Servers servers;
  sim::ServedRun run;
  bool condensed = true;  ///< whether the forecast has the iterations
};

sim::RequestLaw law_of(const InferenceRecord& record, std::int64_t count) {
  const double share = shortest_share(record);
  return {.count = count,
      .prompts = sim::lengths_of(*record.prompt, share),
      .outputs = sim::lengths_of(*record.output, share)};
}

/// Of a sequence in the middle of its words.
double usual_length(const InferenceRecord& record) {
  return static_cast<double>(*record.prompt) + static_cast<double>(*record.output) / 2;
}

Expected<LoadedRun> start(const InferenceRecord& record, const Serving& serving) {
  if (!record.guesses.empty() && !record.guesses.starts_with("none"))
    return fail("workload", "tokens that are guessed", "records without speculation");
  if (guesses_unsaid(record))
    return fail("workload", "tokens that are guessed, which the file does not say", "records without speculation");
  if (!record.prompt || !record.output) return fail("workload", "a length that is not told", "isl and osl");
  LoadedRun served;
  const double length = usual_length(record);
  BatchingWishes limits;
  limits.most_sequences = record.most_sequences, limits.most_positions = record.most_positions;
  limits.decodes = record.word_pool.has_value();  // a pool of prompts has nobody who gives way
  const BenchmarkSettings settings = settings_of(record);
  if (!limits.most_positions) limits.most_positions = settings.most_positions;
  const bool by_bench = record.phase == "offline_throughput" && serving.engine.kernels == "trtllm";
  if (by_bench && !limits.most_sequences && !limits.most_positions)
    limits = trtllm_bench_limits(serving, static_cast<double>(*record.prompt), static_cast<double>(*record.output));
  served.servers.policy = policy_of(serving, length, limits);
  // trtllm-bench's limit is that of each of the iterations under way.
  if (by_bench && limits.most_sequences) served.servers.policy.most_sequences = *limits.most_sequences;
  if (settings.mixed) served.servers.policy.prompts_apart = false;
  served.servers.groups = serving.attention_groups(), served.servers.stages = serving.stages;
  served.servers.before = serving.engine.host_per_request, served.servers.parts = stage_parts(serving);
  return served;
}

Expected<void> run(LoadedRun& served, ServedTimes& times) {
  TRY(check_requests(times.serving(), served.load.requests, served.servers.policy));
  served.run = sim::simulate(served.load, served.servers, times.timer());
  return check_swapped(times.serving(), served.run.swaps);
}

Expected<void> ask_users(const InferenceRecord& record, LoadedRun& served) {
  const auto users = record.concurrency ? record.concurrency : record.batch;
  if (!users) return fail("workload", "how many requests run at once is not told", "concurrency");
  served.load.requests = sim::requests_of(law_of(record, rounds * *users));
  repeat_prompts(record, served.servers.policy.block, served.load.requests);
  served.load.concurrency = *users;
  return {};
}

Expected<LoadedRun> closed_loop(const InferenceRecord& record, ServedTimes& times) {
  TRY(auto served, start(record, times.serving()));
  TRY(ask_users(record, served));
  times.copy_sequences_of(usual_length(record));
  TRY(run(served, times));
  return served;
}

/// The same of two pools: the run is that of the one that says words.
Expected<LoadedRun> pooled_loop(const InferenceRecord& record, ServedTimes& prompt_times, ServedTimes& times) {
  const Serving &prompts = prompt_times.serving(), &words = times.serving();
  TRY(auto read, start(record, prompts));
  TRY(auto served, start(record, words));
  times.copy_sequences_of(usual_length(record));
  TRY(ask_users(record, served));
  read.servers.replicas = record.prompt_pool->replicas, served.servers.replicas = record.word_pool->replicas;
  TRY(check_requests(words, served.load.requests, served.servers.policy));
  TRY(check_requests(prompts, served.load.requests, read.servers.policy));
  served.run = sim::simulate(
      served.load, {read.servers, served.servers, transfers(prompts, words)}, prompt_times.timer(), times.timer())
                   .served;
  TRY(check_swapped(words, served.run.swaps));
  return served;
}

/// `times`: seconds of which the phase's is the sum.
void finish(ServedForecast& made, const LoadedRun& served, ServedTimes& times, const std::vector<double>& weights) {
  if (served.condensed) made.phase.iterations = condensed(times, served.run.iterations, weights);
  const std::size_t middle = std::ranges::max_element(weights) - weights.begin();
  made.phase.shown = times.whole(served.run.iterations[middle].batch);
  made.phase.spread = made.phase.shown.spread;
}

/// A time of which each iteration gives its weight.
template <class Weight>
ServedForecast weighed(const char* metric, const InferenceRecord& record, const LoadedRun& served, ServedTimes& times,
    const Weight& weight_of) {
  std::vector<double> weights;
  double seconds = 0;
  for (const sim::RanIteration& ran : served.run.iterations) {
    weights.push_back(weight_of(ran));
    seconds += weights.back() * ran.time.value();
  }
  ServedForecast made{metric, record.measured.at(metric), seconds * milliseconds, {}};
  made.phase.time = Seconds(seconds);
  finish(made, served, times, weights);
  return made;
}

Expected<ServedForecast> word_time(
    const InferenceRecord& record, ServedTimes& times, ServedTimes* prompts, bool iterations) {
  TRY(auto served, prompts != nullptr ? pooled_loop(record, *prompts, times) : closed_loop(record, times));
  served.condensed = iterations;
  const auto requests = static_cast<double>(served.run.requests.size());
  auto made =
      weighed("tpot_ms", record, served, times, [&](const sim::RanIteration& ran) { return ran.pace / requests; });
  made.first_word = Seconds(0);
  for (const sim::Served& request : served.run.requests) *made.first_word += (request.first - request.sent) / requests;
  return made;
}

/// The mean time between words of an open loop; without a rate all requests come at once.
Expected<ServedForecast> word_gap(const InferenceRecord& record, ServedTimes& times, bool iterations) {
  TRY(auto served, start(record, times.serving()));
  served.condensed = iterations;
  if (!record.requests) return fail("workload", "how many requests came is not told", "num_requests");
  served.load.requests = sim::requests_of(law_of(record, *record.requests));
  if (record.rate) sim::let_arrive(served.load.requests, *record.rate, 1, 0);
  TRY(run(served, times));
  double gaps = 0;
  for (const sim::Gap& gap : served.run.gaps) gaps += static_cast<double>(gap.count);
  return weighed("itl_ms", record, served, times,
      [&](const sim::RanIteration& ran) { return static_cast<double>(ran.speaking) / gaps; });
}

/// All requests at once, of which each group of ranks has its part.
Expected<ServedForecast> throughput(const InferenceRecord& record, ServedTimes& times, bool iterations) {
  const Serving& serving = times.serving();
  TRY(auto served, start(record, serving));
  served.condensed = iterations;
  if (!record.requests) return fail("workload", "how many requests came is not told", "num_requests");
  times.pad_to(trtllm_bench_graphs(record, served.servers.policy.most_sequences));
  served.servers.groups = 1;
  const std::int64_t all = serving.attention_groups();
  served.load.requests = sim::requests_of(law_of(record, (*record.requests + all - 1) / all));
  TRY(run(served, times));
  double words = 0, alone = 0;
  Seconds end;
  for (const sim::RanIteration& ran : served.run.iterations) {
    words += static_cast<double>(ran.words);
    alone += (served.servers.stages > 1 ? times.time(ran.batch) : ran.time).value();
    end = std::max(end, ran.start + ran.time);
  }
  // Iterations of several stages run beside each other and wait: each has its part of the whole time.
  const double seconds = end.value() / words;
  const std::vector<double> weights(served.run.iterations.size(), seconds / alone);
  const bool of_one = !record.measured.contains("output_tokens_per_s");
  const auto groups = static_cast<double>(serving.attention_groups());
  const double gpus = (of_one ? static_cast<double>(serving.scenario.plan.gpus) : 1) / groups;
  const char* metric = of_one ? "output_tokens_per_s_per_gpu" : "output_tokens_per_s";
  const auto measured = record.measured.find(metric);
  if (measured == record.measured.end()) return fail("measured", "no rate of output tokens", "output_tokens_per_s");
  ServedForecast made{metric, measured->second, 1 / seconds / gpus, {}};
  made.phase.time = Seconds(seconds);
  finish(made, served, times, weights);
  return made;
}

}  // namespace

bool is_served(const InferenceRecord& record) {
  return record.phase == "serving" || record.phase == "offline_throughput";
}

Expected<ServedForecast> forecast_served(
    const InferenceRecord& record, ServedTimes& times, ServedTimes* prompts, bool iterations) {
  const bool users = record.measured.contains("tpot_ms") && (record.concurrency || record.batch);
  if (prompts != nullptr && !users)
    return fail("workload", "pools for prefill and decode without so many users", "concurrency and tpot_ms");
  if (record.phase == "offline_throughput") return throughput(record, times, iterations);
  if (users) return word_time(record, times, prompts, iterations);
  if (record.measured.contains("itl_ms")) return word_gap(record, times, iterations);
  return fail("workload", "a load that is not told: neither users nor a rate with lengths", "concurrency, or a rate");
}

}  // namespace stepcast::infer
