// The timetable of one rank under a V, and what it holds slot by slot (orders_v_pattern.cpp).
#pragma once

#include <array>
#include <vector>

namespace stepcast::sim::orders {

// The passes of a micro-batch over a rank's two stages, in the order in which it meets them; W stands for both.
enum VPass { f_near = 0, f_far = 1, i_far = 2, i_near = 3, w_either = 4 };

/// Slots by pass and micro-batch; weight gradients (of both stages, in slot order) are there or not.
using VRank = std::array<std::vector<int>, 5>;

/// Idle slots take weight gradients whose input gradient is through; those of the far stage first. Returns the slots of
/// the far and of the near stage's.
std::array<std::vector<int>, 2> weight_slots(const VRank& rank);
void place_weights(VRank& rank);

/// Activations that a rank holds slot by slot. Without weight gradients in the timetable idle slots stand for them.
class HeldActivations {
 public:
  HeldActivations(const VRank& rank, bool weights_placed);
  [[nodiscard]] int peak() const;
  [[nodiscard]] bool is_idle(int slot) const;
  /// Moves the pass in slot `from` to the idle slot `to` before it, unless more than `cap` would be held.
  bool move(int from, int to, int cap);

 private:
  struct State {
    int held = 0, waiting = 0;  ///< `waiting`: weight gradients that may run
    friend bool operator==(const State&, const State&) = default;
  };
  [[nodiscard]] State after(State state, int pass) const;
  /// From slot `first` on, at least to `last`, and on until nothing changes.
  void update(int first, int last);

  std::vector<int> passes_;    ///< by slot
  std::vector<State> before_;  ///< by slot
  bool weights_placed_;
};

}  // namespace stepcast::sim::orders
