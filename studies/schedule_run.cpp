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

/// A list of --times is one copy's stages, or all stages of both copies.
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
  return {};
}

/// `stages` entries: those of the list, again for a second copy; or a chunk's part of the rank's time.
std::vector<double> stage_list(const std::vector<double>& list, double per_rank, int chunks, int stages, int slices) {
  std::vector<double> times;
  for (int s = 0; s < stages; ++s)
    times.push_back((list.empty() ? per_rank / chunks : list[s % list.size()]) / slices);
  return times;
}

std::vector<Seconds> typed(const std::vector<double>& times) {
  std::vector<Seconds> seconds;
  for (const double time : times) seconds.emplace_back(time);
  return seconds;
}

/// Times of one unit, and of all stages of `copies` copies.
OrderTimes order_times(const ScheduleRequest& request, int chunks, int copies, int slices) {
  const int stages = request.size.ranks * chunks * copies;
  const auto list = [&](const std::vector<double>& given, double per_rank) {
    return stage_list(given, per_rank, chunks, stages, slices);
  };
  return {.forward = list(request.forward_list, request.forward),
          .input_grad = list(request.input_grad_list, request.input_grad),
          .weight_grad = list(request.weight_grad_list, request.weight_grad),
          .hop = request.hop,
          .memory_cap = request.memory_cap};
}

StageTimes engine_times(const OrderTimes& times, const ScheduleRequest& request) {
  StageTimes stage_times;
  stage_times.forward = typed(times.forward);
  stage_times.input_grad = typed(times.input_grad);
  stage_times.weight_grad = typed(times.weight_grad);
  stage_times.hop_forward.assign(times.forward.size() - 1, Seconds(request.hop));
  stage_times.hop_backward = stage_times.hop_forward;
  stage_times.pair_factor = request.pair_factor;
  return stage_times;
}

/// Kinds with an order of their own cannot keep to a cap: they do, or are refused.
Expected<void> check_cap(const ScheduleRun& run, double cap) {
  const auto& peaks = run.timeline.peak_in_flight;
  const auto most = std::max_element(peaks.begin(), peaks.end());
  if (cap <= 0 || *most <= cap) return {};
  std::string takers;
  for (const ScheduleKind& kind : schedule_kinds())
    if (kind.takes_cap) takers += (takers.empty() ? "" : " or ") + kind.id;
  return fail("--memory-cap", fmt::format("{} holds {} activations on rank {}, above {:g}", run.kind->id, *most,
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
  return static_cast<double>(most) / (chunks_of(*kind, size) * size.slices);
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
  auto order = make_order(id, request.size, order_times(request, chunks, 1, request.size.slices));
  if (!order) return tl::unexpected(in_flags(order.error()));
  const StageTimes times =
      engine_times(order_times(request, chunks, (*kind)->directions, request.size.slices), request);
  auto timeline = run(*order, times);
  if (!timeline) return tl::unexpected(timeline.error());
  ScheduleRun done{.kind = *kind, .size = request.size, .in_seconds = request.in_seconds, .hop = request.hop,
                   .order = std::move(*order), .timeline = std::move(*timeline)};
  if (auto kept = check_cap(done, request.memory_cap); !kept) return tl::unexpected(kept.error());
  add_bounds(times, request.memory_cap, done);
  return done;
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
