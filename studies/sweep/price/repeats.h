// Finds points that differ from an earlier one only on an axis that has no effect there. Pricing them again would fill
// the list of the best with copies. The earlier point must be able to run itself.
#pragma once

#include "studies/sweep/price/points.h"

namespace stepcast::sweep {

bool repeats_context_kind(const SpacePoints& points, const Digits& digits);
bool repeats_order(const SpacePoints& points, const Digits& digits);
bool repeats_tier(const SpacePoints& points, const Digits& digits);
bool repeats_sequence_split(const SpacePoints& points, const Digits& digits);
bool repeats_scatter(const SpacePoints& points, const Digits& digits);
bool repeats_kept_gathers(const SpacePoints& points, const Digits& digits);
bool repeats_tensor_overlap(const SpacePoints& points, const Digits& digits);
bool repeats_chunks(const SpacePoints& points, const Digits& digits);
bool repeats_schedule(const SpacePoints& points, const Digits& digits);
bool repeats_layout(const SpacePoints& points, const Digits& digits);
/// Asks for the balanced layers.
bool repeats_even_layers(SpacePoints& points, const Digits& digits);
bool repeats_zero(const SpacePoints& points, const Digits& digits);
bool repeats_replicas(const SpacePoints& points, const Digits& digits);
bool repeats_data_overlap(const SpacePoints& points, const Digits& digits);

}  // namespace stepcast::sweep
