// Nodes that fail and go into repair: how many are there to run a job on, in the long run. Both laws are exact for any
// distribution of repair times with the same mean (Erlang 1917; Sevastyanov 1957 for the insensitivity).
#pragma once

#include <cstdint>
#include <vector>

#include "model/base/units.h"

namespace stepcast::sim {

/// A job needs `nodes`; `spares` more stand by and do not fail there. Failures put one node at a time into repair.
struct NodePool {
  std::int64_t nodes = 1, spares = 0;
  double taken_per_second = 0;  ///< nodes that go into repair while the job runs on all of its nodes
  Seconds repair;               ///< mean time until a node is back
  /// The job runs on where nodes are missing, in whole replicas of so many nodes; 0: it waits for all of them.
  std::int64_t replica_nodes = 0;
  [[nodiscard]] std::int64_t replicas() const { return replica_nodes == 0 ? 1 : nodes / replica_nodes; }
};

/// Replicas that run while so many nodes are in repair.
std::int64_t running_replicas(const NodePool& pool, std::int64_t in_repair);

/// Chances of 0, 1, ... nodes in repair, where the job has no work while it has no replica. Where it waits, the last is
/// the share of time that it waits: Erlang's B of spares + 1 servers under the load taken x repair.
std::vector<double> repair_chances(const NodePool& pool);
/// The share of time that a job waits for a node, pool without replicas.
double waiting_share(const NodePool& pool);

/// The fewest spares with at most this share of waiting.
std::int64_t spares_for(NodePool pool, double most_waiting);

}  // namespace stepcast::sim
