#include "studies/serve/answer.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/quantity_text.h"
#include "studies/engines/positions/context_length.h"
#include "studies/infer/start_rules.h"

namespace stepcast::serve {
namespace {

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

/// Each iteration is simulated: more than so many take minutes.
constexpr double most_iterations = 2e7;

/// Of as many users as run at once, by what they hold at their end: those that give way to others are read again; of
/// requests at a rate, as many as the shortest iterations fit in while they come.
double iterations_of(const sim::Load& load, const sim::Servers& servers, infer::ServedTimes& times) {
  double words = 0, positions = 0, blocks = 0;
  const sim::Batcher group(servers.policy);
  for (const sim::ServingRequest& request : load.requests) {
    words += static_cast<double>(request.output), positions += static_cast<double>(request.prompt);
    blocks += static_cast<double>(group.blocks_at_end(request));
  }
  const auto lanes = static_cast<double>(servers.replicas * servers.stages);
  const double reading = positions / static_cast<double>(servers.policy.most_positions);
  if (load.concurrency > 0) {
    const double held = std::max(1.0, blocks / static_cast<double>(load.requests.size()));
    const double fit = std::min(
        static_cast<double>(servers.policy.most_sequences), static_cast<double>(servers.policy.own_blocks()) / held);
    const double room = lanes * static_cast<double>(servers.groups) * std::max(1.0, fit);
    const double together = std::min(static_cast<double>(load.concurrency), room);
    // Each replica has iterations of its own.
    return words / together * std::min(lanes, together) + reading;
  }
  const Seconds comes = load.requests.back().arrival - load.requests.front().arrival;
  const double shortest = times.time({1, 1, 0, 0, 0}).value();
  return std::min(words, lanes * comes.value() / shortest + words / lanes) + reading;
}

Expected<void> check_work(const sim::Load& load, const sim::Servers& servers, infer::ServedTimes& times) {
  const double iterations = iterations_of(load, servers, times);
  if (iterations <= most_iterations) return {};
  return fail("--requests",
      fmt::format("{} requests are some {:.2g} iterations, and each is simulated", load.requests.size(), iterations),
      fmt::format("at most some {:.2g}: fewer --requests, or stepcast infer for one iteration", most_iterations));
}

/// Users reach as many replicas as there are of them; of requests at a rate each replica has some, and all of them are
/// looked at as each ends an iteration.
Expected<void> check_replicas(const Question& question) {
  constexpr std::int64_t most = 100'000;
  const std::int64_t replicas = question.replicas + (question.prompts ? question.prompts->replicas : 0);
  if (question.concurrency || replicas <= most) return {};
  return fail(question.replicas > most ? "--replicas" : "--prefill-replicas",
      fmt::format("{} replicas of requests that come at their own times, and each is simulated", replicas),
      fmt::format("at most {}, or --concurrency", most));
}

/// What a launch starts takes requests as long as its network where it says nothing of them.
void warn_of_unsaid_longest(const Question& question, Answer& out) {
  if (question.engine.longest_fits) return;
  const std::int64_t positions = question.engine.longest == 0 ? question.engine.positions.value_or(0) : 0;
  const auto held = infer::check_longest_request(out.serving, positions, question.batching.most_positions);
  if (!held)
    out.warnings.push_back(fmt::format("nothing says the longest request, so that it is one of the network: {}; {}",
        held.error().what, held.error().hint));
}

/// Of the host's memory for each GPU, what so many blocks of each lane's cache fill.
Bytes held_by_host(const Answer& out, std::int64_t blocks) {
  const auto positions = static_cast<double>(blocks * out.servers.policy.block * out.servers.stages);
  return Bytes(out.room.bytes_per_position * positions);
}

/// The engine stops where the host's memory has no room for a sequence that gives way. How much it takes is told by a
/// run with as much as there may be.
Expected<void> check_host(const Question& question, const Answer& out, const sim::Load& load, infer::ServedTimes& times,
    infer::ServedTimes* prompt_times) {
  const infer::Serving& serving = out.serving;
  if (out.run.swaps.refused == 0 || serving.engine.swapping.reads_again)
    return infer::check_swapped(serving, out.run.swaps);
  Answer roomy = out;
  constexpr std::int64_t any = 1'000'000'000'000;
  roomy.servers.policy.host_blocks = any;
  const sim::ServedRun run = roomy.prompts
                                 ? simulate(load, *roomy.prompts, serving, roomy.servers, *prompt_times, times)
                                 : sim::simulate(load, roomy.servers, times.timer());
  constexpr double gibi = 1024.0 * 1024 * 1024;
  const double needed = std::ceil(held_by_host(out, run.swaps.most_blocks).value() / gibi);
  const bool enough = needed * gibi <= infer::most_swap_space(serving).value();
  return fail("--swap-space",
      fmt::format("{} stops: sequences that give way fill the {} of the host's memory for each GPU",
          serving.engine.name, format_bytes(infer::swap_space(serving, question.batching))),
      serving.engine.swapping.when == SwapsWhen::asked
          ? fmt::format("{}--preemption recompute, or a lower --most-sequences",
                enough ? fmt::format("--swap-space {:.0f}, ", needed) : "")
          : "a lower --most-sequences");
}

void note_swaps(const Question& question, const infer::ServedTimes& times, Answer& out) {
  const infer::SwapCopies& copies = times.swaps();
  Answer::Swapped& swapped = out.swapped.emplace();
  swapped.space = infer::swap_space(out.serving, question.batching);
  const auto caches = static_cast<double>(out.servers.replicas * out.servers.groups * out.servers.stages);
  const sim::Swaps& swaps = out.run.swaps;
  swapped.out = copies.bytes_of_block() * (static_cast<double>(swaps.blocks_out) / caches);
  swapped.in = copies.bytes_of_block() * (static_cast<double>(swaps.blocks_in) / caches);
  swapped.most = held_by_host(out, swaps.most_blocks);
  Seconds all;
  for (const sim::RanIteration& ran : out.run.iterations) swapped.time += copies.time(ran.batch), all += ran.time;
  if (all.value() > 0) swapped.share = swapped.time / all;
  const std::string warning = infer::warning_of_swaps(out.serving, out.servers.policy, swaps);
  if (!warning.empty()) out.warnings.push_back(warning);
}

/// A second, between the first and the last; 0: they come at once.
double rate_of(const std::vector<sim::ServingRequest>& requests) {
  const double span = (requests.back().arrival - requests.front().arrival).value();
  return span > 0 ? static_cast<double>(requests.size() - 1) / span : 0;
}

}  // namespace

Expected<Answer> answer(const Question& question) {
  TRY(check_replicas(question));
  TRY(auto serving, infer::serving_of(question.engine));
  TRY(infer::check_swapping(serving, question.batching));
  Answer out;
  out.serving = std::move(serving);
  sim::Load load;
  load.requests = question.trace ? *question.trace : sim::requests_of(question.law);
  load.concurrency = question.concurrency.value_or(0);
  if (!question.trace && !question.concurrency)
    sim::let_arrive(load.requests, question.rate, question.shape, question.law.seed);
  const double length = mean_length(load.requests);
  out.room = infer::capacity(
      out.serving, std::max<std::int64_t>(2, static_cast<std::int64_t>(length)), question.batching.most_positions);
  out.warnings = infer::launch_warnings(out.serving);
  std::vector<sim::ServingRequest> held = load.requests;
  if (question.prompts)  // whose keys come whole, with what the prompts share
    for (sim::ServingRequest& request : held) request.cached = 0;
  out.servers = {infer::policy_of(out.serving, length, question.batching, sim::longest_cached(held)), question.replicas,
      out.serving.attention_groups(), out.serving.stages, out.serving.engine.host_per_request,
      infer::stage_parts(out.serving)};
  out.gpus = out.serving.scenario.plan.gpus * question.replicas;
  std::int64_t longest = 0;
  for (const sim::ServingRequest& request : held) longest = std::max(longest, request.prompt + request.output);
  const std::int64_t positions =
      question.engine.positions ? *question.engine.positions : engines::context_length(question.engine.network);
  const auto within = infer::check_positions(
      {longest, question.engine.longest, positions}, out.serving.engine, question.trace ? "--trace" : "--input");
  // Learned positions are more than the checkpoint takes by an offset (OPT's 2): the fewer of both are said.
  if (out.serving.network().positions == Positions::learned) TRY(within);
  TRY(infer::check_requests(out.serving, held, out.servers.policy));
  const auto count = static_cast<std::int64_t>(load.requests.size());
  if (question.warm_up >= count)
    return fail("--warm-up", fmt::format("{} of {} requests are not counted", question.warm_up, count),
        fmt::format("fewer, or more --requests"));
  infer::ServedTimes times(out.serving, question.guesses);
  times.copy_sequences_of(length);
  if (out.serving.draft > 0)
    out.serving.assumptions.push_back(fmt::format("{:.2f} tokens an iteration, ITL as if each came by itself",
        infer::words_of_iteration(out.serving.draft, question.guesses.accepted)));
  TRY(check_work(load, out.servers, times));
  TRY(within);
  TRY(infer::check_longest_request(out.serving, question.engine.longest, question.batching.most_positions));
  warn_of_unsaid_longest(question, out);
  std::optional<infer::ServedTimes> prompt_times;
  if (question.prompts) {
    TRY(out.prompts, prompt_pool_of(*question.prompts, out.serving, load.requests));
    for (const std::string& assumed : out.prompts->serving.assumptions)
      if (!contains(out.serving.assumptions, assumed))
        out.serving.assumptions.push_back("of the pool of prompts " + assumed);
    prompt_times.emplace(out.prompts->serving);
    out.gpus += out.prompts->gpus;
    out.saturation = joined(*out.prompts, out.serving, out.servers, load.requests, *prompt_times,
        words_saturation(load.requests, out.servers, times));
  } else {
    out.saturation = saturation_of(load.requests, out.servers, times);
  }
  if (!question.concurrency) {
    out.rate = question.trace ? rate_of(load.requests) : question.rate;
    // Above 90 % of it a capacity that is a little off changes waits several times over, and it is off by some percent.
    constexpr double near = 0.9, surely = 1.05;
    const double share = out.rate / out.saturation.requests_per_second;
    if (!question.trace && share >= surely) return out;
    if (question.trace && share >= 1)
      out.warnings.emplace_back("more comes than is served while the trace lasts: waits grow to its end");
    else if (share >= 1)
      out.warnings.push_back(fmt::format("this rate is above saturation and does not last: once requests wait, {:.3g} "
                                         "more wait after each second, and with more --requests TTFT grows",
          out.rate - out.saturation.requests_per_second));
    else if (out.rate > out.saturation.waiting.requests_per_second)
      out.warnings.push_back(fmt::format("a burst that fills the cache is not worked off: while others wait sequences "
                                         "give way to them and {:.3g} requests/s are served",
          out.saturation.waiting.requests_per_second));
    else if (share > near)
      out.warnings.emplace_back(
          "above 90 % of saturation a capacity that is a little off changes waits many times over");
  }
  out.run = out.prompts ? simulate(load, *out.prompts, out.serving, out.servers, *prompt_times, times)
                        : sim::simulate(load, out.servers, times.timer());
  TRY(check_host(question, out, load, times, prompt_times ? &*prompt_times : nullptr));
  if (out.servers.policy.swaps) note_swaps(question, times, out);
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
