// Sets of values of one window index: sums of loops, each a number of steps.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace stepcast::dataflow::counting {

/// { sum of i_k * step_k : 0 <= i_k < trips_k }, kept with the smallest step first.
struct Sums {
  struct Run {
    std::int64_t step, trips;
  };
  int runs = 0;
  std::array<Run, 64> run;

  void add(std::int64_t step, std::int64_t trips) {
    if (trips <= 1) return;
    int at = runs++;
    for (; at > 0 && run[at - 1].step > step; --at) run[at] = run[at - 1];
    run[at] = {step, trips};
  }
  [[nodiscard]] std::int64_t box() const {
    std::int64_t length = 1;
    for (int i = 0; i < runs; ++i) length += run[i].step * (run[i].trips - 1);
    return length;
  }
};

/// Elements of (interval of `length`) + sums. Runs that interleave with gaps are walked.
std::int64_t widened(std::int64_t length, const Sums& sums);

/// Is every value from 0 to box() - 1 there?
bool gapless(const Sums& sums);

/// Elements of ((tile + shift) \ tile) + units: what `units` of them newly need in one round.
std::int64_t newly_needed(const Sums& tile, bool gapless_tile, std::int64_t shift, const Sums& units);

/// A set with one flag per value, for whatever has no closed form.
class Marks {
 public:
  explicit Marks(std::int64_t values) : marked_(values, 0) {}
  void mark(std::int64_t value) { marked_[value] = 1; }
  [[nodiscard]] bool has(std::int64_t value) const {
    return value >= 0 && value < static_cast<std::int64_t>(marked_.size()) && marked_[value] != 0;
  }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(marked_.size()); }
  [[nodiscard]] std::int64_t count() const;
  void widen(const Sums& sums);
  void clear() { marked_.assign(marked_.size(), 0); }

 private:
  std::vector<char> marked_;
};

}  // namespace stepcast::dataflow::counting
