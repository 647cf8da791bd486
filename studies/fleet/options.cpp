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
#include "studies/sweep/price/points.h"
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

/// The best plan there, or why there is none.
Expected<void> add_option(
    const sweep::Space& space, const JobWishes& wishes, int machine, double gpu_hour, JobOnFleet& on) {
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
  TRY(auto settings, job::job_settings(base, wishes));
  const double steps = wishes.steps ? static_cast<double>(*wishes.steps) : std::ceil(*wishes.tokens / base.tokens);
  settings.life.work = steps * base.step;
  const sim::LifeTimes life = sim::expected_life(settings.life);
  if (!std::isfinite(life.whole().value())) return fail("", "failures come faster than work gets done");
  const double billed = static_cast<double>(base.gpus + wishes.spares.value_or(0) * base.node_gpus);
  on.job.options.push_back(
      {machine, scenario.plan.gpus, life.whole(), billed * life.whole().value() / job::hour_s * gpu_hour});
  on.plans.push_back({in_words(scenario), points.command(digits), base.step, prediction.mfu, life.goodput(),
      settings.life.saves.interval});
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
  for (std::size_t machine = 0; machine < machines.size(); ++machine) {
    const FleetMachine& here = machines[machine];
    for (const std::int64_t gpus : counts_of(here)) {
      TRY(const auto space, sweep::read_space(sweep_arguments(run, here, gpus)));
      const auto added = add_option(space, wishes, static_cast<int>(machine), here.gpu_hour, on);
      if (!added) on.skipped.push_back(fmt::format("{} x {}: {}", gpus, here.name, added.error().what));
    }
  }
  if (!on.job.options.empty()) return on;
  return fail("--machine", fmt::format("the job runs on none of these: {}", on.skipped.back()), "more GPUs, or others");
}

}  // namespace stepcast::fleet
