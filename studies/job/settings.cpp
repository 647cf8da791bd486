#include "studies/job/settings.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "sim/job/interval.h"
#include "studies/job/duration.h"

namespace stepcast::job {
namespace {

constexpr double day_s = 86400;
constexpr double default_survives = 0.9;

std::string why_not_elastic(const JobRun& run) {
  const Scenario& scenario = run.scenario;
  if (run.mixed) return "which replicas of several kinds of machines go on without nodes is not modelled";
  if (!scenario.split) return "of a mapping of one's own it is not known which ranks hold one copy of the model";
  if (scenario.split->ep > 1)
    return fmt::format(
        "experts lie on {} ranks of several replicas: without one of them no replica is whole", scenario.split->ep);
  return "";
}

double nodes_of_rates(const JobWishes& wishes, std::int64_t gpus) {
  return static_cast<double>(gpus) / static_cast<double>(wishes.rates.node_gpus);
}

/// Failures that a job has besides what its nodes have each.
double fixed_per_day(const JobWishes& wishes, std::int64_t gpus) {
  return wishes.rates.fixed_per_day.value * fixed_share(wishes.rates, nodes_of_rates(wishes, gpus));
}

Expected<void> set_failures(const JobBase& base, const JobWishes& wishes, JobSettings& settings) {
  sim::LifeSettings& life = settings.life;
  life.failures.per_second = failures_per_second(wishes, base.gpus);
  life.fixed_per_second = wishes.logged ? 0 : fixed_per_day(wishes, base.gpus) / day_s;
  settings.fixed_part = fixed_share(wishes.rates, nodes_of_rates(wishes, base.gpus));
  if (life.failures.per_second <= 0)
    return fail("--failure-rate", "nothing ever fails", "a rate above 0: public fleets have 0.002 to 0.007");
  life.failures.detect = wishes.detect.value_or(default_detect);
  Seconds start = wishes.restart.value_or(default_restart);
  if (wishes.logged && !wishes.detect && !wishes.restart) {  // the log's whole time down stands for all three
    life.failures.detect = {};
    start = std::max(Seconds(), wishes.logged->mean_down - settings.times.read);
    settings.notes.push_back("the time from a failure until steps go on is the log's mean");
  } else if (!wishes.detect || !wishes.restart) {
    settings.notes.push_back("detection and restart are assumed (public jobs: 2 to 10 min together)");
  }
  life.failures.restart = start + settings.times.read;
  life.failures.soft_restart = start + settings.times.copy;
  return {};
}

/// Steps stand still for the write, or for the copy to the host and what the write beside them costs.
void set_saves(const JobWishes& wishes, JobSettings& settings) {
  sim::Saves& saves = settings.life.saves;
  const CheckpointTimes& times = settings.times;
  saves.store = wishes.async ? times.copy + wishes.background_slowdown * times.write : times.write;
  saves.settle = wishes.async ? times.write : Seconds();
}

Expected<void> set_interval(const JobBase& base, const JobWishes& wishes, JobSettings& settings) {
  sim::LifeSettings& life = settings.life;
  sim::Saves& saves = life.saves;
  const Seconds between = life.failures.mean_between();
  const Seconds best = sim::exact_interval(between, saves.store);
  for (const auto& [flag, asked] :
      {std::pair{"--interval", wishes.interval}, std::pair{"--memory-interval", wishes.memory_interval}})
    if (asked && *asked < base.step)
      return fail(flag, fmt::format("{}, and a step takes {}", duration_text(*asked), duration_text(base.step)),
          fmt::format("at least {}", duration_text(base.step)));
  saves.interval = wishes.interval.value_or(std::max({best, saves.settle, base.step}));
  settings.interval_asked = wishes.interval.has_value();
  if (wishes.interval && *wishes.interval > between)
    return fail("--interval",
        fmt::format("{} between checkpoints, and the job fails every {}", duration_text(*wishes.interval),
            duration_text(between)),
        fmt::format("{} has the highest goodput", duration_text(best)));
  if (saves.interval + saves.store < saves.settle)
    return fail("--interval",
        fmt::format(
            "storage takes {} for a checkpoint, and the next comes before it is done", duration_text(saves.settle)),
        fmt::format("at least {}, or a higher --storage-write", duration_text(saves.settle)));
  return {};
}

Expected<void> set_memory(const JobWishes& wishes, JobSettings& settings) {
  if (!wishes.memory_interval) return {};
  sim::LifeSettings& life = settings.life;
  life.failures.soft = wishes.memory_survives.value_or(default_survives);
  if (!wishes.memory_survives)
    settings.notes.push_back("checkpoints in memory survive 90 % of failures (assumed: --memory-survives)");
  life.saves.interval = *wishes.memory_interval, life.saves.keep = settings.times.copy;
  constexpr std::int64_t most = 1'000'000;
  const double apart = (life.saves.interval + life.saves.keep).value();
  const auto least = static_cast<std::int64_t>(std::ceil(life.saves.settle.value() / apart));
  life.saves.per_stored = std::max(least, sim::best_per_stored(life.failures, life.saves, most));
  if (*wishes.memory_interval > life.failures.mean_between())
    return fail("--memory-interval",
        fmt::format("{}, and the job fails every {}", duration_text(*wishes.memory_interval),
            duration_text(life.failures.mean_between())),
        "some minutes at most");
  return {};
}

Expected<void> set_pool(const JobBase& base, const JobWishes& wishes, JobSettings& settings) {
  if (!wishes.spares) return {};
  if (base.kinds.size() > 1 && !wishes.elastic)
    return fail("--spares",
        "a node of one kind does not stand in for one of another, and of which kind they are is not said",
        "leave it out: a node is taken to be at hand, and the output says how many spares are enough");
  sim::LifeSettings& life = settings.life;
  const double grows = life.failures.per_second - life.fixed_per_second;
  sim::NodePool pool{base.nodes(), *wishes.spares, grows * wishes.rates.taken, wishes.rates.repair_mean, 0};
  if (wishes.elastic) {
    if (!base.not_elastic.empty()) return fail("--elastic", base.not_elastic, "wait for nodes: without --elastic");
    pool.replica_nodes = std::max<std::int64_t>(1, (base.model_gpus + base.node_gpus - 1) / base.node_gpus);
    settings.notes.push_back("on fewer replicas the global batch shrinks with them; steps take as long");
  }
  life.pool = pool;
  life.repair_spread = std::sqrt(2 * std::log(std::max(1.0, wishes.rates.repair_mean / wishes.rates.repair_median)));
  return {};
}

double mean_over(std::span<const double> numbers, std::span<const std::int64_t> gpus) {
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    sum += numbers[i] * static_cast<double>(gpus[i]);
    all += static_cast<double>(gpus[i]);
  }
  return sum / all;
}

/// The row's name and what was said over it; `several`: the job runs on more than one of the machines that have rates.
std::string name_of_rates(const JobWishes& wishes, bool several) {
  const FailureRates& rates = wishes.rates;
  const auto& fixed = wishes.fixed_failures;
  const bool by_machine = !wishes.rate_by_machine.empty();
  if (!by_machine && !wishes.rate_for_all)
    return fixed ? fmt::format("{}, but {:g} a day of a job of any size", rates.name, *fixed) : rates.name;
  const double rate = rates.per_node_day.value;
  const std::string node = fmt::format("a day and node of {} GPUs", rates.node_gpus);
  return fmt::format("{}, {:g} a day of a job of any size; repairs as of {}",
      by_machine && several ? fmt::format("{} {}, {:g} in the mean", wishes.rate_by_machine, node, rate)
                            : fmt::format("{:g} {}", rate, node),
      rates.fixed_per_day.value, rates.name);
}

}  // namespace

