// The best of many numbered choices, by cost, and the front over several costs: which choices are still worth a look
// when all that is known of them is what they cost at least. Less is better. Several threads may share one.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <queue>
#include <shared_mutex>
#include <vector>

namespace stepcast::sim {

/// What a choice costs, or costs at least: first what the list goes by, then what the front goes by.
struct Costs {
  static constexpr int most = 6;
  double of[most] = {};
};

class Standings {
 public:
  /// A list of `top` choices by of[0] (equal ones by number), and a front over of[1..front]; 0 = no front.
  Standings(std::uint64_t top, int front);

  /// May a choice that costs at least this still enter the list or the front? Never wrong when it says no: bounds are
  /// allowed to lie above by rounding, one part in 1e9.
  [[nodiscard]] bool open(const Costs& at_least) const;
  /// What a choice does cost.
  void enter(std::uint64_t number, const Costs& costs);

 private:
  struct Place {
    double cost;
    std::uint64_t number;
    bool operator<(const Place& other) const { return cost != other.cost ? cost < other.cost : number < other.number; }
  };
  [[nodiscard]] bool dominated(const Costs& costs) const;

  std::uint64_t top_;
  int front_;
  std::priority_queue<Place> list_;  ///< worst on top
  std::atomic<double> worst_;        ///< of a full list
  std::vector<Costs> points_;        ///< of the front
  mutable std::shared_mutex mutex_;
};

/// Choices of one stretch of numbers with what they cost at least; looked at cheapest first, so that most of them need
/// no look.
class Shortlist {
 public:
  struct Entry {
    std::uint64_t number = 0;
    Costs at_least;
  };
  explicit Shortlist(std::size_t room) : room_(room) {}

  void add(std::uint64_t number, const Costs& at_least) { entries_.push_back({number, at_least}); }
  [[nodiscard]] bool full() const { return entries_.size() >= room_; }

  /// Calls look(entry) for those still open and empties the list; gives how many were dismissed. What look() finds must
  /// have entered the standings when it returns. look() gives false to stop early.
  template <typename Look> std::uint64_t look_through(const Standings& standings, Look look) {
    sort();
    std::uint64_t dismissed = 0;
    for (const Entry& entry : entries_) {
      if (!standings.open(entry.at_least)) ++dismissed;
      else if (!look(entry)) break;
    }
    entries_.clear();
    return dismissed;
  }

 private:
  void sort();
  std::size_t room_;
  std::vector<Entry> entries_;
};

}  // namespace stepcast::sim
