// A program of the notation on its mesh for reading: collectives, where every copy lies, which tensor stays on which
// axis, the skew of stages, memory by lifetime. One step of one block; all bytes are per rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataflow/notation/mapping.h"
#include "model/base/error.h"
#include "model/base/json_writer.h"

namespace stepcast::notation {

struct ClusterMove {
  std::string pass, kind, tensor, axis;
  std::int64_t ranks = 1;
  double received = 0;
  std::string from, to;
};

struct ClusterPlacement {
  std::string tensor, copy, axis;  ///< copy: "home", or "moved" for one that a collective made
  std::string placement;           ///< "Shard(k)", "Replicate", "Partial"
};

/// What the collectives of the forward pass leave alone on an axis.
struct ClusterStay {
  std::string axis;
  std::vector<std::string> tensors;
  std::string text;  ///< "W stays on x; I all-gathered, O reduce-scattered"
};

/// The pipeline's fill by the law of systolic arrays: time + (stages - 1) rounds of one chunk.
struct StageSkew {
  std::string axis, schedule;
  std::int64_t stages = 1, chunks = 1, micro_batches = 0;  ///< micro_batches 0 = follows from the batch
  [[nodiscard]] std::int64_t rounds() const { return stages - 1; }
  /// Skew over all rounds: the bubble of a schedule that flushes and whose rounds take as long; 0 where micro_batches
  /// is.
  [[nodiscard]] double share() const {
    const auto work = static_cast<double>(micro_batches * chunks), skew = static_cast<double>(rounds());
    return work > 0 ? skew / (work + skew) : 0;
  }
};

struct LifetimeBytes {
  double weights = 0, gradients = 0, optimizer = 0;  ///< the whole step
  double saved = 0;                                  ///< from forward to backward, per micro-batch
  // Copies that collectives make beside the homes.
  double gathered_pass = 0, gathered_micro_batch = 0, gathered_step = 0;  ///< of weights, by the life they were granted
  double moved = 0;                                                       ///< of activations, in the forward pass
};

struct ClusterReport {
  std::int64_t ranks = 1;
  std::vector<ClusterMove> moves;
  std::vector<ClusterPlacement> placements;
  std::vector<ClusterStay> stays;
  std::optional<StageSkew> skew;
  LifetimeBytes memory;
};

/// The program placed on its mesh. `op` not empty: only the tensors of that operator are listed.
Expected<ClusterReport> cluster_report(const MappingProgram& program, const std::string& op);

std::string cluster_text(const ClusterReport& report);

void cluster_collectives_json(JsonWriter& json, const ClusterReport& report);  ///< items of an open list
void cluster_placements_json(JsonWriter& json, const ClusterReport& report);   ///< items of an open list
void cluster_stationary_json(JsonWriter& json, const ClusterReport& report);   ///< items of an open list
void cluster_fields_json(JsonWriter& json, const ClusterReport& report);       ///< ranks, skew, memory

}  // namespace stepcast::notation
