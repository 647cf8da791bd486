#include "studies/job/forecast.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "sim/job/interval.h"
#include "studies/job/duration.h"
#include "studies/predict/uneven.h"

namespace stepcast::job {
namespace {

/// Below it a job is said to get nothing done.
constexpr double least_goodput = 1e-3;

std::string why_not_elastic(const Scenario& scenario) {
  if (!scenario.split) return "of a mapping of one's own it is not known which ranks hold one copy of the model";
  if (scenario.split->ep > 1)
    return fmt::format(
        "experts lie on {} ranks of several replicas: without one of them no replica is whole", scenario.split->ep);
  return "";
}

std::vector<LawAnswer> law_answers(const sim::LifeSettings& life) {
  std::vector<LawAnswer> answers;
  const Seconds between = life.failures.mean_between(), save = life.saves.store;
  const Seconds down = life.failures.detect + life.failures.restart;
  for (const sim::IntervalLaw& law : sim::interval_laws()) {
    const Seconds interval = law.interval(between, save, down);
    sim::FailureCosts hard = life.failures;
    hard.soft = 0;
    const sim::Saves saves{interval, save, std::min(life.saves.settle, interval + save), 1, {}};
    answers.push_back({law.id, law.name, law.formula, law.source, interval, sim::goodput(hard, saves),
        law.holds(between, save, down)});
  }
  return answers;
}

/// Every rank of the batch split has a loader, and a step begins when the slowest has its batch.
Expected<Seconds> wait_for_data(const JobForecast& job, const JobWishes& wishes) {
  if (!job.scenario.split)
    return fail("--loader-time", "of a mapping of one's own it is not known how many loaders there are",
        "the split by flags: --tp, --pp, ...");
  constexpr std::int64_t draws_in_all = 2'000'000, least = 200, most = 100'000;
  const std::int64_t ranks = job.scenario.split->dp;
  sim::Draws draws(sim::seed_of(static_cast<std::uint64_t>(wishes.seed), 1));
  return sim::drawn_loader_wait(
      *wishes.loader, job.base.step, ranks, std::clamp(draws_in_all / ranks, least, most), draws);
}

void set_length(const JobWishes& wishes, JobForecast& job) {
  const double per_step = job.base.tokens;
  sim::LifeSettings& life = job.settings.life;
  if (wishes.tokens) job.steps = std::ceil(*wishes.tokens / per_step);
  if (wishes.steps) job.steps = static_cast<double>(*wishes.steps);
  life.work = job.steps * job.base.step;
  if (wishes.days) {
    life.work = Seconds(1);
    const double share = sim::expected_life(life).goodput();
    job.steps = std::isfinite(share) ? std::floor(*wishes.days * share / job.base.step) : 0;
    life.work = job.steps * job.base.step;
  }
  job.tokens = job.steps * per_step;
}

void set_spares(const JobWishes& wishes, JobForecast& job) {
  constexpr double most_waiting = 1e-3;
  const sim::LifeSettings& life = job.settings.life;
  const double grows = life.failures.per_second - life.fixed_per_second;
  const sim::NodePool pool{
      job.base.nodes(), wishes.spares.value_or(0), grows * wishes.rates.taken, wishes.rates.repair_mean, 0};
  job.in_repair = pool.taken_per_second * pool.repair.value();
  job.enough_spares = sim::spares_for(pool, most_waiting);
  if (life.pool) job.waiting = job.expected.waiting / (job.expected.whole() - job.expected.planned);
}

void set_never(JobForecast& job) {
  const sim::LifeSettings& life = job.settings.life;
  const Seconds between = life.failures.mean_between(), down = life.failures.detect + life.failures.restart;
  if (job.expected.goodput() >= least_goodput) return;
  if (down > between)
    job.never = fmt::format("a restart takes {} and the job fails every {}: hardly any comes to its end",
        duration_text(down), duration_text(between));
  else if (life.saves.store > between)
    job.never = fmt::format("a checkpoint takes {} and the job fails every {}: hardly any gets stored",
        duration_text(life.saves.store), duration_text(between));
  else if (!life.pool)
    job.never = fmt::format("checkpoints of {} come every {}, and the job fails every {}",
        duration_text(life.saves.store), duration_text(life.saves.interval), duration_text(between));
  else
    job.never = fmt::format("the job waits for nodes {} of the time: repairs take {} and there are {} spares",
        format_percent(job.waiting), duration_text(life.pool ? life.pool->repair : Seconds()),
        life.pool ? life.pool->spares : 0);
}

void add_notes(const JobWishes& wishes, JobForecast& job) {
  job.notes = job.settings.notes;
  if (!wishes.logged) job.notes.push_back(fmt::format("failures: {} ({})", wishes.rates.name, wishes.rates.id));
  constexpr std::int64_t large = 2048;
  if (!wishes.logged && !wishes.rates.note.empty() && job.base.gpus <= large) job.notes.push_back(wishes.rates.note);
  if (job.settings.storage.assumed)
    job.notes.push_back("storage rates are assumed: --storage-write and --storage-read");
  if (wishes.uneven)
    job.notes.push_back(fmt::format("uneven work makes steps {:.1f} % longer", 100 * (job.uneven - 1)));
  else
    job.notes.push_back("work is even over ranks and micro-batches: in 42.5 % of 3,079 jobs uneven work took 1.1 times "
                        "as long and more "
                        "(arXiv 2505.05713): --imbalance");
  if (wishes.loader)
    job.notes.push_back(fmt::format(
        "steps wait {} for data, the slowest of {} loaders", duration_text(job.loader_wait), job.scenario.split->dp));
  if (!wishes.spares) job.notes.push_back("a spare node is always at hand: --spares N");
  if (job.watts_assumed) job.notes.push_back("power is that of the GPUs alone, by datasheet: --watts and --pue");
  job.notes.push_back(fmt::format("steps take as long on the last day as on the first; {} not in them",
      wishes.loader ? "evaluation is" : "loading and evaluation are"));
  if (job.settings.life.saves.interval < job.base.step)
    job.warnings.push_back(fmt::format("checkpoints every {} are less than a step of {} apart",
        duration_text(job.settings.life.saves.interval), duration_text(job.base.step)));
}

}  // namespace

JobBase job_base(const Scenario& scenario, const Prediction& prediction) {
  JobBase base;
  base.gpus = scenario.plan.gpus;
  base.node_gpus = std::min(scenario.machine.row.levels.front().gpus, base.gpus);
  if (scenario.split) base.model_gpus = scenario.split->tp * scenario.split->cp * scenario.split->pp;
  base.not_elastic = why_not_elastic(scenario);
  base.step = prediction.step.step_time, base.tokens = prediction.program.tokens_per_step;
  base.checkpoint = checkpoint_size(scenario, prediction.program);
  base.host_link = scenario.machine.row.host_link;
  return base;
}

Expected<JobForecast> forecast_job(const Request& request, const JobWishes& wishes) {
  TRY(auto scenario, complete(request));
  TRY(const auto prediction, run::predict(scenario));
  const Outcome outcome = outcome_of(scenario, prediction);
  if (!outcome.fits)
    return fail("memory",
        fmt::format(
            "a step needs {} of {}: there is no job", format_bytes(outcome.memory), format_bytes(outcome.capacity)),
        "stepcast sweep finds plans that fit");
  JobForecast job;
  job.scenario = std::move(scenario), job.outcome = outcome;
  job.base = job_base(job.scenario, prediction);
  if (wishes.uneven) {
    TRY(const auto uneven, predict::uneven_forecast(job.scenario, prediction, *wishes.uneven));
    job.base.step = Seconds(uneven.mean_s);
    job.uneven = uneven.mean_s / uneven.even_s;
  }
  if (wishes.loader) {
    TRY(job.loader_wait, wait_for_data(job, wishes));
    job.base.step += job.loader_wait;
  }
  TRY(job.settings, job_settings(job.base, wishes));
  set_length(wishes, job);
  job.expected = sim::expected_life(job.settings.life);
  job.laws = law_answers(job.settings.life);
  const sim::LifeSettings& life = job.settings.life;
  const auto first = sim::first_order_goodput(
      life.failures.per_second, life.saves.interval, life.saves.store, life.failures.detect + life.failures.restart);
  job.first_order_loss = first.loss;
  if (first.in_range() && life.saves.per_stored == 1) job.first_order = first.value;
  set_spares(wishes, job);
  set_never(job);
  if (job.never.empty())
    job.spread = job_spread(job.settings, wishes, {outcome.p10 / outcome.step_time, outcome.p90 / outcome.step_time});
  job.watts_assumed = !wishes.watts;
  job.watts =
      wishes.watts.value_or(job.scenario.machine.row.gpu.power_w) * static_cast<double>(job.base.gpus) * wishes.pue;
  const Phases& phases = outcome.phases;
  const Seconds waits = phases.exposed_communication + phases.gradient_sync + phases.parameter_gather;
  job.health = health_figures(job.settings, job.expected.goodput(), waits / outcome.step_time);
  job.levers = job_levers(job.base, wishes);
  if (const auto ten = ten_times(job.base, wishes)) job.ten = *ten;
  add_notes(wishes, job);
  job.warnings.insert(job.warnings.end(), prediction.warnings.begin(), prediction.warnings.end());
  return job;
}

}  // namespace stepcast::job
