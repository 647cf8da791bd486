#include "studies/fleet/options.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/job/life.h"
#include "studies/job/forecast.h"
#include "studies/mixed/notes.h"
#include "studies/print/shared_notes.h"
#include "studies/sweep/price/points.h"
#include "studies/sweep/space/axes.h"
#include "studies/sweep/search/run.h"
#include "studies/sweep/sweep_flags.h"

namespace stepcast::fleet {
namespace {

/// The sweep's own words for one machine and one count.
Arguments sweep_arguments(const Arguments& run, const FleetMachine& machine, std::int64_t gpus) {
  Arguments asked = run;
  std::erase_if(asked.flags, [](const auto& flag) { return find_flag(sweep::sweep_flags(), flag.first) == nullptr; });
  for (const char* own : {"--price", "--json"}) asked.flags.erase(own);
  asked.flags.insert_or_assign("--machine", machine.share.name);
  asked.flags.insert_or_assign("--gpus", std::to_string(gpus));
  asked.flags.insert_or_assign("--top", "1");
  return asked;
}

std::string why_none(const sweep::SweepResult& result) {
  const auto& tally = result.tally;
  if (tally.does_not_fit > 0)
    return fmt::format("nothing fits: the nearest of {} plans lacks {}", tally.does_not_fit,
        format_bytes(Bytes(tally.smallest_overflow_bytes)));
  const auto most = std::ranges::max_element(tally.illegal, {}, [](const auto& one) { return one.second; });
  return most == tally.illegal.end() ? "no plan is left" : most->first;
}

/// Of a plan, what neither the user nor the sweep said. The scenario of a point was resolved for any split
/// (sweep/price/points.cpp): what it assumes of its split is not the plan's, nor are its remarks.
std::vector<std::string> defaults_of_point(const sweep::Space& space, const sweep::Digits& digits, const Scenario& at) {
  std::vector<std::string> texts;
  for (const Assumption& one : at.assumptions) {
    const RunField* field = find_flag_field(one.flag);
    const sweep::AxisRow* axis = sweep::find_axis(one.flag);
    if ((field != nullptr && field->splits) ||
        (axis != nullptr && space.value(digits, axis->id) != axis->axis.own_word))
      continue;
    texts.push_back(one.why == "default" ? fmt::format("{} {}", one.flag, one.value)
                                         : fmt::format("{} {} ({})", one.flag, one.value, one.why));
  }
  return texts;
}

/// What each option's plan says beside its figures.
struct OptionNotes {
  std::vector<NotesOf> defaults, notes, warnings;
  std::map<std::string, PriceDoubt> worst;  ///< doubts of prices by their text, at their largest share of a step

  void add(const OptionPlan& plan, const std::string& machine, std::vector<std::string> unsaid,
      std::vector<std::string> granted, const Prediction& prediction) {
    for (std::string& note : prediction_notes(prediction)) granted.push_back(std::move(note));
    std::vector<std::string> doubts;
    // The step's own warnings come last: its doubts in words, whose shares differ from option to option.
    doubts.assign(prediction.warnings.begin(),
        prediction.warnings.end() - static_cast<std::ptrdiff_t>(prediction.step.warnings.size()));
    for (const PriceDoubt& doubt : prediction.step.doubts) {
      PriceDoubt& known = worst.try_emplace(doubt.text, doubt).first->second;
      known.share = std::max(known.share, doubt.share);
      doubts.push_back(doubt.text);
    }
    defaults.push_back({plan.where, machine, std::move(unsaid)});
    notes.push_back({plan.where, machine, std::move(granted)});
    warnings.push_back({plan.where, machine, std::move(doubts)});
  }

