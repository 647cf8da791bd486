#include "studies/job/outlook.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/job/duration.h"

namespace stepcast::job {
namespace {

struct LeverRow {
  const char* name;
  void (*change)(JobWishes& wishes, const JobSettings& now);
};
constexpr LeverRow lever_rows[] = {
    {"half the failures",
        [](JobWishes& wishes, const JobSettings&) {
          wishes.rates.per_node_day.value /= 2, wishes.rates.fixed_per_day.value /= 2;
          if (wishes.logged) wishes.logged->per_day.value /= 2;
        }},
    {"failures found in half the time",
        [](JobWishes& wishes, const JobSettings& now) {
          wishes.detect = now.life.failures.detect / 2;
          if (!wishes.restart) wishes.restart = std::max(Seconds(), now.life.failures.restart - now.times.read);
        }},
    {"restarts in half the time, as with hot spares",
        [](JobWishes& wishes, const JobSettings& now) {
          wishes.restart = std::max(Seconds(), now.life.failures.restart - now.times.read) / 2;
          if (!wishes.detect) wishes.detect = now.life.failures.detect;
        }},
    {"storage twice as fast",
        [](JobWishes& wishes, const JobSettings& now) {
          wishes.write_rate = now.storage.write * 2, wishes.read_rate = now.storage.read * 2;
        }},
    {"checkpoints written beside steps (--async)", [](JobWishes& wishes, const JobSettings&) { wishes.async = true; }},
    {"checkpoints in memory every minute (--memory-interval 60s)",
        [](JobWishes& wishes, const JobSettings&) { wishes.memory_interval = Seconds(60), wishes.elastic = false; }},
    {"fewer replicas instead of waiting (--elastic)",
        [](JobWishes& wishes, const JobSettings&) { wishes.elastic = wishes.spares.has_value(); }},
};

}  // namespace

double goodput_of(const JobSettings& settings, Seconds work) {
  constexpr double long_run = 1e6;  // intervals
  sim::LifeSettings life = settings.life;
  life.work = work > Seconds() ? work : life.saves.interval * long_run;
  return sim::expected_life(life).goodput();
}

double waits_of(const Outcome& outcome) {
  const Phases& phases = outcome.phases;
  return (phases.exposed_communication + phases.gradient_sync + phases.parameter_gather) / outcome.step_time;
}

const char* to_text(HealthVerdict verdict) {
  constexpr const char* words[] = {"healthy", "slow", "broken"};
  return words[static_cast<std::size_t>(verdict)];
}

HealthVerdict HealthFigure::verdict() const {
  const auto beyond = [&](double limit) { return higher_is_better ? value < limit : value > limit; };
  return beyond(broken) ? HealthVerdict::broken : beyond(slow) ? HealthVerdict::slow : HealthVerdict::healthy;
}

std::vector<HealthFigure> health_figures(const JobSettings& settings, double goodput, double waits) {
  const sim::LifeSettings& life = settings.life;
  const double soft = life.failures.soft;
  const Seconds redone = life.saves.interval * (soft + (1 - soft) * static_cast<double>(life.saves.per_stored)) / 2;
  const Seconds restart = soft * life.failures.soft_restart + (1 - soft) * life.failures.restart;
  const double recovery = (life.failures.detect + restart + redone) / life.failures.mean_between();
  return {{"progress", "progress", goodput, 0.9, 0.5, true},
      {"communication", "communication cost", waits, 0.25, 0.5, false},
      {"recovery", "recovery posture", recovery, 0.1, 1, false}};
}

std::vector<JobLever> job_levers(const JobBase& base, const JobWishes& wishes, Seconds work) {
  std::vector<JobLever> levers;
  const auto now = job_settings(base, wishes);
  if (!now) return levers;
  for (const LeverRow& row : lever_rows) {
    JobWishes changed = wishes;
    changed.interval.reset();
    row.change(changed, *now);
    const auto settings = job_settings(base, changed);
    const bool same = changed.async == wishes.async && std::string_view(row.name).ends_with("(--async)");
    if (!settings || same) continue;
    levers.push_back({row.name, goodput_of(*settings, work)});
  }
  std::ranges::stable_sort(levers, [](const JobLever& a, const JobLever& b) { return a.goodput > b.goodput; });
  const double before = goodput_of(*now, work);
  std::erase_if(levers, [&](const JobLever& lever) { return lever.goodput <= before * (1 + 1e-4); });
  return levers;
}

}  // namespace stepcast::job
