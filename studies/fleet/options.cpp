#include "studies/fleet/options.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/json_reader.h"
#include "model/base/whole_number.h"
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

constexpr double most_price = 1e6;

Expected<std::map<std::string, double>> parse_prices(const std::string& text) {
  std::map<std::string, double> prices;
  std::istringstream words(text + ',');
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t equals = word.find('=');
    const auto price = equals == word.npos ? std::nullopt : parsed_number<double>(word.substr(equals + 1));
    if (!price || !(*price > 0 && *price <= most_price))
      return fail("--price", fmt::format("'{:.60}' is no price of a machine's GPU-hour", word),
          "dgx-h100=2.5,dgx-a100=1.2, in any currency");
    if (!prices.emplace(word.substr(0, equals), *price).second)
      return fail("--price", fmt::format("{} has two prices", word.substr(0, equals)), "one for each machine");
  }
  return prices;
}

/// The sweep's own words for one machine and one count.
Arguments sweep_arguments(const Arguments& run, const FleetMachine& machine, std::int64_t gpus) {
  Arguments asked = run;
  std::erase_if(asked.flags, [](const auto& flag) { return find_flag(sweep::sweep_flags(), flag.first) == nullptr; });
  for (const char* own : {"--price", "--json"}) asked.flags.erase(own);
  asked.flags.insert_or_assign("--machine", machine.name);
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
  TRY(const auto scenario, points.scenario(digits));
  TRY(const auto prediction, points.predict(digits));
  TRY(const auto step, job::whole_step(scenario, prediction, wishes));
  const JobBase base = job::job_base(scenario, prediction, step);
  TRY(const auto taken, taken_gpus(base, wishes, here));
  TRY(auto settings, job::job_settings(base, wishes));
  const double steps = wishes.steps ? static_cast<double>(*wishes.steps) : std::ceil(*wishes.tokens / base.tokens);
  settings.life.work = steps * base.step;
  const sim::LifeTimes life = sim::expected_life(settings.life);
  if (!std::isfinite(life.whole().value())) return fail("", "failures come faster than work gets done");
  const double gpu_hours = static_cast<double>(taken) * life.whole().value() / job::hour_s;
  on.job.options.push_back({machine, taken, life.whole(), gpu_hours * here.gpu_hour});
  const std::string run_note = taken == base.gpus ? "" : fmt::format(" ({} run)", base.gpus);
  on.plans.push_back(
      {base.gpus, fmt::format("{} x {}{}", taken, here.name, run_note), in_words(scenario), points.command(digits),
          base.step, prediction.mfu * (step.even / step.time()), life.goodput(), settings.life.saves.interval});
  told.add(on.plans.back(), here.name, defaults_of_point(space, digits, scenario),
      job::taken_for_granted(wishes, base, settings, step), prediction);
  return {};
}

}  // namespace

Expected<std::vector<FleetMachine>> parse_fleet(
    const std::string& machines, const std::string& prices, const std::string& where) {
  TRY(auto shares, parse_shares(machines, where));
  TRY(auto priced, parse_prices(prices));
  std::vector<FleetMachine> fleet;
  std::istringstream words(machines + ',');
  for (MachineShare& share : shares) {
    std::string word;
    std::getline(words, word, ',');
    std::string name = word.substr(0, word.rfind(':'));
    const auto price = priced.find(name);
    if (price == priced.end())
      return fail("--price", fmt::format("a GPU-hour of {} has none, or the machine is named twice", name),
          fmt::format("--price {}=2.5", name));
    fleet.push_back({std::move(share), std::move(name), price->second});
    priced.erase(price);
  }
  if (priced.empty()) return fleet;
  return fail("--price", fmt::format("{} is not among the machines", priced.begin()->first), where);
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
  for (std::size_t machine = 0; machine < machines.size(); ++machine) {
    const FleetMachine& here = machines[machine];
    for (const std::int64_t gpus : counts_of(here)) {
      TRY(const auto space, sweep::read_space(sweep_arguments(run, here, gpus)));
      const auto added = add_option(space, wishes, static_cast<int>(machine), here, on, told);
      if (!added) on.skipped.push_back(fmt::format("{} x {}: {}", gpus, here.name, added.error().what));
    }
  }
  told.gather_into(on);
  if (!on.job.options.empty()) return on;
  return fail("--machine", fmt::format("the job runs on none of these: {}", on.skipped.back()), "more GPUs, or others");
}

}  // namespace stepcast::fleet
