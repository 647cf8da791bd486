// Says what each part of a fast price depends on. Points with equal keys share the part. A key that lacks something
// gives wrong prices; one that holds too much only makes more parts. tests/studies/sweep/price/pricer_test.cpp holds
// every part against the forecast.
#pragma once

#include <array>
#include <cstdint>

#include "model/stack.h"
#include "studies/run/split/split_plan.h"
#include "studies/sweep/space/space.h"

namespace stepcast::sweep {

using PartKey = std::array<std::int32_t, 24>;

struct PartKeyHash {
  std::size_t operator()(const PartKey& key) const;
};

/// Does the software or the sharding make each micro-batch move weights or gradients over the data ranks?
bool moves_over_data_ranks(const SplitWishes& wishes, const Stack& stack);
/// Does each micro-batch move shards of weights or gradients that lie over all data ranks alike? Then what it costs in
/// a block follows from their number and where they lie: sizes are a constant and a part of 1 / dp.
/// `equal_shards`: the largest number of ranks on which all weights lie in equal shards.
bool spreads_over_data_ranks(
    const SplitWishes& wishes, const Split& split, const Stack& stack, std::int64_t equal_shards);
/// Ranks between neighbours on an axis of the mesh.
std::int64_t stride_of(const SplitWishes& wishes, MeshAxis axis);

/// What a micro-batch costs in a block, whatever its size. `spread`: it spreads over data ranks.
PartKey family_key(
    const Stack& software, const Digits& digits, const SplitWishes& wishes, const Split& split, bool spread);
/// The same of one size, where tensor and context ranks lie so far apart and this share of the passes runs in pairs;
/// `spread`: on so many data ranks, which lie so far apart.
PartKey unit_key(const SplitWishes& wishes, bool spread, double paired = 0);
/// What happens once per step. `folded`: the stages lie there and back; `some_layers`: not all of them recompute.
PartKey once_key(const Digits& digits, bool folded, bool some_layers);
/// What crosses between stages, and what gathers it.
PartKey stream_key(const Digits& digits, const SplitWishes& wishes);
/// Bytes that stay: they follow from how weights are split and kept alone.
PartKey persistent_key(const Digits& digits, bool folded);

}  // namespace stepcast::sweep
