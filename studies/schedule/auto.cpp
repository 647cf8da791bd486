// stepcast schedule --auto: the search of sim/schedule/search/auto.h on each placement that it knows, held against
// every kind with a fixed order. Where a placement's lower bound is no shorter than what is found, nothing there is
// tried.
#include <algorithm>

#include <fmt/format.h>

#include "model/errors/error_context.h"
#include "sim/schedule/schedule_table.h"
#include "sim/schedule/search/auto.h"
#include "sim/schedule/bound/bound.h"
#include "studies/schedule/run.h"

namespace stepcast::schedule {
namespace {

constexpr double as_long = 1e-9;  ///< equal but for the order in which times were summed

/// Where stages may lie. `searched` is the kind whose sizes and placement the search shares; none: kinds only.
struct AutoPlace {
  int chunks;
  bool v;
  const char* searched;
};
constexpr AutoPlace auto_places[] = {{1, false, "zb-auto"}, {2, true, "zb-v-auto"}, {2, false, nullptr}};

/// An order without actions, which is all that a bound looks at.
Order bare_order(const ScheduleRequest& request, const AutoPlace& place) {
  // clang-format off
  Order order{.ranks = request.size.ranks, .chunks = place.chunks, .micro_batches = request.size.micro_batches,
              .actions = {}, .begin = {}, .rank_of = {}};
  // clang-format on
  for (int s = 0; s < place.chunks * order.ranks; ++s) {
    const int r = s % order.ranks;
    order.rank_of.push_back(place.v && s >= order.ranks ? order.ranks - 1 - r : r);
  }
  return order;
}

class OrderSearch {
 public:
  explicit OrderSearch(const ScheduleRequest& request) : request_(request) {}

  /// No order on this placement is shorter.
  [[nodiscard]] double bound_on(const AutoPlace& place) const {
    const Order order = bare_order(request_, place);
    BoundProblem problem = bound_problem(order);
    if (request_.memory_cap > 0) problem.memory_cap.assign(order.ranks, request_.memory_cap * unit_of(place.chunks));
    return lower_bound(problem, engine_times(order, request_)).makespan.value();
  }

  /// Is there nothing left to gain?
  [[nodiscard]] bool beats(double bound) const {
    return best_ && best_->timeline.makespan.value() <= bound * (1 + as_long);
  }

  Expected<void> search_on(const AutoPlace& place) {
    ScheduleRequest own = request_;
    own.size.chunks = place.chunks;
    own.size.group = 0;
    own.size.slices = 1;
    own.cap_unit = unit_of(place.chunks);
    AutoOptions options;
    options.effort = own.effort;
    auto found = find_order(own.size, order_times(own, place.chunks), options);
    if (!found) return tl::unexpected(in_schedule_flags(found.error()));
    tried_ += found->tried + 1;  // the greedy rounds, which come first, count as one
    take(time_order(std::move(found->order), own, "auto", "Best order found"), found->from);
    return {};
  }

  /// With one copy of the weights; kinds that cut the sequence only where the request does. Under a cap, the auto kinds
  /// are what find_order() begins with.
  void try_kinds(int chunks) {
    for (const ScheduleKind& kind : schedule_kinds()) {
      const ScheduleRequest own = request_for(kind, request_);
      if (kind.directions > 1 || chunks_of(kind, own.size) != chunks) continue;
      if (kind.takes_slices && !request_.slices_given) continue;
      if (kind.takes_cap && request_.memory_cap > 0 && !request_.blocking_hops) continue;
      ++tried_;
      take(run_schedule(kind.id, own), kind.id);
    }
  }

  Expected<ScheduleRun> result() {
    best_->id = "auto";
    best_->name = "Best order found";
    best_->search->tried = tried_;
    return std::move(*best_);
  }

 private:
  [[nodiscard]] double unit_of(int chunks) const { return shared_cap_unit(request_, chunks, 1); }

  [[nodiscard]] bool better(const ScheduleRun& run) const {
    if (!best_) return true;
    const double now = best_->timeline.makespan.value(), next = run.timeline.makespan.value();
    if (next < now * (1 - as_long)) return true;
    if (next > now * (1 + as_long)) return false;
    return run.peak_micro_batches() < best_->peak_micro_batches();
  }

  /// What is refused is not in the race.
  void take(Expected<ScheduleRun> run, const std::string& from) {
    if (!run || !better(*run)) return;
    best_ = std::move(*run);
    best_->search = ScheduleSearch{from, 0};
  }

  const ScheduleRequest& request_;
  std::optional<ScheduleRun> best_;
  int tried_ = 0;
};

/// How many chunks the result may have.
Expected<std::vector<int>> chunk_choices(const ScheduleRequest& request) {
  const int ranks = request.size.ranks;
  const auto entries = static_cast<int>(request.forward_list.size());
  if (request.chunks_given && request.size.chunks > 2)
    return fail("--chunks", "--auto lays one or two stages on a rank", "--chunks 1, --chunks 2, or leave it out");
  if (request.times_file.empty())
    return request.chunks_given ? std::vector<int>{request.size.chunks} : std::vector<int>{1, 2};
  const int chunks = request.chunks_given ? request.size.chunks : entries == 2 * ranks ? 2 : 1;
  auto fits = check_list_lengths(request, "--auto", chunks * ranks, 1);
  if (!fits && !request.chunks_given)
    return tl::unexpected(
        with_hint(fits.error(), fmt::format("a list of {} for one stage per rank, of {} for two", ranks, 2 * ranks)));
  if (!fits) return tl::unexpected(fits.error());
  return std::vector<int>{chunks};
}

/// Before anything is laid out.
Expected<void> check_search_size(const ScheduleRequest& request, const std::vector<int>& chunks) {
  for (const AutoPlace& place : auto_places) {
    if (place.searched == nullptr || std::count(chunks.begin(), chunks.end(), place.chunks) == 0) continue;
    const ScheduleSize size{
        .ranks = request.size.ranks, .chunks = place.chunks, .micro_batches = request.size.micro_batches};
    if (auto legal = check_size(**find_schedule(place.searched), size); !legal)
      return tl::unexpected(in_schedule_flags(legal.error()));
  }
  return {};
}

struct BoundedPlace {
  AutoPlace place;
  double bound;
};

/// The most promising first.
std::vector<BoundedPlace> places_of(const OrderSearch& search, const std::vector<int>& chunks) {
  std::vector<BoundedPlace> places;
  for (const AutoPlace& place : auto_places)
    if (std::count(chunks.begin(), chunks.end(), place.chunks) > 0) places.push_back({place, search.bound_on(place)});
  std::stable_sort(
      places.begin(), places.end(), [](const BoundedPlace& a, const BoundedPlace& b) { return a.bound < b.bound; });
  return places;
}

}  // namespace

Expected<ScheduleRun> find_schedule_order(const ScheduleRequest& request) {
  TRY(const auto chunks, chunk_choices(request));
  TRY(check_search_size(request, chunks));
  OrderSearch search(request);
  const auto places = places_of(search, chunks);
  for (const auto& [place, bound] : places) {
    if (place.searched == nullptr || search.beats(bound)) continue;
    TRY(search.search_on(place));
  }
  for (const int count : chunks) {
    const bool promising = std::any_of(places.begin(), places.end(),
        [&](const BoundedPlace& row) { return row.place.chunks == count && !search.beats(row.bound); });
    if (promising || request.slices_given) search.try_kinds(count);
  }
  return search.result();
}

}  // namespace stepcast::schedule