std::int64_t JobBase::nodes() const {
  double all = 0;
  for (const JobNodes& kind : kinds) all += static_cast<double>(kind.gpus);
  std::int64_t count = 0;
  for (JobNodes kind : kinds) {
    kind.gpus = std::llround(static_cast<double>(kind.gpus) * static_cast<double>(gpus) / all);
    count += kind.nodes();
  }
  return count;
}

JobBase job_base(const JobRun& run, const WholeStep& step) {
  const Scenario& scenario = run.scenario;
  JobBase base;
  base.gpus = scenario.plan.gpus;
  base.kinds = run.nodes();
  base.node_gpus = base.kinds.front().node_gpus;
  if (scenario.split) base.model_gpus = scenario.split->tp * scenario.split->cp * scenario.split->pp;
  base.not_elastic = why_not_elastic(run);
  base.step = step.time();
  base.tokens = step.tokens * (run.mixed ? run.mixed->tokens() : run.prediction.program.tokens_per_step);
  base.checkpoint = checkpoint_size(scenario, run.prediction.program);
  base.host_link = scenario.machine.row.host_link;
  if (run.mixed)
    for (const mixed::MixedKind& kind : run.mixed->kinds)
      base.host_link = std::min(base.host_link, kind.share.machine.row.host_link);
  return base;
}

