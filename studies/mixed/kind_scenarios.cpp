#include "studies/mixed/kind_scenarios.h"

#include <algorithm>

#include <fmt/format.h>

#include "studies/run/usual_software.h"

namespace stepcast::mixed {
namespace {

Expected<void> check_request(const Request& request, std::int64_t gpus, const std::string& where) {
  const std::string beside = "leave it out, or one kind of machine: --machine NAME --gpus N";
  if (request.mapping)
    return fail(request.mapping->where, "a mapping of one's own on machines of several kinds is not forecast",
        "the split by flags: --tp, --pp, ...");
  if (request.profile)
    return fail(request.where(FieldId::profile), "one profile speaks for one GPU, and there are several kinds",
        "leave it out: each kind has its own");
  if (request.says(FieldId::gpus) && request.wishes().gpus != gpus)
    return fail(request.where(FieldId::gpus),
        fmt::format("says {} GPUs, and {} names {}", request.wishes().gpus, where, gpus), beside);
  return {};
}

/// A kind in parts of a node has no further GPUs there; and the fleet is larger than one kind's cluster may be.
Expected<Machine> as_in_fleet(const MachineShare& share, std::int64_t gpus, const std::string& where) {
  Machine machine = share.machine.row;
  if (machine.levels.size() < 2)
    return fail(where, fmt::format("{} has no network to other machines", machine.name),
        "machines that have one: stepcast list machines");
  machine.levels.front().gpus = std::min(machine.levels.front().gpus, share.gpus);
  machine.levels.back().gpus = std::max(machine.levels.back().gpus, gpus);
  return machine;
}

Expected<Scenario> scenario_on(
    const Request& asked, const MachineShare& share, std::int64_t gpus, const std::string& where) {
  Request request = asked;
  TRY(auto machine, as_in_fleet(share, gpus, where));
  request.machine = share.machine;
  request.machine->row = std::move(machine);
  TRY(request.say("gpus", std::to_string(gpus), where));
  if (!request.says(FieldId::layout) && request.wishes().pp > 1) TRY(request.say("layout", "balanced", where));
  TRY(auto scenario, resolve(request));
  // Of racks that jobs take in trays (run/rack_use.h) the trays are what a share fills.
  const std::int64_t node = scenario.machine.row.levels.front().gpus;
  if (share.gpus % node == 0) return scenario;
  return fail(where,
      fmt::format("{} GPUs of {} are no whole {}s of {} in a job of {}", share.gpus, share.machine.row.name,
          scenario.machine.row.levels.front().name, node, gpus),
      fmt::format("a multiple of {}", node));
}

Expected<void> check_alike(const Scenario& a, const Scenario& b) {
  if (a.plan.precision == b.plan.precision) return {};
  return fail("--precision",
      fmt::format("{} would run in {} and {} in {}", a.machine.row.name, to_text(a.plan.precision), b.machine.row.name,
          to_text(b.plan.precision)),
      fmt::format("--precision {}, if both have it", to_text(b.plan.precision)));
}

}  // namespace

/// A send takes the latency once. A collective of two nodes takes it twice, since a piece passes the line there and
/// back on a ring, and once more for each doubling of the nodes, as on a tree.
Scenario joined_by(Scenario scenario, const std::optional<BetweenKinds>& between) {
  if (!between) return scenario;
  std::vector<Level>& levels = scenario.machine.row.levels;
  Level& network = levels.back();
  network.bandwidth_per_gpu = network.port_bandwidth = between->rate;
  network.ports = static_cast<int>(levels[levels.size() - 2].gpus);
  Profile& profile = scenario.profile.row;
  const ScaleOutLaw* own = find_scale_out(profile, network);
  ScaleOutLaw law = own != nullptr ? *own : usual_scale_out(network.fabric, network.transport);
  law.base += between->latency;
  law.per_doubling += between->latency;
  profile.scale_out.insert(profile.scale_out.begin(), law);  // the first that fits is taken
  return scenario;
}

StageCosts FleetKinds::costs(std::vector<int> kind_of_stage) const {
  std::vector<RankKind> prices;
  std::int64_t rank = 0;
  for (const KindScenario& kind : kinds) {
    prices.push_back({run::cost_model(kind.scenario), run::cost_model(kind.across), by_stage ? rank : 0});
    rank += kind.share.gpus;
  }
  return {std::move(prices), std::move(kind_of_stage), block};
}

Expected<std::vector<KindScenario>> kind_scenarios(const MixedRequest& asked) {
  TRY(check_request(asked.request, asked.gpus(), asked.where));
  Request first = asked.request;
  first.machine = asked.shares.front().machine;
  TRY(const auto settled, run::with_settled_software(std::move(first)));  // one software for all kinds
  std::vector<KindScenario> kinds;
  for (const MachineShare& share : asked.shares) {
    TRY(auto scenario, scenario_on(settled, share, asked.gpus(), asked.where));
    if (!kinds.empty()) TRY(check_alike(kinds.front().scenario, scenario));
    Scenario across = joined_by(scenario, asked.between);
    kinds.push_back({share, std::move(scenario), std::move(across)});
  }
  return kinds;
}

}  // namespace stepcast::mixed
