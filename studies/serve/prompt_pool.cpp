#include "model/errors/error_context.h"
#include "studies/serve/prompt_pool.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepcast::serve {
namespace {

double mean_prompt(const std::vector<sim::ServingRequest>& requests) {
  double sum = 0;
  for (const sim::ServingRequest& request : requests) sum += static_cast<double>(request.prompt);
  return sum / static_cast<double>(requests.size());
}

/// They end with their first word here.
std::vector<sim::ServingRequest> read_alone(std::vector<sim::ServingRequest> requests) {
  for (sim::ServingRequest& request : requests) request.output = 1;
  return requests;
}

}  // namespace

Error error_of_prompts(Error error) {
  for (const char* flag : {"--machine", "--engine", "--gpus", "--node-gpus", "--tp", "--pp", "--ep", "--dp-attention"})
    error = renamed_place(std::move(error), flag, fmt::format("--prefill{}", flag + 1));
  return error;
}

Expected<PromptPool> prompt_pool_of(
    const PromptPoolWishes& wishes, const infer::Serving& words, const std::vector<sim::ServingRequest>& requests) {
  auto serving = infer::serving_of(wishes.engine);
  if (!serving) return tl::unexpected(error_of_prompts(serving.error()));
  TRY(infer::check_pools(*serving, words));
  PromptPool out;
  out.serving = std::move(*serving);
  out.positions = mean_prompt(requests);
  out.servers = {infer::policy_of(out.serving, out.positions, wishes.batching, sim::longest_cached(requests)),
      wishes.replicas, out.serving.attention_groups(), out.serving.stages, out.serving.engine.host_per_request,
      infer::stage_parts(out.serving)};
  out.gpus = out.serving.scenario.plan.gpus * wishes.replicas;
  const auto one = std::ranges::find(requests, 1, &sim::ServingRequest::output);
  if (one != requests.end())
    return fail("--output", "a request of one token, of which the decode pool has nothing to do",
        "at least 2 tokens, or one pool");
  const auto fits = infer::check_requests(out.serving, read_alone(requests), out.servers.policy);
  if (!fits) return tl::unexpected(error_of_prompts(fits.error()));
  return out;
}

Saturation joined(PromptPool& prompts, const infer::Serving& words, const sim::Servers& servers,
    const std::vector<sim::ServingRequest>& requests, infer::ServedTimes& prompt_times, const Saturation& most) {
  prompts.transfer = infer::transfer_of(prompts.serving, words, prompts.positions);
  prompts.saturation = saturation_of(read_alone(requests), prompts.servers, prompt_times);
  const auto groups = [](const sim::Servers& pool) { return static_cast<double>(pool.replicas * pool.groups); };
  // Each end takes what the links of all its groups do.
  prompts.links_requests_per_second = std::min(
      groups(prompts.servers) / prompts.transfer.sends.value(), groups(servers) / prompts.transfer.receives.value());
  Saturation out = most;
  out.binds = "decode";
  const auto bound_by = [&](double requests_per_second, const char* binds) {
    if (requests_per_second >= out.requests_per_second) return;
    ServedRates bound;
    bound.requests_per_second = requests_per_second;
    bound.words_per_second = requests_per_second * mean_words(requests);
    if (requests_per_second < out.waiting.requests_per_second) out.waiting = bound;
    out = {bound, out.waiting, 0, binds};
  };
  bound_by(prompts.saturation.requests_per_second, "prefill");
  bound_by(prompts.links_requests_per_second, "links");
  return out;
}

sim::ServedRun simulate(const sim::Load& load, PromptPool& prompts, const infer::Serving& words,
    const sim::Servers& servers, infer::ServedTimes& prompt_times, infer::ServedTimes& word_times) {
  sim::PooledRun run = sim::simulate(load, {prompts.servers, servers, infer::transfers(prompts.serving, words)},
      prompt_times.timer(), word_times.timer());
  Seconds end;
  for (const sim::Served& request : run.served.requests) end = std::max(end, request.last);
  const auto lanes = static_cast<double>(prompts.servers.replicas * prompts.servers.stages);
  for (const sim::RanIteration& ran : run.reading) {
    const double share = ran.time / end;
    prompts.busy += share / lanes;
    prompts.waiting += share * static_cast<double>(ran.waiting);
    prompts.most_waiting = std::max(prompts.most_waiting, static_cast<double>(ran.waiting));
  }
  prompts.reading = std::move(run.reading);
  return std::move(run.served);
}

}  // namespace stepcast::serve