Expected<JobWishes> wishes_on(
    JobWishes wishes, const std::vector<mixed::MachineShare>& all, std::span<const std::int64_t> gpus) {
  for (const auto& [flag, text] :
      {std::pair{"--failure-rate", wishes.rate_by_machine}, std::pair{"--gpu-hour-price", wishes.price_by_machine}})
    if (!text.empty() && all.empty())
      return fail(flag, fmt::format("'{:.60}' names machines, and the job runs on one", text), "a number alone");
  if (!wishes.rate_by_machine.empty()) {
    TRY(wishes.rate_of_kind,
        mixed::numbers_of_shares(wishes.rate_by_machine, all, "--failure-rate", 0, most_failure_rate));
    const double mean = mean_over(wishes.rate_of_kind, gpus);
    wishes.rates.per_node_day = {mean, mean, mean};
  }
  wishes.rates.name = name_of_rates(wishes, std::ranges::count_if(gpus, [](std::int64_t own) { return own > 0; }) > 1);
  if (!wishes.price_by_machine.empty()) {
    TRY(const auto prices, mixed::numbers_of_shares(wishes.price_by_machine, all, "--gpu-hour-price", 0, most_price));
    wishes.gpu_hour_price = mean_over(prices, gpus);
  }
  return wishes;
}

std::vector<double> failure_shares(const JobWishes& wishes, const std::vector<JobNodes>& kinds) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const bool own = wishes.rate_of_kind.size() == kinds.size();
    shares.push_back(static_cast<double>(kinds[i].gpus) * (own ? wishes.rate_of_kind[i] : 1));
  }
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share = all > 0 ? share / all : 1 / static_cast<double>(shares.size());
  return shares;
}

double failures_per_second(const JobWishes& wishes, std::int64_t gpus) {
  const auto count = static_cast<double>(gpus);
  if (wishes.logged) return wishes.logged->per_day.value / day_s * count / static_cast<double>(wishes.logged_gpus);
  return (nodes_of_rates(wishes, gpus) * wishes.rates.per_node_day.value + fixed_per_day(wishes, gpus)) / day_s;
}

Expected<JobSettings> job_settings(const JobBase& base, const JobWishes& wishes) {
  if (base.host_link.value() <= 0 && (wishes.async || wishes.memory_interval))
    return fail(wishes.async ? "--async" : "--memory-interval",
        "the machine does not say how fast its hosts take a copy",
        "without it, or \"host_link\" in the machine's file");
  JobSettings settings;
  settings.storage = default_storage(base.gpus);
  settings.storage.assumed = !wishes.write_rate || !wishes.read_rate;
  settings.storage.write = wishes.write_rate.value_or(settings.storage.write);
  settings.storage.read = wishes.read_rate.value_or(settings.storage.read);
  CheckpointSize& size = settings.checkpoint = base.checkpoint;
  if (wishes.checkpoint) {
    size.asked = true;
    size.fullest_gpu = size.fullest_gpu * (*wishes.checkpoint / size.all);
    size.all = *wishes.checkpoint;
  }
  if (wishes.async && wishes.background_slowdown == 0)
    settings.notes.emplace_back(
        "steps lose nothing while a checkpoint is written beside them (assumed: --async-slowdown)");
  settings.times = checkpoint_times(size, settings.storage, base.host_link);
  TRY(set_failures(base, wishes, settings));
  set_saves(wishes, settings);
  TRY(set_interval(base, wishes, settings));
  TRY(set_memory(wishes, settings));
  TRY(set_pool(base, wishes, settings));
  settings.life.planned_every = wishes.planned_every, settings.life.planned_stop = wishes.planned_stop;
  return settings;
}

}  // namespace stepcast::job
