#include "sim/schedule/search/auto.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/schedule/search/auto_tries.h"

namespace stepcast::sim {
namespace greedy {

Found search(const Problem& problem, const AutoOptions& options) {
  Found found = search(problem);
  Search more(
      problem, std::move(found.choice), found.bound.makespan.value() * (1 + options.gap), options.effort, options.seed);
  more.try_all();
  found.choice = std::move(more.choice);
  found.tried += more.tried;
  return found;
}

}  // namespace greedy

namespace {

Expected<greedy::Problem> problem_of(ScheduleSize size, const OrderTimes& times) {
  const auto ranks = static_cast<std::size_t>(size.ranks), entries = times.forward.size();
  const bool v = entries == 2 * ranks;
  if ((entries != ranks && !v) || times.input_grad.size() != entries || times.weight_grad.size() != entries) {
    return fail("times",
        fmt::format("{}, {} and {} forward, input_grad and weight_grad times for {} ranks", entries,
            times.input_grad.size(), times.weight_grad.size(), ranks),
        fmt::format("{} of each, or {} for a V", ranks, 2 * ranks));
  }
  size.chunks = v ? 2 : 1;
  if (times.memory_cap != 0 && times.memory_cap < size.chunks) {
    return fail("memory-cap", fmt::format("no micro-batch can pass while a rank holds at most {}", times.memory_cap),
        fmt::format("{} or more", size.chunks));
  }
  const int cap = static_cast<int>(std::min(std::floor(times.memory_cap + 1e-9), 1e9));
  return greedy::make_problem(size, v ? orders::Placement::v_shape : orders::Placement::looped, times, cap);
}

}  // namespace

Expected<AutoOrder> find_order(const ScheduleSize& size, const OrderTimes& times, const AutoOptions& options) {
  TRY(const auto problem, problem_of(size, times));
  const greedy::Found found = greedy::search(problem, options);
  if (found.choice.empty()) {
    return fail("memory-cap", fmt::format("found no order that holds at most {}", times.memory_cap), "a larger cap");
  }
  const greedy::Layout& best = found.choice.best();
  return AutoOrder{.order = greedy::to_order(problem, best),
      .makespan = Seconds(best.makespan),
      .span = Seconds(best.span),
      .bound = found.bound,
      .from = found.choice.from(),
      .tried = found.tried};
}

}  // namespace stepcast::sim
