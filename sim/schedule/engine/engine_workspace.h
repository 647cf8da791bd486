// What the engine works on while it runs an order.
#pragma once

#include <cstdint>
#include <vector>

namespace stepcast::sim {

/// What the engine needs for one virtual stage, gathered from order and times.
struct EngineStage {
  double duration[4] = {};          ///< by ActionKind, the rank's slow-down in it
  double slowdown = 1;              ///< of the stage's rank
  double hop[2] = {};               ///< into the stage, forward and backward; 0 from its own rank
  double hop_out[2] = {};           ///< out of the stage, forward and backward
  std::int32_t from[2] = {-1, -1};  ///< stage whose result it takes, forward and backward; -1 = none
  std::int32_t to[2] = {-1, -1};    ///< rank that waits for its result, forward and backward; -1 = none
  std::int32_t peer[2] = {-1, -1};  ///< rank that it receives from; -1 = none or its own
};

/// What the engine keeps for one rank.
struct EngineRank {
  double free = 0;  ///< end of its last action
  double send = 0;  ///< hop of that action's result, if blocking
  std::int32_t send_peer = -1;
  std::int32_t next = 0, end = 0;  ///< positions in Order::actions
  std::int64_t waits_for = -1;     ///< slot of `done` that it waits for
};

/// Room that repeated runs share, so that a sweep allocates only while sizes grow. Contents are the engine's own.
struct EngineWorkspace {
  std::vector<EngineStage> stages;
  std::vector<EngineRank> ranks;
  std::vector<std::int32_t> ready;  ///< stack of ranks that may go on
  std::vector<double> done;         ///< end by (direction, stage, micro-batch); negative = not yet
};

}  // namespace stepcast::sim
