// The time of any collective on a machine with a profile, within a node and across nodes: what forecasts and single
// questions both ask. In order of preference: the curve that was measured in this place; the curve of another rank
// count (growth) or another number of nodes of the same network; inside a node NCCL's tuning model, across nodes the
// ports' law.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/base/error.h"
#include "model/profile/nccl_model.h"
#include "model/profile/profile.h"

namespace stepcast {

/// latency: doubling the bytes would add less than 40 % to the time.
enum class CollectiveBound : std::uint8_t { latency, bandwidth };
const char* to_text(CollectiveBound bound);

struct CollectiveTime {
  Seconds time;
  Spread spread;  ///< measured over time, 10th and 90th percentile
  CollectiveBound bound = CollectiveBound::latency;
  Source source = Source::assumed;
  bool extrapolated = false;               ///< outside the sizes that were measured
  const char* law = "";                    ///< "curve nvswitch all_reduce", "ports infiniband", "NCCL tuning model"
  const CollectiveCurve* curve = nullptr;  ///< the curve behind it, if any; lives as long as the profile
};

/// A time within one fabric, with the provenance of the law behind it.
struct RatedTime {
  Seconds time;
  Source source = Source::assumed;
  Spread spread;
  const CollectiveCurve* curve = nullptr;  ///< the curve that was used, perhaps transferred in kind or rank count
  bool extrapolated = false;               ///< outside the sizes of the curve's points
};

/// A collective within one instance of a fabric, for any rank count and kind. Not fitted at this count: the nearest
/// count's time at the same buffer times `growth`, where that knows the step; else its bandwidth term, with latency
/// linear in ranks (constant for all_to_all). A kind that was not measured takes the time of a related one. Both are
/// `transferred`. Empty: nothing was measured on this fabric.
std::optional<RatedTime> collective_time(
    const Profile& profile, CollectiveKind kind, FabricKind fabric, int ranks, Bytes received);

/// How the members of a group lie on a machine.
struct GroupPlacement {
  std::int64_t ranks = 2;
  std::int64_t nodes = 1;  ///< distinct instances of the innermost level
  std::int64_t hosts = 0;  ///< servers, where they are more than those (trays of a rack); 0 = `nodes`
  /// Members under one instance of each level that the group outgrows, innermost first. Empty: the innermost holds all.
  std::span<const std::int64_t> below = {};
};

/// `received` per rank, as in CollectiveCurve.
CollectiveTime collective_time(const Machine& machine, const Profile& profile, CollectiveKind kind, Bytes received,
    const GroupPlacement& placement);

/// Fails where the machine cannot hold the ranks in that way. Where the innermost level is wider than a server (a rack
/// of trays), `nodes` are servers and ranks fill the racks.
Expected<CollectiveTime> collective_time(const Machine& machine, const Profile& profile, const CollectiveQuery& query);

/// The ports' law of a level: the profile's, else the usual one.
ScaleOutLaw scale_out_law(const Profile& profile, const Level& level);

/// A measured curve carried to another number of nodes with as many ranks on each. Ring-like kinds: as long per step
/// and byte, so that twice the ranks take twice the buffer in twice the steps; the latency of all_reduce grows as
/// NCCL's tree does. Exchanges: the bytes that leave the node, through the same ports. `buffer` of the whole
/// collective.
Seconds over_nodes(const CollectiveCurve& curve, std::int64_t ranks, std::int64_t nodes, Bytes buffer);

}  // namespace stepcast
