// Size curves of collectives from timed calls: a saturating law in log space plus the measured points, thinned.
#pragma once

#include <vector>

#include "calibrate/holdout.h"
#include "model/error.h"
#include "model/profile.h"

namespace stepcast {

/// `received` per rank, as in CollectiveCurve. `nodes` > 1: across nodes.
struct CollectiveMeasurement {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int ranks = 2, nodes = 1;
  Bytes received;
  Seconds time;
};

template <typename Law>
struct Fitted {
  Law law;                         ///< with source `fitted` and the held-out spread
  HoldoutError error;
};

/// One curve from calls of one kind and rank count within a node, at least 5 distinct sizes. Repeats of a size count as
/// their median. `points` keeps at most one size per factor of two; the spread is that of every second size forecast by
/// interpolating between the others, as curve_time does.
Expected<Fitted<CollectiveCurve>> fit_curve(const std::vector<CollectiveMeasurement>& calls, FabricKind fabric);

/// All curves in the calls (nodes == 1): one per kind and rank count, in that order. Kinds with fewer than 5 sizes at a
/// count are left out.
std::vector<Fitted<CollectiveCurve>> fit_curves(const std::vector<CollectiveMeasurement>& calls, FabricKind fabric);

/// A call across nodes with the port speed it had, for holding a scale-out law against it.
struct ScaleOutCall { CollectiveMeasurement call; BytesPerSecond port; double members_per_node = 1; };
/// Measured over predicted, for calls in which each rank receives at least `smallest`.
HoldoutError scale_out_error(const ScaleOutLaw& law, const std::vector<ScaleOutCall>& calls, Bytes smallest);

}  // namespace stepcast
