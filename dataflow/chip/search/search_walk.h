// Branch and bound over one plan of keep lists, and over all of them.
#pragma once

#include "dataflow/chip/search/search_bound.h"

namespace stepcast::dataflow::mapper {

/// A score in the order that the objective ranks by. Figures within a relative 1e-9 are equal.
using Rank = std::array<double, 3>;
Rank rank_of(const ChipScore& score, SearchObjective objective);
bool less(const Rank& a, const Rank& b);

/// Ranks are settled one figure at a time: the best of the first, then of the second among those equal in the first,
/// ...
struct Goal {
  SearchObjective objective = SearchObjective::energy;
  int phase = 0;  ///< index into the rank: what is made less now; those before stay as they are
  [[nodiscard]] bool hopeful(const Rank& bound, const Rank& best) const;
};

struct Found {
  Rank rank{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
      std::numeric_limits<double>::infinity()};
  ChipScore score;
  Mapping mapping;
  [[nodiscard]] bool any() const { return rank[0] < std::numeric_limits<double>::infinity(); }
};

struct Tally {
  std::int64_t looked = 0, evaluated = 0, pruned = 0;
  double open = std::numeric_limits<double>::infinity();  ///< least bound of what was not walked
  double leaf = std::numeric_limits<double>::infinity();  ///< least bound of what was counted
  bool limited = false;   ///< orders were left out: only `leaf` bounds the others like it
  bool left_out = false;  ///< keep lists or choices of units were left out
};

/// Walks below one stage. What cannot be less than `best` is cut off.
class Walker {
 public:
  Walker(Bounder& bounder, const ScoreTable& table, const Nest& shapes, Goal goal, Rank best, std::int64_t most);

  struct Child {
    Rank bound{};
    Tile tile{};  ///< handed on
    Factors trips{};
    const Order* order = nullptr;
    int combo = 0;
  };
  /// Ways on from a stage that may be better than the best, in order of their bounds.
  std::vector<Child> children(const Frontier& at, int stage, const Rank& own);
  void follow(const Frontier& at, int stage, const Child& child);
  void walk(const Frontier& at, int stage, const Rank& own);
  void begin(int combo) { combo_[0] = combo; }  ///< of stage 0

  Found found;
  Tally tally;

 private:
  void finish(const Frontier& at, int stage);
  void evaluate(int stage, double bound);
  void add_space(int stage);
  void add_time(int stage);
  [[nodiscard]] Mapping mapping() const;
  [[nodiscard]] bool hopeful(const ChipScore& bound) const {
    return goal_.hopeful(rank_of(bound, goal_.objective), best_);
  }
  [[nodiscard]] bool spent() const { return tally.looked > most_; }

  Bounder& bounder_;
  const ScoreTable& table_;
  Goal goal_;
  Rank best_;
  std::int64_t most_;
  Nest nest_;
  Counts counts_;
  std::array<Factors, most_chip_levels + 1> trips_{};
  std::array<const Order*, most_chip_levels + 1> order_{};
  std::array<int, most_chip_levels + 1> combo_{};
  Order last_order_;
};

/// Steps from a tile to one inside it, over all plans, up to which tails are made in full. Beyond, that takes longer
/// than the walk that they shorten.
inline constexpr double full_tail_pairs = 3e8;

/// All plans, cheapest first, with `threads`. `found` holds a mapping to beat, or none.
Tally walk_all(const Space& space, const ScoreTable& table, const SearchOptions& options, const Nest& shapes, int phase,
    Found& found, double most_tail_pairs = full_tail_pairs);

}  // namespace stepcast::dataflow::mapper
