#include "studies/job/forecast.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "sim/job/interval.h"
#include "studies/job/duration.h"
#include "studies/mixed/notes.h"

namespace stepcast::job {
namespace {

/// Below it a job is said to get nothing done.
constexpr double least_goodput = 1e-3;

std::vector<LawAnswer> law_answers(const sim::LifeSettings& life) {
  std::vector<LawAnswer> answers;
  const Seconds between = life.failures.mean_between(), save = life.saves.store;
  const Seconds down = life.failures.detect + life.failures.restart;
  for (const sim::IntervalLaw& law : sim::interval_laws()) {
    const Seconds interval = law.interval(between, save, down);
    answers.push_back({law.id, law.name, law.formula, law.source, interval, stored_goodput(life, interval),
        law.holds(between, save, down)});
  }
  return answers;
}

/// How many steps a job gets done in so much time, in the mean.
double steps_in(sim::LifeSettings life, Seconds time, Seconds step) {
  constexpr int most_halvings = 64;
  double least = 0, most = std::floor(time / step);
  for (int i = 0; i < most_halvings && least < most; ++i) {
    const double middle = std::ceil((least + most) / 2);
    life.work = middle * step;
    if (sim::expected_life(life).whole() <= time) least = middle;
    else most = middle - 1;
  }
  return least;
}

void set_length(const JobWishes& wishes, JobForecast& job) {
  const double per_step = job.base.tokens;
  sim::LifeSettings& life = job.settings.life;
  if (wishes.tokens) job.steps = std::ceil(*wishes.tokens / per_step);
  if (wishes.steps) job.steps = static_cast<double>(*wishes.steps);
  if (wishes.days) job.steps = steps_in(life, *wishes.days, job.base.step);
  life.work = job.steps * job.base.step;
  job.tokens = job.steps * per_step;
}

/// Nodes of a kind stand in for each other.
void set_spares(const JobWishes& wishes, JobForecast& job) {
  constexpr double most_waiting = 1e-3;
  const sim::LifeSettings& life = job.settings.life;
  const double grows = life.failures.per_second - life.fixed_per_second;
  const std::vector<double> shares = failure_shares(wishes, job.base.kinds);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const std::int64_t nodes = shares.size() == 1 ? job.base.nodes() : job.base.kinds[i].nodes();
    const sim::NodePool pool{
        nodes, wishes.spares.value_or(0), grows * shares[i] * wishes.rates.taken, wishes.rates.repair_mean, 0};
    job.in_repair += pool.taken_per_second * pool.repair.value();
    job.enough_spares += sim::spares_for(pool, most_waiting / static_cast<double>(shares.size()));
  }
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

/// Why the mean of lives is none that most of them have.
const char* why_outside(const JobForecast& job) {
  const bool waits = job.expected.waiting > Seconds();
  if (job.spread.chance_failures.p90 < 1)
    return waits ? ": few fail at all, and of those some wait for nodes for long" : ": few fail at all";
  return waits ? ": few wait for nodes, and those for long" : "";
}

/// Spares are paid like the nodes that compute; what a node that stands by draws is not known.
void add_spare_notes(const JobWishes& wishes, JobForecast& job) {
  if (wishes.spares.value_or(0) > 0)
    job.notes.push_back(fmt::format("spares are paid: GPU-hours and cost are those of {:.0f} GPUs, {} of them of "
                                    "spares; energy is that of the other {}",
        job.paid_gpus(), *wishes.spares * job.base.node_gpus, job.base.gpus));
}

void warn_of_repairs(const JobWishes& wishes, JobForecast& job) {
  const std::int64_t nodes = job.base.nodes() + wishes.spares.value_or(0);
  if (job.in_repair > static_cast<double>(nodes))
    job.warnings.push_back(
        fmt::format("{:.3g} nodes are in repair in the mean where spares are enough, more than the {} "
                    "that there are; rates are per node and day",
            job.in_repair, nodes));
}

void add_notes(const JobWishes& wishes, JobForecast& job) {
  job.notes = taken_for_granted(wishes, job.base, job.settings, job.step);
  constexpr double much = 1.01;
  if (wishes.tokens && job.tokens > much * *wishes.tokens)
    job.notes.push_back(
        fmt::format("{:.4g} tokens are asked for; whole steps have {:.4g}", *wishes.tokens, job.tokens));
  add_spare_notes(wishes, job);
  if (job.watts_assumed) job.notes.push_back("power is that of the GPUs alone, by datasheet: --watts and --pue");
  job.notes.emplace_back(
      "thresholds of health are assumed, but for a progress of 0.9, which Llama 3 and MegaScale reach");
  job.notes.emplace_back(
      "steps take as long on the last day as on the first; of loading, garbage collection, logging and "
      "evaluation there is what was given");
  const JobSpread& spread = job.spread;
  const double whole = job.expected.whole().value();
  if (spread.lives > 0 && (whole < spread.chance_wall_s.p10 || whole > spread.chance_wall_s.p90))
    job.notes.push_back(
        fmt::format("the mean time lies outside of what chance alone gives to 80 % of lives{}", why_outside(job)));
  if (job.never.empty() && spread.lives == 0)
    job.notes.push_back(fmt::format("no lives are drawn, and no intervals given, of a job with a goodput below {}",
        format_percent(least_drawn_goodput)));
  warn_of_repairs(wishes, job);
  if (job.settings.life.saves.interval < job.base.step)
    job.warnings.push_back(fmt::format("checkpoints every {} are less than a step of {} apart",
        duration_text(job.settings.life.saves.interval), duration_text(job.base.step)));
}

/// Of several kinds each has its own.
void add_remarks_of_step(JobForecast& job) {
  const auto add = [&](const std::vector<std::string>& more) {
    job.warnings.insert(job.warnings.end(), more.begin(), more.end());
  };
  if (!job.run.mixed) return add(job.run.prediction.warnings);
  const mixed::MixedNotes notes = notes_of(*job.run.mixed);
  job.notes.insert(job.notes.end(), notes.notes.begin(), notes.notes.end());
  add(notes.warnings);
}

}  // namespace

double stored_goodput(const sim::LifeSettings& life, Seconds interval) {
  sim::FailureCosts hard = life.failures;
  hard.soft = 0;
  const Seconds store = life.saves.store;
  return sim::goodput(hard, {interval, store, std::min(life.saves.settle, interval + store), 1, {}});
}

std::vector<std::string> taken_for_granted(
    const JobWishes& wishes, const JobBase& base, const JobSettings& settings, const WholeStep& step) {
  std::vector<std::string> notes = settings.notes;
  constexpr double day_s = 86400;
  if (!wishes.logged)
    notes.push_back(fmt::format("failures: {} ({}): {:.3g} a day on {} GPUs", wishes.rates.name, wishes.rates.id,
        settings.life.failures.per_second * day_s, base.gpus));
  constexpr std::int64_t large = 2048;
  if (!wishes.logged && !wishes.rates.note.empty() && base.gpus <= large) notes.push_back(wishes.rates.note);
  if (settings.storage.assumed) notes.emplace_back("storage rates are assumed: --storage-write and --storage-read");
  notes.insert(notes.end(), step.notes.begin(), step.notes.end());
  if (!wishes.spares) notes.emplace_back("a spare node is always at hand: --spares N");
  return notes;
}

Expected<JobForecast> forecast_job(const JobQuestion& question, const JobWishes& wishes) {
  JobForecast job;
  TRY(job.run, run_of(question));
  const Outcome& outcome = job.run.outcome;
  if (!outcome.fits)
    return fail("memory",
        fmt::format(
            "a step needs {} of {}: there is no job", format_bytes(outcome.memory), format_bytes(outcome.capacity)),
        "stepcast sweep finds plans that fit");
  TRY(job.step, whole_step(job.run, wishes));
  job.base = job_base(job.run, job.step);
  TRY(job.settings, job_settings(job.base, wishes));
  set_length(wishes, job);
  TRY(check_length(wishes, job.base.tokens));
  TRY(check_epochs(wishes, job.steps));
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
    job.spread = job_spread(
        job.settings, wishes, {outcome.p10 / outcome.step_time, outcome.p90 / outcome.step_time, job.step.by_fleets});
  job.background_slowdown = wishes.background_slowdown;
  job.watts_assumed = !wishes.watts;
  for (const JobNodes& kind : job.base.kinds)
    job.watts += wishes.watts.value_or(kind.power_w) * static_cast<double>(kind.gpus) * wishes.pue;
  job.health = health_figures(job.settings, job.expected.goodput(), waits_of(outcome));
  job.levers = job_levers(job.base, wishes, life.work);
  job.ten = ten_times({question, job.run, job.step, job.base, job.steps}, wishes);
  add_notes(wishes, job);
  add_remarks_of_step(job);
  return job;
}

}  // namespace stepcast::job
