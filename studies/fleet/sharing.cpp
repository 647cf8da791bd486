#include "studies/fleet/sharing.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "studies/run/forecast.h"
#include "studies/whatif/machine_levers.h"

namespace stepcast::fleet {
namespace {

/// Levels from here on have links that several nodes share.
constexpr std::size_t first_shared = 2;

/// Time in which a rank sends into one of these levels, of all its collectives.
Seconds sending_into(const StepReport& step, std::span<const Level> levels) {
  Seconds sum;
  for (const CollectiveReport& one : step.collectives)
    if (std::ranges::find(levels, one.span, &Level::name) != levels.end()) sum += one.time;
  return sum;
}

/// The most GPUs of the job in so many instances behind each other.
std::int64_t fullest(std::span<const std::int64_t> inside, std::size_t together) {
  std::int64_t most = 0;
  for (std::size_t first = 0; first < inside.size(); first += together) {
    const auto here = inside.subspan(first, std::min(together, inside.size() - first));
    most = std::max(most, std::accumulate(here.begin(), here.end(), std::int64_t{0}));
  }
  return most;
}

/// The levels as the job's ranks are cut by them: of many instances the fullest says it. `inside`: of those below
/// `level`. Jobs have whole nodes, and the last level has all ranks.
void cut_as_laid(std::vector<Level>& levels, std::size_t level, std::span<const std::int64_t> inside) {
  const std::int64_t below = levels[level - 1].gpus;
  for (std::size_t i = level - 1; i + 1 < levels.size(); ++i)
    levels[i].gpus = fullest(inside, static_cast<std::size_t>(levels[i].gpus / below));
  for (std::size_t i = 1; i + 1 < level; ++i) levels[i].gpus = std::min(levels[i].gpus, levels[level - 1].gpus);
}

/// A job whose GPUs lie so over the instances below a level.
class JobOnLevel {
 public:
  JobOnLevel(const OptionPlan& plan, std::size_t level, std::vector<std::int64_t> inside)
      : planned_(*plan.scenario), scenario_(planned_), step_(plan.step), level_(level), inside_(std::move(inside)) {
    std::vector<Level>& levels = scenario_.machine.row.levels;
    own_rate_ = levels[level].bandwidth_per_gpu.value();
    cut_as_laid(levels, level, inside_);
  }

  [[nodiscard]] const std::string& level_name() const { return scenario_.machine.row.levels[level_].name; }

  /// Steps at other rates, with uneven work and what stands around them as in the option.
  Expected<sim::SharingJob> sharing() {
    const bool crosses = std::ranges::count_if(inside_, [](std::int64_t gpus) { return gpus > 0; }) > 1;
    TRY(const auto as_planned, run::predict_as_laid(planned_));
    around_ = step_ - as_planned.step.step_time;
    TRY(run::predict_as_laid(scenario_));
    sim::SharingJob job;
    job.flows.most = scenario_.machine.row.levels[level_ - 1].bandwidth_per_gpu.value();
    for (const std::int64_t gpus : inside_) job.flows.on_link.push_back(crosses ? static_cast<double>(gpus) : 0.0);
    job.at = [this](double rate) { return at(rate); };
    return job;
  }

 private:
  /// Rates change no rule: what was forecast once is.
  [[nodiscard]] sim::StepAtRate at(double rate) const {
    Scenario scenario = scenario_;
    whatif::scale_bandwidth(scenario, level_, rate / own_rate_);
    const Prediction prediction = run::predict_as_laid(scenario).value();
    // What goes further out leaves through these links, too.
    const auto outward = std::span(scenario.machine.row.levels).subspan(level_);
    return {prediction.step.step_time + around_, sending_into(prediction.step, outward)};
  }

  Scenario planned_, scenario_;
  Seconds step_, around_;
  std::size_t level_;
  std::vector<std::int64_t> inside_;
  double own_rate_ = 0;
};

Expected<BesideEachOther> on_level(const std::vector<const OptionPlan*>& plans, const std::vector<std::size_t>& jobs,
    const FleetMachine& machine, std::size_t level, Packing packing) {
  BesideEachOther beside;
  beside.packing = packing;
  const std::vector<Level>& levels = machine.share.machine.row.levels;
  const std::int64_t size = levels[level - 1].gpus;
  std::vector<std::int64_t> gpus;
  for (const OptionPlan* plan : plans) gpus.push_back(plan->gpus);
  const auto laid = lay_jobs(gpus, {size, levels.front().gpus, machine.share.gpus}, packing);
  std::vector<JobOnLevel> on;
  for (std::size_t i = 0; i < plans.size(); ++i) on.emplace_back(*plans[i], level, laid[i]);
  std::vector<sim::SharingJob> sharing;
  for (JobOnLevel& job : on) {
    TRY(auto one, job.sharing());
    sharing.push_back(std::move(one));
  }
  const double capacity = levels[level].bandwidth_per_gpu.value() * static_cast<double>(size);
  const std::vector<double> links(laid.front().size(), capacity);
  const auto steps = sim::shared_steps(sharing, links);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    beside.jobs.push_back({jobs[i], on[i].level_name(), steps[i], steps[i].alone.sending / steps[i].alone.step});
  return beside;
}

}  // namespace

const char* to_text(Packing packing) { return packing == Packing::packed ? "packed" : "spread"; }

std::vector<std::vector<std::int64_t>> lay_jobs(
    const std::vector<std::int64_t>& jobs, const FabricSizes& sizes, Packing packing) {
  const auto instances = static_cast<std::size_t>((sizes.machine + sizes.instance - 1) / sizes.instance);
  std::vector<std::vector<std::int64_t>> laid;
  std::int64_t first = 0;
  for (const std::int64_t own : jobs) {
    std::vector<std::int64_t> inside(instances, 0);
    for (std::size_t i = 0; i < instances; ++i) {
      const auto at = static_cast<std::int64_t>(i), count = static_cast<std::int64_t>(instances);
      const std::int64_t nodes = own / sizes.node, size = sizes.instance;
      if (packing == Packing::spread) inside[i] = (nodes * (at + 1) / count - nodes * at / count) * sizes.node;
      else inside[i] = std::max<std::int64_t>(0, std::min(first + own, (at + 1) * size) - std::max(first, at * size));
    }
    first += own;
    laid.push_back(std::move(inside));
  }
  return laid;
}

Expected<std::vector<BesideEachOther>> beside_each_other(
    const std::vector<FleetMachine>& machines, const std::vector<JobOnFleet>& jobs, const FleetChoice& choice) {
  std::vector<BesideEachOther> all;
  for (std::size_t machine = 0; machine < machines.size(); ++machine) {
    std::vector<const OptionPlan*> plans;
    std::vector<std::size_t> here;
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      const auto option = static_cast<std::size_t>(choice.option[job]);
      if (jobs[job].job.options[option].machine != static_cast<int>(machine)) continue;
      plans.push_back(&jobs[job].plans[option]);
      here.push_back(job);
    }
    if (plans.size() < 2) continue;
    const std::vector<Level>& levels = machines[machine].share.machine.row.levels;
    for (std::size_t level = first_shared; level < levels.size(); ++level)
      for (const Packing packing : {Packing::packed, Packing::spread}) {
        TRY(auto beside, on_level(plans, here, machines[machine], level, packing));
        beside.machine = static_cast<int>(machine);
        all.push_back(std::move(beside));
      }
  }
  return all;
}

}  // namespace stepcast::fleet
