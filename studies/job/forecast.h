// A whole training job, forecast: how long, how much of it is lost and to what, and what it costs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/cli/console.h"
#include "studies/job/job_run.h"
#include "studies/job/outlook.h"
#include "studies/job/spread.h"
#include "studies/job/ten_times.h"
#include "studies/job/whole_step.h"

namespace stepcast::job {

inline constexpr double hour_s = 3600, kwh_j = 3.6e6;

struct LawAnswer {
  std::string_view id, name, formula, source;
  Seconds interval;
  double goodput = 0;  ///< by the exact law, of saves that all are stored
  bool holds = true;   ///< the law is where it was made for
};

struct JobForecast {
  JobRun run;
  JobBase base;
  JobSettings settings;
  sim::LifeTimes expected;  ///< the mean of lives of the whole job
  double steps = 0, tokens = 0;
  WholeStep step;
  double background_slowdown = 0;  ///< of steps while a checkpoint is written
  std::vector<LawAnswer> laws;
  std::optional<double> first_order;  ///< Meta's formula, where it holds
  double first_order_loss = 0;
  JobSpread spread;
  std::int64_t enough_spares = 0;  ///< with which a job waits for a node in 0.1 % of the time
  double in_repair = 0;            ///< nodes, in the mean, with spares enough
  double waiting = 0;              ///< share of the time with the spares that there are
  double watts = 0;                ///< of all GPUs, with the building
  bool watts_assumed = false;
  std::vector<HealthFigure> health;
  std::vector<JobLever> levers;
  Expected<TenTimes> ten = TenTimes{};  ///< or why there is no such job
  std::string never;                    ///< why nothing gets done; "": something does
  std::vector<std::string> notes, warnings;
  [[nodiscard]] double energy_j() const { return watts * expected.whole().value(); }
  /// With those of the spares that are asked for.
  [[nodiscard]] double paid_gpus() const {
    const std::int64_t spares = settings.life.pool ? settings.life.pool->spares : 0;
    return static_cast<double>(base.gpus + spares * base.node_gpus);
  }
};

/// Of the life with a checkpoint each `interval`, all of them stored, where no failure leaves memory as it was: what
/// the laws of the interval speak of.
double stored_goodput(const sim::LifeSettings& life, Seconds interval);

/// Errors: what predict and job_settings refuse, and a plan that does not fit into memory.
Expected<JobForecast> forecast_job(const JobQuestion& question, const JobWishes& wishes);

/// What nobody said of a job: of its settings, of failures and storage, of its step, of spare nodes.
std::vector<std::string> taken_for_granted(
    const JobWishes& wishes, const JobBase& base, const JobSettings& settings, const WholeStep& step);

std::string job_text(const JobForecast& job, const JobWishes& wishes, const Console& console);
std::string job_json(const JobForecast& job, const JobWishes& wishes);

}  // namespace stepcast::job
