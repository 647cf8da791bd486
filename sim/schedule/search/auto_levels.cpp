// What the auto kinds try. A rule that is given less memory than there is may find a shorter order by chance, so a cap
// has part in what is found under the smaller ones: the rounds under many nominal caps, kept by what they really hold,
// and at each level of memory a short search. A level's search depends on nothing but the level, and only what holds as
// much as the rounds there counts as found. So no cap misses what is found under another and fits.
#include <algorithm>
#include <map>

#include "sim/schedule/search/auto.h"
#include "sim/schedule/search/auto_tries.h"

namespace stepcast::sim::greedy {
namespace {

constexpr double summed = 1e-9;  ///< equal but for the order in which times were summed
constexpr std::uint32_t level_seed = 1;

/// A step of at most so many actions is small: everything is tried. Of a larger one the cap itself, and the rounds next
/// to it.
constexpr std::int64_t most_of_small = 6'000;

// Efforts as AutoOptions::effort. These keep 32 ranks and 256 micro-batches under 50 ms.
constexpr std::int64_t rounds_effort = 300'000, rounds_effort_small = 1'000'000;
constexpr std::int64_t most_level_effort = 100'000;  ///< where the rounds, near the bound as a rule, found an order
constexpr int level_tries = 150;
constexpr std::int64_t most_bare_effort = 4'000'000;  ///< where they found none
constexpr int bare_tries = 2000;
constexpr std::int64_t all_levels_effort = 40'000'000;  ///< reached only where the rounds find nothing at most levels

/// Layouts by what they hold; those that hold more are better.
class Front {
 public:
  void show(Layout layout) {
    const int peak = layout.peak;
    if (const Layout* best = under(peak); best != nullptr && !better(layout, *best)) return;
    auto next = by_peak_.insert_or_assign(peak, std::move(layout)).first;
    const Layout& taken = next->second;
    for (++next; next != by_peak_.end() && !better(next->second, taken);) next = by_peak_.erase(next);
  }
  /// The best that holds no more; none: null.
  [[nodiscard]] const Layout* under(int cap) const {
    const auto above = by_peak_.upper_bound(cap);
    return above == by_peak_.begin() ? nullptr : &std::prev(above)->second;
  }

 private:
  std::map<int, Layout> by_peak_;
};

class Levels {
 public:
  explicit Levels(const Problem& problem)
      : asked_(problem), chunks_(problem.stages() / problem.ranks()), all_(problem.units() * chunks_),
        wide_(std::min(all_, 3 * problem.stages())), small_(layout_cost(problem) <= most_of_small),
        bound_(bound_of(problem)) {}

  Found search() {
    try_nominal_caps();
    if (const Layout* best = front_.under(asked_.cap)) best_.show(*best, "rounds");
    const std::vector<int> levels = levels_of();
    const auto above = std::upper_bound(levels.begin(), levels.end(), asked_.cap);
    for (auto level = above; level != levels.begin() && goes_on();) {
      if (!try_level(*--level)) break;
    }
    for (auto level = above; level != levels.end() && goes_on(); ++level) try_level(*level);
    return {.choice = std::move(best_.empty() ? spare_ : best_), .bound = bound_, .tried = tried_};
  }

 private:
  /// Every count of activations up to what 1F1B holds, and some up to three times that, more than which helps few. Of a
  /// large step the cap itself.
  [[nodiscard]] std::vector<int> levels_of() const {
    if (!small_) return {std::min(asked_.cap, wide_)};
    std::vector<int> levels;
    const int each = asked_.stages(), step = std::max(1, each / 4);
    for (int level = chunks_; level <= wide_; level += level < each ? 1 : step) levels.push_back(level);
    if (levels.empty() || levels.back() < wide_) levels.push_back(wide_);
    return levels;
  }
  [[nodiscard]] bool goes_on() const { return spent_ < all_levels_effort && !reached(bound_); }

  /// How many activations rounds are told that a rank may hold, from the cap outwards. Their warm-up on a V counts some
  /// that it does not take.
  void try_nominal_caps() {
    const int unbounded = all_ + asked_.stages();
    const int widest = std::min(unbounded, wide_ + asked_.stages());
    try_nominal(std::min(asked_.cap, unbounded), unbounded);
    const int from = std::min(asked_.cap, widest);
    for (int step = 0; step <= std::max(from, widest - from); ++step) {
      if (from + step <= widest && from + step != asked_.cap) try_nominal(from + step, unbounded);
      if (step > 0 && from - step > 0) try_nominal(from - step, unbounded);
    }
    try_nominal(unbounded, unbounded);
  }

  /// As zb.py and zbv.py count, where an input gradient frees half of an activation, and held until W.
  void try_nominal(int cap, int unbounded) {
    const std::int64_t effort = small_ ? rounds_effort_small : rounds_effort;
    for (const bool half_freed : {false, true}) {
      if (enough() || (tried_ > 0 && spent_ >= effort) || (half_freed && cap >= unbounded)) return;
      Problem nominal = asked_;
      nominal.cap = cap;
      nominal.half_freed = half_freed;
      ++tried_;
      try_rounds(nominal, [&](Layout layout) {
        spent_ += layout_cost(asked_);
        front_.show(std::move(layout));
      });
    }
  }

  [[nodiscard]] bool enough() const {
    const Layout* best = front_.under(asked_.cap);
    return best != nullptr && best->makespan <= bound_.makespan.value() * (1 + summed) &&
           best->span <= bound_.span.value() * (1 + summed);
  }

  [[nodiscard]] bool reached(const LowerBound& bound) const {
    return !best_.empty() && best_.best().makespan <= bound.makespan.value() * (1 + summed);
  }

  /// False where no order that holds so little is shorter than the best.
  bool try_level(int cap) {
    const Layout* rounds = front_.under(cap);
    const int least_peak = rounds != nullptr ? rounds->peak : cap;
    if (least_peak > asked_.cap) return true;  // nothing that counts here would fit
    Problem level = asked_;
    level.cap = cap;
    const LowerBound bound = bound_of(level);
    if (cap <= asked_.cap && reached(bound)) return false;
    Choice start;
    if (rounds != nullptr) start.show(*rounds, "rounds");
    const std::int64_t effort = rounds != nullptr ? std::min(most_level_effort, level_tries * layout_cost(level))
                                                  : std::min(most_bare_effort, bare_tries * layout_cost(level));
    Search search(level, std::move(start), bound.makespan.value() * (1 + summed), effort, level_seed);
    search.try_all();
    spent_ += search.spent();
    tried_ += search.tried;
    take(search.choice, least_peak);
    return true;
  }

  void take(const Choice& found, int least_peak) {
    if (found.empty() || found.best().peak > asked_.cap) return;
    Choice& taker = found.best().peak >= least_peak ? best_ : spare_;
    taker.show(found.best(), found.from().c_str());
  }

  const Problem& asked_;
  int chunks_, all_, wide_;
  bool small_;
  LowerBound bound_;
  Front front_;
  Choice best_, spare_;
  int tried_ = 0;
  std::int64_t spent_ = 0;
};

}  // namespace

Found search(const Problem& problem) { return Levels(problem).search(); }

}  // namespace stepcast::sim::greedy
