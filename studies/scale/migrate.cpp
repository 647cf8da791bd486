#include "studies/scale/migrate.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "model/errors/error_context.h"
#include "model/base/quantity_text.h"
#include "model/base/text.h"
#include "studies/run/forecast.h"
#include "studies/run/usual_software.h"
#include "studies/scale/horizon.h"

namespace stepcast::scale {
namespace {

constexpr Rung all_rungs[] = {
    {.id = "ddp", .name = "DDP", .zero = "0"},
    {.id = "fsdp", .name = "FSDP", .zero = "3"},
    {.id = "hsdp", .name = "HSDP", .zero = "3", .replicated = true},
    {.id = "tp", .name = "tp", .zero = "13", .tensor = true},
    {.id = "pp", .name = "tp x pp", .zero = "1", .tensor = true, .stages = true},
};
/// Steps nearer than this are alike: the plainer way wins.
constexpr double worth_a_change = 1.02;
/// Below it of the step nothing but the GPUs' own work is said to bind.
constexpr double least_share = 0.05;
constexpr std::int64_t most_stages = 64;

struct Ways {
  std::int64_t tp = 1, pp = 1, replicas = 1;
  char zero = '0';
};

std::vector<std::int64_t> powers_of_two(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> powers;
  for (std::int64_t power = first; power <= last; power *= 2) powers.push_back(power);
  return powers;
}

std::vector<Ways> ways_of(const Rung& rung, std::int64_t gpus, std::int64_t node) {
  std::vector<Ways> ways;
  if (rung.replicated) {
    if (gpus > node && gpus % node == 0) ways.push_back({1, 1, gpus / node, rung.zero[0]});
    return ways;
  }
  // The last rung is of stages, with tensor parallelism beside them or without.
  const std::int64_t least_tp = rung.tensor && !rung.stages ? 2 : 1, most_tp = rung.tensor ? std::min(node, gpus) : 1;
  for (const std::int64_t tp : powers_of_two(least_tp, most_tp))
    for (const std::int64_t pp : powers_of_two(rung.stages ? 2 : 1, rung.stages ? std::min(most_stages, gpus / tp) : 1))
      for (const char zero : rung.zero) ways.push_back({tp, pp, 1, zero});
  return ways;
}

Expected<Request> request_with(Request request, const Ways& ways, const char* recompute) {
  for (const auto& [key, value] : {std::pair{"tp", ways.tp}, {"pp", ways.pp}, {"dp_replicate", ways.replicas}})
    TRY(request.say(key, std::to_string(value), flag_of(find_field(key)->id)));
  TRY(request.say("zero", std::string(1, ways.zero), "--zero"));
  if (recompute != nullptr) TRY(request.say("recompute", recompute, "--recompute"));
  return request;
}

/// What binds a step that runs: the largest part of it that is not forward and backward.
void set_binding(RungRun& run) {
  const Outcome& outcome = *run.outcome;
  const Phases& phases = outcome.phases;
  const std::pair<Binds, Seconds> waits[] = {
      {Binds::links, phases.exposed_communication + phases.gradient_sync + phases.parameter_gather},
      {Binds::bubble, phases.bubble}, {Binds::optimizer, phases.clip + phases.optimizer}};
  const auto most = std::ranges::max(waits, {}, &std::pair<Binds, Seconds>::second);
  const double share = most.second / outcome.step_time;
  if (!outcome.fits) {
    run.binds = Binds::memory;
    run.why = fmt::format("{} of {}", format_bytes(outcome.memory), format_bytes(outcome.capacity));
  } else if (share < least_share) {
    run.binds = Binds::compute;
  } else {
    run.binds = most.first;
    run.why = fmt::format("{} of the step", format_percent(share));
  }
}

/// Of two, what works before what does not fit, the faster before the slower.
bool is_better(const RungRun& a, const RungRun& b) {
  if (!b.outcome) return true;
  if (a.works() != b.works()) return a.works();
  return a.works() ? a.outcome->step_time < b.outcome->step_time : a.outcome->memory < b.outcome->memory;
}

std::string plan_text(const Ways& ways, bool full) {
  std::string text = fmt::format("zero {}", ways.zero);
  if (ways.replicas > 1) text += fmt::format(", {} copies", ways.replicas);
  if (ways.tp > 1) text += fmt::format(", tp {}", ways.tp);
  if (ways.pp > 1) text += fmt::format(", pp {}", ways.pp);
  return text + (full ? ", recompute full" : "");
}

void try_ways(const Request& request, const Ways& ways, RungRun& best) {
  const std::string batch_said = request.says(FieldId::global_batch) ? request.where(FieldId::global_batch)
                                                                     : std::string(flag_of(FieldId::global_batch));
  const bool may_recompute = !request.says(FieldId::recompute);
  for (const bool full : {false, true}) {
    if (full && !may_recompute) return;
    const auto asked = request_with(request, ways, full ? "full" : nullptr);
    const auto scenario = asked ? complete(*asked) : tl::unexpected(asked.error());
    const auto prediction = scenario ? run::predict(*scenario) : tl::unexpected(scenario.error());
    if (!prediction) {
      const Error error = prediction.error();
      if (!best.outcome && best.binds != Binds::batch) {
        best.binds = error.where == batch_said ? Binds::batch : Binds::split;
        best.why = error.what;
      }
      return;
    }
    RungRun run{outcome_of(*scenario, *prediction), plan_text(ways, full), prediction->mfu, Binds::compute, ""};
    set_binding(run);
    const bool fits = run.works();
    if (is_better(run, best)) best = std::move(run);
    if (fits) return;
  }
}

int fastest(const std::vector<RungRun>& runs) {
  Seconds least(INFINITY);
  for (const RungRun& run : runs)
    if (run.works()) least = std::min(least, run.outcome->step_time);
  for (std::size_t rung = 0; rung < runs.size(); ++rung)
    if (runs[rung].works() && runs[rung].outcome->step_time <= least * worth_a_change) return static_cast<int>(rung);
  return -1;
}

SizeOnPath size_on_path(const Request& request, std::string network, std::int64_t node) {
  SizeOnPath size{std::move(network), request.wishes().gpus, request.wishes().global_batch, {}, -1};
  for (const Rung& rung : all_rungs) {
    RungRun best;
    const std::vector<Ways> all = ways_of(rung, size.gpus, node);
    best.offered = !all.empty();
    if (all.empty()) best.why = rung.replicated ? "one node has no copies" : "too few GPUs";
    for (const Ways& ways : all) try_ways(request, ways, best);
    size.rungs.push_back(std::move(best));
  }
  size.best = fastest(size.rungs);
  return size;
}

/// A network's first size turns from that of the network before it.
void add_turns(std::size_t counts, Migration& path) {
  for (std::size_t i = 1; i < path.sizes.size(); ++i) {
    const SizeOnPath &before = path.sizes[i % counts == 0 ? i - counts : i - 1], &now = path.sizes[i];
    if (now.best < 0 || before.best == now.best) continue;
    TurnOfPath turn{i, before.best, now.best, 0};
    if (before.best >= 0 && now.rungs[before.best].works())
      turn.faster = now.rungs[before.best].outcome->step_time / now.rungs[now.best].outcome->step_time;
    path.turns.push_back(turn);
  }
}

Expected<void> check_open(const Request& request) {
  if (request.mapping)
    return fail(request.mapping->where, "a mapping says its sharding itself", "the network alone, with its batch");
  for (const FieldId id : {FieldId::tp, FieldId::pp, FieldId::zero, FieldId::replicas, FieldId::dp, FieldId::chunks})
    if (request.says(id))
      return fail(request.where(id), "how the run is sharded is what --migrate compares", "leave it out");
  if (!request.says(FieldId::global_batch))
    return fail("--global-batch", "is what a step trains on, and is not said", "--global-batch 512");
  return {};
}

/// All that the network is but where it was read.
std::string network_text(NetworkSpec network) {
  network.source.clear(), network.family.clear();
  return write_network(network);
}

/// Those of the list, each once and the request's among them; without a list the request's.
Expected<std::vector<run::Chosen<NetworkSpec>>> networks_of_path(
    const Request& request, const std::vector<std::string>& names) {
  if (names.empty()) return std::vector{*request.network};
  std::vector<run::Chosen<NetworkSpec>> path;
  std::vector<std::string> texts;
  for (const std::string& name : names) {
    TRY(auto network, choose_network(name, "--networks"));
    texts.push_back(network_text(network.row));
    if (std::ranges::count(texts, texts.back()) > 1)
      return fail("--networks", fmt::format("{:.60} is named twice", name), "each network once");
    path.push_back(std::move(network));
  }
  const NetworkSpec& own = request.network->row;
  if (std::ranges::find(texts, network_text(own)) == texts.end())
    return fail("--networks", fmt::format("{:.60} is not among them, and no step of the path", own.id),
        fmt::format("one of the list as NETWORK: {:.60}", names.front()));
  return path;
}

}  // namespace

std::span<const Rung> rungs() { return all_rungs; }

const char* to_text(Binds binds) {
  static constexpr std::array names = {"compute", "memory", "links", "bubble", "optimizer", "batch", "split"};
  return names[static_cast<std::size_t>(binds)];
}

Expected<Migration> migration(const Request& request, const std::vector<std::string>& networks,
    const std::vector<std::int64_t>& gpus, Scaling scaling) {
  TRY(check_open(request));
  Migration path{scaling, {}, {}};
  TRY(Request asked, run::with_settled_software(request));
  const std::int64_t node = asked.machine->row.levels.front().gpus, batch = request.wishes().global_batch;
  TRY(const auto steps, networks_of_path(request, networks));
  for (const auto& network : steps) {
    asked.network = network;
    for (const std::int64_t count : gpus) {
      TRY(const std::int64_t there, batch_at(batch, gpus.front(), scaling, count));
      TRY(asked.say("gpus", std::to_string(count), "--gpus"));
      TRY(asked.say("global_batch", std::to_string(there), "--global-batch"));
      path.sizes.push_back(size_on_path(asked, asked.network->row.name, node));
    }
  }
  if (std::ranges::all_of(path.sizes, [](const SizeOnPath& size) { return size.best < 0; })) {
    const RungRun& last = path.sizes.back().rungs.back();
    return fail("--gpus", fmt::format("no way of sharding runs at any size: {} {}", to_text(last.binds), last.why),
        "more GPUs, or another --global-batch");
  }
  add_turns(gpus.size(), path);
  return path;
}

}  // namespace stepcast::scale
