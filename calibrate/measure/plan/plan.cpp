#include "calibrate/measure/plan/plan.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "calibrate/measure/plan/candidates.h"
#include "calibrate/measure/plan/phases.h"

namespace stepcast::calibrate {
namespace {

/// Things measured twice.
constexpr std::size_t most_repeats = 8;
/// Rounds that a phase's works are spread over, so that what ends a campaign halfway leaves half of every phase, the
/// telling one.
constexpr std::size_t spread_over = 8;

/// Of the budget, that own shapes take before anybody else gets a share: laws need the others to be of use beside them.
constexpr double own_part = 0.5;

/// The same order on every machine (std::shuffle leaves it to the library).
template <typename Row> void shuffle_rows(std::span<Row> rows, std::mt19937_64& random) {
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random() % i]);
}

Seconds sum_of(const std::vector<PlannedWork>& works) {
  Seconds sum;
  for (const PlannedWork& work : works) sum += work.estimate;
  return sum;
}

class Planner {
 public:
  Planner(const PlanRequest& request, CandidateSet from)
      : request_(request), from_(std::move(from)), random_(request.seed) {
    plan_.budget = request.budget;
    plan_.notes = from_.notes;
  }

  Expected<MeasurePlan> run() {
    TRY(take_first_ones());
    take_own(request_.budget * own_part);
    while (share_out()) {
    }
    pick_repeats();
    use_up();
    put_in_order();
    list_left_out();
    plan_.estimate = sum_of(plan_.works);
    return std::move(plan_);
  }

 private:
  /// What may still be planned, without what is set aside for repeats. A hair less: sums depend on their order.
  Seconds free() const { return request_.budget - planned_ - aside_ - Seconds(1e-6); }
  bool own_left() const { return own_taken_ < from_.own.size(); }

  void take(PhaseList& list) {
    list.used += list.next().estimate;
    planned_ += list.next().estimate;
    chosen_.push_back({list.next(), list.taken++, list.works.size()});
  }

  /// One of each phase, and time to repeat the shortest of them.
  Expected<void> take_first_ones() {
    Seconds least, shortest;
    for (const PhaseList& list : from_.phases) {
      least += list.next().estimate;
      if (!list.next().runs_for_long() && (shortest.value() == 0 || list.next().estimate < shortest))
        shortest = list.next().estimate;
    }
    if (from_.repeats && shortest.value() == 0)
      return fail("--only", "repeat measures again what another phase did, but none with short samples was chosen",
          "add one: --only gemm,repeat");
    if (from_.repeats) aside_ = std::max(shortest, repeat_share() * request_.budget);
    if (from_.repeats) least += shortest;
    if (!(least + Seconds(1e-6) <= request_.budget))
      return fail("--budget", fmt::format("{:g} s do not hold one thing of each phase", request_.budget.value()),
          fmt::format("at least {:.0f} s, or fewer phases: --only gemm", std::ceil(least.value())));
    for (PhaseList& list : from_.phases) take(list);
    if (free() < Seconds(0)) aside_ += free();  // still the shortest one's time or more
    return {};
  }

  double repeat_share() const {
    const double repeat = share_of(phase_index("repeat"));
    double sum = repeat;
    for (const PhaseList& list : from_.phases) sum += share_of(list.phase);
    return repeat / sum;
  }
  static double share_of(int phase) { return measure_phases()[static_cast<std::size_t>(phase)].share; }

  /// Heaviest first; nothing lighter jumps ahead of what does not fit.
  void take_own(Seconds allowed) {
    for (; own_left() && from_.own[own_taken_].estimate <= std::min(allowed, free()); ++own_taken_) {
      const PlannedWork& work = from_.own[own_taken_];
      allowed -= work.estimate;
      planned_ += work.estimate;
      own_.push_back(work);
      for (PhaseList& list : from_.phases)
        if (list.phase == work.phase) list.used += work.estimate;
    }
  }

  /// Each phase takes what its share of the time holds; true while that leads to something.
  bool share_out() {
    double shares = 0;
    const Seconds open = free();
    for (const PhaseList& list : from_.phases)
      if (!list.spent()) shares += share_of(list.phase);
    if (shares == 0) return false;
    // The first time round, shares are of the whole budget and what a phase has is counted against it; later ones
    // divide what was left.
    const bool first = !std::exchange(shared_once_, true);
    std::vector<Seconds> allowed;
    Seconds sum;
    for (const PhaseList& list : from_.phases) {
      const double share = share_of(list.phase) / shares;
      const Seconds mine = first ? std::max(Seconds(0), request_.budget * share - list.used) : open * share;
      allowed.push_back(list.spent() ? Seconds(0) : mine);
      sum += allowed.back();
    }
    const double scale = sum > open ? open / sum : 1;
    bool took = first;  // though nothing fits its share of the whole, there may be something left to share
    for (std::size_t i = 0; i < from_.phases.size(); ++i)
      took = take_within(from_.phases[i], allowed[i] * scale) || took;
    return took;
  }

