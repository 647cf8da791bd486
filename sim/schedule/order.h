// The order of actions on every rank of a pipeline. Stage s of p ranks and v chunks lies on rank rank_of[s]: most kinds
// put stage s on rank s % p as its chunk s / p; V kinds put stages r and 2p-1-r on rank r; kinds with two directions
// (DualPipe, Chimera) run a second copy of the model from the last rank to the first: its stages follow those of the
// first copy. Where the sequence is cut into slices, a unit of work is a slice: unit = micro-batch x slices + slice.
// Rules and sources: PipeDream-flush (arXiv 2006.09503), GPipe (1811.06965), interleaved 1F1B (2104.04473).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/base/error.h"

namespace stepcast::sim {

enum class ActionKind : std::uint8_t { forward, backward, input_grad, weight_grad };

/// One step of a rank's order. `stage` is the virtual stage 0..p*v-1.
struct Action {
  ActionKind kind = ActionKind::forward;
  std::int32_t stage = 0;
  std::int32_t micro_batch = 0;  ///< the unit, where the sequence is cut
  bool with_next = false;        ///< runs at once with the rank's next action: a fused pair of a forward and a backward
  friend bool operator==(const Action&, const Action&) = default;
};

/// "F(s=2, mb=5)"; B is a fused backward, I its input-gradient and W its weight-gradient part.
std::string to_text(const Action& action);

struct Order {
  int ranks = 1, chunks = 1, micro_batches = 1;
  int slices = 1;                     ///< of the sequence of one micro-batch
  int directions = 1;                 ///< copies of the model; 2: stages 0..n/2-1 run ahead, n/2..n-1 against
  std::vector<Action> actions;        ///< all ranks one after the other
  std::vector<std::int32_t> begin;    ///< ranks+1 offsets into `actions`
  std::vector<std::int32_t> rank_of;  ///< virtual stage -> rank
  [[nodiscard]] int stages() const { return static_cast<int>(rank_of.size()); }
  [[nodiscard]] int units() const { return micro_batches * slices; }
  /// Micro-batches of a direction: the first half is direction 0's.
  [[nodiscard]] int direction_of(int stage) const { return stage / (stages() / directions); }
  /// The stage that takes the result, or -1 at the end of its direction.
  [[nodiscard]] int after(int stage) const { return (stage + 1) % (stages() / directions) == 0 ? -1 : stage + 1; }
  [[nodiscard]] int before(int stage) const { return stage % (stages() / directions) == 0 ? -1 : stage - 1; }
  [[nodiscard]] std::span<const Action> of_rank(int rank) const {
    return {actions.data() + begin[rank], static_cast<std::size_t>(begin[rank + 1] - begin[rank])};
  }
};

/// Is this a whole step? Offsets and placement fit, every micro-batch passes every stage of its direction once on the
/// stage's rank: one F, then one B, or one I and later one W; slices ahead first to last, back last to first; pairs are
/// a forward and a backward. The error names rank and action. Orders that make_order() built need no check; run()
/// requires that an order from elsewhere has passed it.
Expected<void> check_order(const Order& order);

}  // namespace stepcast::sim