  void gather_into(JobOnFleet& on) const {
    on.defaults = to_texts(shared_notes(defaults)), on.notes = to_texts(shared_notes(notes));
    for (SharedNote note : shared_notes(warnings)) {
      if (const auto doubt = worst.find(note.text); doubt != worst.end())
        note.text = doubt->second.in_words(on.plans.size() > 1 ? "up to " : "");
      on.warnings.push_back(to_text(note));
    }
  }
};

/// GPUs of the machine that a job takes: its own, and those of the nodes that stand by.
Expected<std::int64_t> taken_gpus(const JobBase& base, const JobWishes& wishes, const FleetMachine& here) {
  const std::int64_t spares = wishes.spares.value_or(0), taken = base.gpus + spares * base.node_gpus;
  if (taken <= here.share.gpus) return taken;
  return fail("", fmt::format("with {} spare node{} it takes {} of {} GPUs", spares, spares == 1 ? "" : "s", taken,
                      here.share.gpus));
}

/// The best plan there, or why there is none.
Expected<void> add_option(const sweep::Space& space, const JobWishes& wishes, int machine, const FleetMachine& here,
    JobOnFleet& on, OptionNotes& told) {
  sweep::SweepOptions options;
  options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  TRY(const auto swept, run_sweep(space, sweep::Shard{}, options));
  if (swept.result.top.empty()) return fail("", why_none(swept.result));
  const sweep::Digits digits = space.digits(swept.result.top.front().index);
  TRY(auto points, sweep::SpacePoints::make(space));
  TRY(auto at, points.scenario(digits));
  TRY(auto forecast, points.predict(digits));
  const job::JobRun run = job::run_of(std::move(at), std::move(forecast));
  TRY(const auto step, job::whole_step(run, wishes));
  const JobBase base = job::job_base(run, step);
  TRY(const auto taken, taken_gpus(base, wishes, here));
  TRY(auto settings, job::job_settings(base, wishes));
  const double steps = wishes.steps ? static_cast<double>(*wishes.steps) : std::ceil(*wishes.tokens / base.tokens);
  settings.life.work = steps * base.step;
  const sim::LifeTimes life = sim::expected_life(settings.life);
  if (!std::isfinite(life.whole().value())) return fail("", "failures come faster than work gets done");
  const double gpu_hours = static_cast<double>(taken) * life.whole().value() / job::hour_s;
  on.job.options.push_back({machine, taken, life.whole(), gpu_hours * here.gpu_hour});
  const std::string run_note = taken == base.gpus ? "" : fmt::format(" ({} run)", base.gpus);
  on.plans.push_back({base.gpus, fmt::format("{} GPUs of {}{}", taken, here.share.name, run_note),
      fmt::format("{}, micro-batch {}", in_words(run.scenario), run.scenario.plan.micro_batch), points.command(digits),
      base.step, run.prediction.mfu * (step.even / step.time()), life.goodput(), settings.life.saves.interval,
      std::make_shared<const Scenario>(run.scenario)});
  told.add(on.plans.back(), here.share.name, defaults_of_point(space, digits, run.scenario),
      job::taken_for_granted(wishes, base, settings, step), run.prediction);
  return {};
}

}  // namespace

Expected<std::vector<FleetMachine>> parse_fleet(
    const std::string& machines, const std::string& prices, const std::string& where) {
  constexpr double least_price = 1e-6;
  TRY(auto shares, parse_shares(machines, where));
  for (const MachineShare& share : shares)
    if (std::ranges::count(shares, share.name, &MachineShare::name) > 1)
      return fail(where, fmt::format("{} is named twice", share.name), "once, with the most GPUs that may be had");
  TRY(const auto priced, numbers_of_shares(prices, shares, "--price", least_price, job::most_price));
  std::vector<FleetMachine> fleet;
  for (std::size_t i = 0; i < shares.size(); ++i) fleet.push_back({std::move(shares[i]), priced[i]});
  return fleet;
}

std::vector<std::int64_t> counts_of(const FleetMachine& machine) {
  std::vector<std::int64_t> counts;
  const std::int64_t most = machine.share.gpus, node = machine.share.machine.row.levels.front().gpus;
  for (std::int64_t gpus = std::min(node, most); gpus < most; gpus *= 2) counts.push_back(gpus);
  counts.push_back(most);
  return counts;
}

Expected<JobOnFleet> job_options(
    const Arguments& run, const JobWishes& wishes, const std::vector<FleetMachine>& machines) {
  JobOnFleet on;
  OptionNotes told;
  std::vector<MachineShare> shares;
  for (const FleetMachine& machine : machines) shares.push_back(machine.share);
  for (std::size_t machine = 0; machine < machines.size(); ++machine) {
    const FleetMachine& here = machines[machine];
    std::vector<std::int64_t> all_here(machines.size(), 0);
    all_here[machine] = 1;
    TRY(const auto own, job::wishes_on(wishes, shares, all_here));
    for (const std::int64_t gpus : counts_of(here)) {
      TRY(const auto space, sweep::read_space(sweep_arguments(run, here, gpus)));
      const auto added = add_option(space, own, static_cast<int>(machine), here, on, told);
      if (!added) on.skipped.push_back(fmt::format("{} GPUs of {}: {}", gpus, here.share.name, added.error().what));
    }
  }
  told.gather_into(on);
  if (!on.job.options.empty()) return on;
  return fail("--machine", fmt::format("the job runs on none of these: {}", on.skipped.back()), "more GPUs, or others");
}

}  // namespace stepcast::fleet
