// Measured timelines of a pipeline, as Primus writes them (AMD-AGI/Primus, tools/visualization/pp_vis): a config.json
// with the sizes, and per rank a pp_rank_<r>.json with iteration -> {total, memory, fwd_start, fwd_end, bwd_start,
// bwd_end and where backward is split wgrad_start, wgrad_end}, in milliseconds of the rank's own clock, in the order of
// execution. Newer versions add <fwd|bwd|wgrad>_minibatch and _chunk, which name the operations; without these the n-th
// forward and n-th backward of a rank are those of Megatron's 1F1B, plain or interleaved in groups of p.
//
// Also read: one file with {p, v, m, ranks: [{fwd_start, ...}]}, a single iteration of all ranks.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "sim/schedule/engine/replay.h"

namespace stepcast::sim {

struct PrimusSize {
  int ranks = 1, chunks = 1, micro_batches = 1;
};

/// Starts and ends of one kind of operation on one rank.
struct PrimusLane {
  std::vector<double> start, end;                ///< milliseconds
  std::vector<std::int64_t> micro_batch, chunk;  ///< empty: not named
};

struct PrimusRank {
  std::string where;                          ///< file and JSON pointer, for errors
  PrimusLane forward, backward, weight_grad;  ///< the last one empty: backward is fused
};

struct PrimusTimeline {
  TimedOrder timed;  ///< order and durations; hops 0
  Seconds measured;  ///< rank 0's first start to its last end, on its own clock
};

Expected<PrimusSize> read_primus_config(std::string_view text, const std::string& where);
/// One iteration of a rank's file; a missing one is refused with those that are there.
Expected<PrimusRank> read_primus_rank(std::string_view text, const std::string& where, int iteration);
/// Ranks in order. Stages lie as in Megatron: chunk x p + rank.
Expected<PrimusTimeline> primus_timeline(const PrimusSize& size, std::span<const PrimusRank> ranks);
/// The one-file form.
Expected<PrimusTimeline> read_measured_timeline(std::string_view text, const std::string& where);

}  // namespace stepcast::sim
