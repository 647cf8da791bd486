#include "sim/schedule/search/timed_kinds.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/schedule/search/auto.h"

namespace stepcast::sim::orders {
namespace {

using greedy::Layout;
using greedy::Problem;

Expected<void> legal_timed(const ScheduleSize&) { return {}; }

Expected<void> times_fit(const char* kind, std::size_t stages, const OrderTimes& times) {
  for (const auto* list : {&times.forward, &times.input_grad, &times.weight_grad}) {
    if (list->size() == stages) continue;
    return fail("times",
        fmt::format("{} schedules {} virtual stages, but a list has {} times", kind, stages, list->size()),
        fmt::format("{} entries in each of forward, input_grad and weight_grad", stages));
  }
  return {};
}

/// The cap in whole activations; at least `least`, with which one unit passes.
Expected<int> whole_cap(const char* kind, double cap, int least) {
  if (cap == 0) return 0;
  if (cap >= least) return static_cast<int>(std::min(std::floor(cap + 1e-9), 1e9));
  return fail("memory-cap", fmt::format("{} cannot pass a micro-batch while a rank holds at most {}", kind, cap),
      fmt::format("{} or more", least));
}

/// What the rounds find with the least span, or of equal spans the least makespan.
Layout least_span(const Problem& problem) {
  std::optional<Layout> best;
  greedy::try_rounds(problem, [&](Layout layout) {
    const bool taken = !best || greedy::less(layout.span, best->span) ||
                       (!greedy::less(best->span, layout.span) && greedy::less(layout.makespan, best->makespan));
    if (taken) best = std::move(layout);
  });
  return std::move(*best);
}

/// The cap as zb.py counts it, where an input gradient frees half of an activation; among equals what also keeps to the
/// cap when nothing is freed before W.
Expected<Order> make_capped(const char* kind, const ScheduleSize& size, const OrderTimes& times, int cap) {
  TRY(times_fit(kind, static_cast<std::size_t>(size.ranks), times));
  Problem problem = greedy::make_problem(size, Placement::looped, times, cap);
  const Layout until_weights = least_span(problem);
  problem.half_freed = true;
  const Layout halves = least_span(problem);
  const bool as_good = until_weights.span <= halves.span * (1 + greedy::same) &&
                       until_weights.makespan <= halves.makespan * (1 + greedy::same);
  return greedy::to_order(problem, as_good ? until_weights : halves);
}

Expected<Order> make_zb_1p(const ScheduleSize& size, const OrderTimes& times) {
  return make_capped("zb-1p", size, times, size.ranks);
}

Expected<Order> make_zb_2p(const ScheduleSize& size, const OrderTimes& times) {
  return make_capped("zb-2p", size, times, 2 * size.ranks);
}

/// The search of auto.h on one placement.
Expected<Order> make_searched(const char* kind, ScheduleSize size, Placement placement, const OrderTimes& times) {
  size.chunks = placement == Placement::v_shape ? 2 : 1;
  const auto stages = static_cast<std::size_t>(size.ranks) * static_cast<std::size_t>(size.chunks);
  TRY(times_fit(kind, stages, times));
  TRY(const auto cap, whole_cap(kind, times.memory_cap, size.chunks));
  const Problem problem = greedy::make_problem(size, placement, times, cap);
  const greedy::Found found = greedy::search(problem);
  if (found.choice.empty()) {
    return fail(
        "memory-cap", fmt::format("{} found no order that holds at most {} activations", kind, cap), "a larger cap");
  }
  return greedy::to_order(problem, found.choice.best());
}

Expected<Order> make_zb_auto(const ScheduleSize& size, const OrderTimes& times) {
  return make_searched("zb-auto", size, Placement::looped, times);
}

/// 2p chunks, the memory of 1F1B, unless a cap is given.
Expected<Order> make_zb_v_auto(const ScheduleSize& size, const OrderTimes& times) {
  OrderTimes capped = times;
  if (capped.memory_cap == 0) capped.memory_cap = 2.0 * size.ranks;
  return make_searched("zb-v-auto", size, Placement::v_shape, capped);
}

ScheduleKind timed(const char* id, const char* name, const char* source,
    Expected<Order> (*make)(const ScheduleSize&, const OrderTimes&)) {
  return {.id = id, .name = name, .source = source, .splits_backward = true, .legal = legal_timed, .make_timed = make};
}

}  // namespace

std::vector<ScheduleKind> timed_kinds() {
  const char* paper = "Qi et al., arXiv 2401.10241; rounds after github.com/sail-sg/zero-bubble, zb.py";
  ScheduleKind any = timed("zb-auto", "Zero bubble under a memory cap", paper, make_zb_auto);
  any.takes_cap = true;
  ScheduleKind v = timed("zb-v-auto", "Zero bubble on a V under a memory cap",
      "Qi et al., arXiv 2405.15362; rounds after github.com/sail-sg/zero-bubble, zbv.py", make_zb_v_auto);
  v.takes_cap = true;
  v.own_chunks = 2;
  return {timed("zb-1p", "ZB-1p", paper, make_zb_1p), timed("zb-2p", "ZB-2p", paper, make_zb_2p), any, v};
}

}  // namespace stepcast::sim::orders
