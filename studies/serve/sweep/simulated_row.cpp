#include "studies/serve/sweep/simulated_row.h"

#include <algorithm>

#include "sim/serving/pooled_run.h"
#include "sim/serving/steady/steady_part.h"
#include "studies/infer/pools.h"

namespace stepcast::serve::sweeping {

std::int64_t rounds_of(const Asked& asked, std::int64_t users) {
  constexpr double words = 2e6;
  constexpr std::int64_t least = 3, usual = 10;
  const double round = static_cast<double>(users) * asked.law.outputs.mean();
  return std::clamp(static_cast<std::int64_t>(words / round), least, usual);
}

sim::SteadyLoad steady_load(const Asked& asked, double load) {
  sim::SteadyLoad steady;
  if (asked.closed) steady.users = load, steady.rounds = rounds_of(asked, static_cast<std::int64_t>(load));
  else steady.rate = load;
  return steady;
}

namespace {

sim::ServedRun run_of(const sim::Load& load, Engines& engines, const Configuration& configuration) {
  const MadeEngine& engine = **engines.of(configuration);
  const sim::Servers servers = *engines.servers(engine, configuration);
  if (!configuration.prompts) return sim::simulate(load, servers, engine.timer);
  const MadeEngine& reads = **engines.of_prompts(configuration);
  const sim::PooledServers pools{
      *engines.prompt_servers(reads, configuration), servers, infer::transfers(reads.serving, engine.serving)};
  return sim::simulate(load, pools, reads.timer, engine.timer).served;
}

}  // namespace

bool can_simulate(const Asked& asked, const Configuration& configuration, double load) {
  constexpr double most_replicas = 512, most_words = 1e9, most_looks = 1e10;
  const auto replicas =
      static_cast<double>(configuration.replicas + (configuration.prompts ? configuration.prompts->replicas : 0));
  if (!asked.closed) return replicas <= most_replicas;
  // A replica that users reach ends an iteration for each word of one of them.
  const double reached = std::min(replicas, load);
  const double words =
      static_cast<double>(rounds_of(asked, static_cast<std::int64_t>(load))) * asked.law.outputs.mean();
  return words * load <= most_words && words * reached * reached <= most_looks;
}

Expected<void> simulate(Row& row, const Asked& asked, Engines& engines, const Configuration& configuration) {
  sim::RequestLaw law = asked.law;
  sim::Load load;
  std::size_t first = 0, last = 0;
  if (asked.closed) {
    const auto users = static_cast<std::int64_t>(row.load), rounds = rounds_of(asked, users);
    law.count = rounds * users, load.concurrency = users;
    first = static_cast<std::size_t>(users), last = static_cast<std::size_t>((rounds - 1) * users);
  } else {
    constexpr std::int64_t of_each = 1000;
    law.count = of_each * configuration.replicas;
    first = static_cast<std::size_t>(law.count / 10), last = static_cast<std::size_t>(law.count - 1);
  }
  load.requests = sim::requests_of(law);
  if (!asked.closed) sim::let_arrive(load.requests, row.load, 1, law.seed);
  const sim::ServedRun run = run_of(load, engines, configuration);
  const MadeEngine& engine = **engines.of(configuration);
  if (infer::swaps(engine.serving.engine, engines.wishes(configuration))) {
    TRY(infer::check_swapped(engine.serving, run.swaps));
    row.swapped = run.swaps.sequences;
  }
  const sim::SteadyPart part = sim::steady_part(run, first, last);
  row.simulated = {part.words_per_second / static_cast<double>(configuration.gpus), 1 / part.per_word.value(),
      part.per_word, part.first_word};
  if (asked.targets.empty()) return {};
  double good = 0;
  for (std::size_t i = first; i < last; ++i) good += meets(run.requests[i], asked.targets) ? 1 : 0;
  row.met = good / static_cast<double>(last - first);
  return {};
}

}  // namespace stepcast::serve::sweeping
