// From a request to orders that have been run and bounded.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/errors/error_context.h"
#include "sim/schedule/bound/bound.h"
#include "sim/schedule/schedule_table.h"
#include "studies/schedule/run.h"

namespace stepcast::schedule {
namespace {

struct FieldFlag {
  const char *field, *flag;
};
/// What the schedule table calls its sizes, and the flags that set them.
constexpr FieldFlag field_flags[] = {{"ranks", "--stages"}, {"micro-batches", "--micro-batches"},
    {"chunks", "--chunks"}, {"group", "--group"}, {"slices", "--seq-splits"}, {"memory-cap", "--memory-cap"}};

}  // namespace

Error in_schedule_flags(Error error) {
  for (const FieldFlag& row : field_flags) error = renamed_place(std::move(error), row.field, row.flag);
  return error;
}

namespace {

Expected<void> check_unit_lists(const ScheduleRequest& request) {
  const auto micro_batches = static_cast<std::size_t>(request.size.micro_batches);
  for (const auto& [key, each] : {std::pair{"forward", &request.forward_each},
           std::pair{"input_grad", &request.input_grad_each}, std::pair{"weight_grad", &request.weight_grad_each}}) {
    for (std::size_t s = 0; s < each->size(); ++s) {
      const std::size_t length = (*each)[s].size();
      if (length == 0 || length == micro_batches) continue;
      return fail(fmt::format("{}:/{}/{}", request.times_file, key, s),
          fmt::format("{} times for {} micro-batches", length, micro_batches), "one for each, or one number for all");
    }
  }
  return {};
}

}  // namespace

Expected<void> check_list_lengths(const ScheduleRequest& request, const std::string& kind, int copy, int directions) {
  const std::pair<const char*, std::size_t> lists[] = {{"forward", request.forward_list.size()},
      {"input_grad", request.input_grad_list.size()}, {"weight_grad", request.weight_grad_list.size()}};
  for (const auto& [key, length] : lists) {
    if (length == static_cast<std::size_t>(copy) || length == static_cast<std::size_t>(copy) * directions) continue;
    return fail(request.times_file + ":/" + key,
        fmt::format("{} times for the {} virtual stages of {}", length, copy, kind),
        fmt::format("a list of {}{}", copy, directions > 1 ? fmt::format(" or {}", copy * directions) : ""));
  }
  return check_unit_lists(request);
}

namespace {

/// The kinds that look at times have one stage per rank, or a V.
double slowdown_of(const ScheduleRequest& request, int stage) {
  const int ranks = request.size.ranks;
  return request.rank_slowdown.empty() ? 1 : request.rank_slowdown[stage < ranks ? stage : 2 * ranks - 1 - stage];
}

}  // namespace

OrderTimes order_times(const ScheduleRequest& request, int chunks) {
  const auto list = [&](const std::vector<double>& given, double per_rank) {
    const int stages = request.size.ranks * chunks;
    std::vector<double> times = given.empty() ? std::vector<double>(stages, per_rank / chunks) : given;
    for (int s = 0; s < stages && chunks <= 2; ++s) times[s] *= slowdown_of(request, s);
    return times;
  };
  return {.forward = list(request.forward_list, request.forward),
      .input_grad = list(request.input_grad_list, request.input_grad),
      .weight_grad = list(request.weight_grad_list, request.weight_grad),
      .hop = request.hop,
      .memory_cap = request.memory_cap * request.cap_unit};
}

namespace {

/// By stage and unit, as the engine takes them; a slice takes its part of its micro-batch.
std::vector<double> unit_times(
    const Order& order, const std::vector<std::vector<double>>& lists, const std::vector<Seconds>& stage_times) {
  std::vector<double> times;
  if (lists.empty()) return times;
  for (int s = 0; s < order.stages(); ++s) {
    const std::vector<double>& list = lists[s % lists.size()];
    for (int unit = 0; unit < order.units(); ++unit)
      times.push_back(list.empty() ? stage_times[s].value() : list[unit / order.slices] / order.slices);
  }
  return times;
}

}  // namespace

StageTimes engine_times(const Order& order, const ScheduleRequest& request) {
  std::vector<int> sharers(static_cast<std::size_t>(order.ranks) * order.directions);
  const auto share = [&](int stage) -> int& {
    return sharers[order.direction_of(stage) * order.ranks + order.rank_of[stage]];
  };
  for (int s = 0; s < order.stages(); ++s) ++share(s);
  const auto times_of = [&](const std::vector<double>& list, double per_rank) {
    std::vector<Seconds> times;
    for (int s = 0; s < order.stages(); ++s)
      times.emplace_back((list.empty() ? per_rank / share(s) : list[s % list.size()]) / order.slices);
    return times;
  };
  StageTimes stage_times;
  stage_times.forward = times_of(request.forward_list, request.forward);
  stage_times.input_grad = times_of(request.input_grad_list, request.input_grad);
  stage_times.weight_grad = times_of(request.weight_grad_list, request.weight_grad);
  stage_times.forward_each = unit_times(order, request.forward_each, stage_times.forward);
  stage_times.input_grad_each = unit_times(order, request.input_grad_each, stage_times.input_grad);
  stage_times.weight_grad_each = unit_times(order, request.weight_grad_each, stage_times.weight_grad);
  set_stage_means(order, stage_times);
  set_request_knobs(order, request, stage_times);
  return stage_times;
}

void set_request_knobs(const Order& order, const ScheduleRequest& request, StageTimes& times) {
  times.hop_forward.assign(static_cast<std::size_t>(order.stages()) - 1, Seconds(request.hop));
  times.hop_backward = times.hop_forward;
  times.blocking_hops = request.blocking_hops;
  times.rank_slowdown = request.rank_slowdown;
  times.pair_factor = request.pair_factor;
}

namespace {

/// In the unit of --memory-cap.
int cap_for(const ScheduleRequest& request, int activations) {
  return static_cast<int>(std::ceil(activations / request.cap_unit - 1e-9));
}

Expected<void> check_room(const std::string& id, const ScheduleRequest& request, int least) {
  if (request.memory_cap <= 0 || request.memory_cap * request.cap_unit >= least) return {};
  return fail("--memory-cap",
      fmt::format(
          "{} cannot pass a micro-batch while a rank holds at most {:g}", id, request.memory_cap * request.cap_unit),
      fmt::format("--memory-cap {} or more", cap_for(request, least)));
}

/// Kinds with an order of their own cannot keep to a cap: they do, or are refused.
Expected<void> check_cap(const ScheduleRun& run, const ScheduleRequest& request) {
  const auto& peaks = run.timeline.peak_in_flight;
  const double cap = request.memory_cap * request.cap_unit;
  const auto most = std::max_element(peaks.begin(), peaks.end());
  if (cap <= 0 || *most <= cap) return {};
  std::string takers;
  for (const ScheduleKind& kind : schedule_kinds())
    if (kind.takes_cap) takers += (takers.empty() ? "schedule " : ", ") + kind.id;
  return fail("--memory-cap",
      fmt::format("{} holds {} activations on rank {}, above {:g}", run.id, *most, most - peaks.begin(), cap),
      fmt::format("--memory-cap {} or more, or {}", cap_for(request, *most), takers + " or --auto"));
}

void add_bounds(const StageTimes& times, double cap, ScheduleRun& run) {
  BoundProblem problem = bound_problem(run.order);
  if (cap > 0) problem.memory_cap.assign(static_cast<std::size_t>(run.order.ranks), cap);
  run.lower_bound = lower_bound(problem, times).makespan.value();
  run.lower_bound_at_peak_memory = lower_bound(bound_problem(run.order, run.timeline), times).makespan.value();
}

}  // namespace

std::string ScheduleRun::placement() const {
  if (order.directions > 1) return "both ways";
  if (chunks() == 1) return "one stage per rank";
  return chunks() == 2 && order.rank_of[order.ranks] == order.ranks - 1 ? "V" : "looped";
}

double ScheduleRun::peak_micro_batches() const {
  const auto most = *std::max_element(timeline.peak_in_flight.begin(), timeline.peak_in_flight.end());
  return static_cast<double>(most) / (chunks() * order.slices);
}

Expected<ScheduleRun> time_order(
    Order order, const ScheduleRequest& request, const std::string& id, const std::string& name) {
  StageTimes times = engine_times(order, request);
  return time_copies({{std::move(order), std::move(times)}}, request, id, name);
}

Expected<ScheduleRun> time_copies(
    std::vector<TimedOrder> copies, const ScheduleRequest& request, const std::string& id, const std::string& name) {
  TRY(check_speeds(request, copies.front().order.ranks));
  TRY(auto ran, run_copies(copies));
  TimedOrder& shown = copies[ran.slowest];
  ScheduleRun done;
  done.id = id;
  done.name = name;
  done.in_seconds = request.in_seconds;
  done.hop = request.hop;
  done.order = std::move(shown.order);
  done.times = std::move(shown.times);
  done.timeline = std::move(ran.timeline);
  done.blocking_hops = request.blocking_hops;
  done.replay = std::move(ran.replay);
  TRY(check_cap(done, request));
  add_bounds(done.times, request.memory_cap * request.cap_unit, done);
  return done;
}

Expected<ScheduleRun> run_schedule(const std::string& id, const ScheduleRequest& request) {
  const auto kind = find_schedule(id);
  if (!kind) return tl::unexpected(in_schedule_flags(kind.error()));
  if (auto legal = check_size(**kind, request.size); !legal) return tl::unexpected(in_schedule_flags(legal.error()));
  const int chunks = chunks_of(**kind, request.size);
  if (!request.times_file.empty()) {
    TRY(check_list_lengths(request, id, request.size.ranks * chunks, (*kind)->directions));
  }
  TRY(check_room(id, request, chunks));
  auto order = make_order(id, request.size, order_times(request, chunks));
  if (!order) return tl::unexpected(in_schedule_flags(order.error()));
  return time_order(std::move(*order), request, id, (*kind)->name);
}

}  // namespace stepcast::schedule
