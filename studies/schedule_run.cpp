// From a request to orders that have been run and bounded.
#include <algorithm>

#include <fmt/format.h>

#include "sim/schedule/bound.h"
#include "studies/schedule.h"

namespace stepcast {
namespace {

struct FieldFlag {
  const char *field, *flag;
};
/// What the schedule table calls its sizes, and the flags that set them.
constexpr FieldFlag field_flags[] = {{"ranks", "--stages"},   {"micro-batches", "--micro-batches"},
                                     {"chunks", "--chunks"},  {"group", "--group"},
                                     {"slices", "--seq-splits"}, {"memory-cap", "--memory-cap"}};

Error in_flags(Error error) {
  for (const FieldFlag& row : field_flags)
    if (error.where == row.field) error.where = row.flag;
  for (const FieldFlag& row : field_flags) {
    const std::string field = row.field;
    if (error.hint.starts_with(field + " ")) error.hint.replace(0, field.size(), row.flag);
  }
  return error;
}

}  // namespace

namespace {

Expected<void> check_unit_lists(const ScheduleRequest& request) {
  const auto micro_batches = static_cast<std::size_t>(request.size.micro_batches);
  for (const auto& [key, each] : {std::pair{"forward", &request.forward_each},
                                  std::pair{"input_grad", &request.input_grad_each},
                                  std::pair{"weight_grad", &request.weight_grad_each}}) {
    for (std::size_t s = 0; s < each->size(); ++s) {
      const std::size_t length = (*each)[s].size();
      if (length == 0 || length == micro_batches) continue;
      return fail(fmt::format("{}:/{}/{}", request.times_file, key, s),
                  fmt::format("{} times for {} micro-batches", length, micro_batches),
                  "one for each, or one number for all");
    }
  }
  return {};
}

}  // namespace

Expected<void> check_list_lengths(const ScheduleRequest& request, const std::string& kind, int copy, int directions) {
  const std::pair<const char*, std::size_t> lists[] = {{"forward", request.forward_list.size()},
                                                       {"input_grad", request.input_grad_list.size()},
                                                       {"weight_grad", request.weight_grad_list.size()}};
  for (const auto& [key, length] : lists) {
    if (length == static_cast<std::size_t>(copy) || length == static_cast<std::size_t>(copy) * directions) continue;
    return fail(request.times_file + ":/" + key,
                fmt::format("{} times for the {} virtual stages of {}", length, copy, kind),
                fmt::format("a list of {}{}", copy, directions > 1 ? fmt::format(" or {}", copy * directions) : ""));
  }
  return check_unit_lists(request);
}

namespace {

/// What kinds that schedule by the times look at: one micro-batch, one copy.
OrderTimes order_times(const ScheduleRequest& request, int chunks) {
  const auto list = [&](const std::vector<double>& given, double per_rank) {
    const std::size_t stages = static_cast<std::size_t>(request.size.ranks) * chunks;
    return given.empty() ? std::vector<double>(stages, per_rank / chunks) : given;
  };
  return {.forward = list(request.forward_list, request.forward),
          .input_grad = list(request.input_grad_list, request.input_grad),
          .weight_grad = list(request.weight_grad_list, request.weight_grad),
          .hop = request.hop,
          .memory_cap = request.memory_cap};
}

/// By stage and unit, as the engine takes them; a slice takes its part of its micro-batch.
std::vector<double> unit_times(const Order& order, const std::vector<std::vector<double>>& lists,
                               const std::vector<Seconds>& stage_times) {
  std::vector<double> times;
  if (lists.empty()) return times;
  for (int s = 0; s < order.stages(); ++s) {
    const std::vector<double>& list = lists[s % lists.size()];
    for (int unit = 0; unit < order.units(); ++unit)
      times.push_back(list.empty() ? stage_times[s].value() : list[unit / order.slices] / order.slices);
  }
  return times;
}

/// A rank's time is shared by the stages that one copy has on it; a list is read again for the second copy.
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

}  // namespace

void set_request_knobs(const Order& order, const ScheduleRequest& request, StageTimes& times) {
  times.hop_forward.assign(static_cast<std::size_t>(order.stages()) - 1, Seconds(request.hop));
  times.hop_backward = times.hop_forward;
  times.pair_factor = request.pair_factor;
}

namespace {

/// Kinds with an order of their own cannot keep to a cap: they do, or are refused.
Expected<void> check_cap(const ScheduleRun& run, double cap) {
  const auto& peaks = run.timeline.peak_in_flight;
  const auto most = std::max_element(peaks.begin(), peaks.end());
  if (cap <= 0 || *most <= cap) return {};
  std::string takers;
  for (const ScheduleKind& kind : schedule_kinds())
    if (kind.takes_cap) takers += (takers.empty() ? "" : " or ") + kind.id;
  return fail("--memory-cap", fmt::format("{} holds {} activations on rank {}, above {:g}", run.id, *most,
                                          most - peaks.begin(), cap),
              fmt::format("--memory-cap {} or more{}", *most, takers.empty() ? "" : ", or schedule " + takers));
}

void add_bounds(const StageTimes& times, double cap, ScheduleRun& run) {
  BoundProblem problem = bound_problem(run.order);
  if (cap > 0) problem.memory_cap.assign(static_cast<std::size_t>(run.order.ranks), cap);
  run.lower_bound = lower_bound(problem, times).makespan.value();
  run.lower_bound_at_peak_memory = lower_bound(bound_problem(run.order, run.timeline), times).makespan.value();
}

}  // namespace

double ScheduleRun::gap() const { return timeline.makespan.value() / lower_bound_at_peak_memory - 1; }

double ScheduleRun::peak_micro_batches() const {
  const auto most = *std::max_element(timeline.peak_in_flight.begin(), timeline.peak_in_flight.end());
  return static_cast<double>(most) / (chunks() * order.slices);
}

Expected<ScheduleRun> time_order(Order order, const ScheduleRequest& request, const std::string& id,
                                 const std::string& name) {
  StageTimes times = engine_times(order, request);
  return time_copies({{std::move(order), std::move(times)}}, request, id, name);
}

Expected<ScheduleRun> time_copies(std::vector<TimedOrder> copies, const ScheduleRequest& request,
                                  const std::string& id, const std::string& name) {
  auto ran = run_copies(copies);
  if (!ran) return tl::unexpected(ran.error());
  TimedOrder& shown = copies[ran->slowest];
  ScheduleRun done{.id = id, .name = name, .notes = {}, .in_seconds = request.in_seconds, .hop = request.hop,
                   .replay = std::move(ran->replay), .order = std::move(shown.order),
                   .times = std::move(shown.times), .timeline = std::move(ran->timeline)};
  if (auto kept = check_cap(done, request.memory_cap); !kept) return tl::unexpected(kept.error());
  add_bounds(done.times, request.memory_cap, done);
  return done;
}

Expected<ScheduleRun> run_schedule(const std::string& id, const ScheduleRequest& request) {
  const auto kind = find_schedule(id);
  if (!kind) return tl::unexpected(in_flags(kind.error()));
  if (auto legal = check_size(**kind, request.size); !legal) return tl::unexpected(in_flags(legal.error()));
  const int chunks = chunks_of(**kind, request.size);
  if (!request.times_file.empty()) {
    const auto fits = check_list_lengths(request, id, request.size.ranks * chunks, (*kind)->directions);
    if (!fits) return tl::unexpected(fits.error());
  }
  auto order = make_order(id, request.size, order_times(request, chunks));
  if (!order) return tl::unexpected(in_flags(order.error()));
  return time_order(std::move(*order), request, id, (*kind)->name);
}

ScheduleComparison compare_schedules(const ScheduleRequest& request) {
  ScheduleComparison comparison;
  for (const ScheduleKind& kind : schedule_kinds()) {
    ScheduleRequest own = request;
    own.size.chunks = !kind.takes_chunks ? 1 : request.chunks_given ? request.size.chunks : 2;
    own.size.slices = !kind.takes_slices ? 1 : request.slices_given ? request.size.slices : 2;
    if (!kind.takes_group) own.size.group = 0;
    if (auto run = run_schedule(kind.id, own)) {
      comparison.runs.push_back(std::move(*run));
    } else {
      comparison.refused.push_back({kind.id, to_text(run.error())});
    }
  }
  std::stable_sort(comparison.runs.begin(), comparison.runs.end(), [](const ScheduleRun& a, const ScheduleRun& b) {
    return a.timeline.makespan < b.timeline.makespan;
  });
  return comparison;
}

}  // namespace stepcast