  bool take_within(PhaseList& list, Seconds allowed) {
    bool took = false;
    while (!list.spent() && list.next().estimate <= allowed && list.next().estimate <= free()) {
      allowed -= list.next().estimate;
      take(list);
      took = true;
    }
    return took;
  }

  /// Among what is sampled; at least one.
  void pick_repeats() {
    if (!from_.repeats) return;
    std::vector<PlannedWork> pool = own_;
    for (const Chosen& chosen : chosen_)
      if (!chosen.work.runs_for_long()) pool.push_back(chosen.work);
    shuffle_rows(std::span(pool), random_);
    for (PlannedWork& work : pool) {
      if (repeats_.size() == most_repeats || work.estimate > aside_) continue;
      aside_ -= work.estimate;
      planned_ += work.estimate;
      work.mode = WorkMode::repeat;
      work.own = false;
      work.phase = phase_index("repeat");
      repeats_.push_back(work);
    }
    aside_ = Seconds(0);
  }

  /// What no share was large enough for: own shapes, then one more of each phase in turn while anything fits.
  void use_up() {
    take_own(free());
    for (bool took = true; took;) {
      took = false;
      for (PhaseList& list : from_.phases)
        if (!list.spent() && list.next().estimate <= free()) {
          take(list);
          took = true;
        }
    }
  }

  void put_in_order() {
    const int launch = phase_index("launch"), bandwidth = phase_index("bandwidth");
    const auto is_early = [&](const Chosen& c) { return c.work.phase == launch || c.work.phase == bandwidth; };
    std::vector<std::vector<PlannedWork>> rounds(spread_over);
    std::vector<PlannedWork> runs;
    for (const PhaseList& list : from_.phases)
      for (const Chosen& chosen : chosen_) {
        if (chosen.work.phase != list.phase) continue;
        if (chosen.work.runs_for_long()) runs.push_back(chosen.work);
        else if (is_early(chosen)) plan_.works.push_back(chosen.work);
        else rounds[chosen.place * spread_over / list.taken].push_back(chosen.work);
      }
    const auto append_all = [&](const std::vector<PlannedWork>& works) {
      plan_.works.insert(plan_.works.end(), works.begin(), works.end());
    };
    append_all(own_);
    // Runs of seconds come after the most telling round, not at the end: where works take longer than estimated, what
    // is left out is the last round's, and not what training's clocks are known by.
    for (std::vector<PlannedWork>& round : rounds) {
      shuffle_rows(std::span(round), random_);
      append_all(round);
      if (&round == rounds.data()) append_all(runs);
    }
    append_all(repeats_);
  }

  /// By how far down its phase's list a work stands; own shapes last.
  void list_left_out() {
    std::vector<Chosen> left;
    for (const PhaseList& list : from_.phases)
      for (std::size_t i = list.taken; i < list.works.size(); ++i)
        left.push_back({list.works[i], i, list.works.size()});
    const auto depth = [](const Chosen& c) { return static_cast<double>(c.place) / static_cast<double>(c.of); };
    std::stable_sort(left.begin(), left.end(), [&](const Chosen& a, const Chosen& b) { return depth(a) > depth(b); });
    for (Chosen& one : left) plan_.left_out.push_back(std::move(one.work));
    for (std::size_t i = from_.own.size(); i > own_taken_; --i) plan_.left_out.push_back(from_.own[i - 1]);
  }

  struct Chosen {
    PlannedWork work;
    std::size_t place, of;
  };  ///< its place in its phase's list of so many

  const PlanRequest& request_;
  CandidateSet from_;
  std::mt19937_64 random_;
  MeasurePlan plan_;
  Seconds planned_, aside_;
  std::vector<Chosen> chosen_;
  std::vector<PlannedWork> own_, repeats_;
  std::size_t own_taken_ = 0;
  bool shared_once_ = false;
};

}  // namespace

Expected<MeasurePlan> make_plan(const PlanRequest& request) {
  TRY(auto from, candidates_of(request));
  return Planner(request, std::move(from)).run();
}

}  // namespace stepcast::calibrate
