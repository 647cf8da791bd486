#include "studies/sweep/price/repeats.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/schedule/schedule_table.h"

namespace stepcast::sweep {
namespace {

bool is_later(const Digits& digits, AxisId axis) { return digits[static_cast<std::size_t>(axis)] > 0; }

/// Is there a value in front of this one on the axis for which `same` holds?
template <typename Same> bool any_earlier(const Digits& digits, AxisId axis, Same same) {
  Digits earlier = digits;
  for (auto& digit = earlier[static_cast<std::size_t>(axis)]; digit > 0;)
    if (--digit, same(earlier)) return true;
  return false;
}

std::int64_t ranks_on(const SplitWishes& wishes, MeshAxis axis) {
  switch (axis) {
    case MeshAxis::tp: return wishes.tp;
    case MeshAxis::cp: return wishes.cp;
    case MeshAxis::dp: return wishes.dp();
    case MeshAxis::pp: return wishes.pp;
  }
  return 1;
}

/// Axes with more than one rank, in order: all that an order of the mesh decides.
std::vector<MeshAxis> axes_in_use(const SplitWishes& wishes) {
  std::vector<MeshAxis> axes;
  for (const MeshAxis axis : wishes.order)
    if (ranks_on(wishes, axis) > 1) axes.push_back(axis);
  return axes;
}

/// Ranks that hold the same weights, or shares of them: of experts, whose ranks are cut otherwise, or of all else with
/// sp.
std::int64_t ranks_of_stage(const SplitWishes& wishes) { return wishes.tp * wishes.cp * wishes.dp(); }

/// Nothing is in shards, or each shard is all there is.
bool keeps_all_whole(const SpacePoints& points, const Digits& digits) {
  const SplitWishes wishes = points.wishes(digits);
  const bool experts = points.network().experts.count > 0;
  const std::int64_t ranks = experts ? ranks_of_stage(wishes) : wishes.dp() * wishes.cp;
  return wishes.zero == 0 ||
         (ranks == wishes.replicas && wishes.dp() == wishes.replicas && wishes.ep * wishes.etp == 1);
}

/// On one stage all chunks come down to the same, if they can run there at all.
bool runs_on_one_stage(const SpacePoints& points, const Digits& digits) {
  const Split split = split_of(points.wishes(digits), points.network(), points.stack());
  constexpr std::int64_t micro_batches = 64;  // their number decides nothing on one stage
  return runs_schedule(split.schedule, 1, split.chunks, micro_batches);
}

/// The order on one stage, of a few micro-batches that stand for any number; none where the schedule cannot run there.
std::optional<Order> one_stage_order(const SpacePoints& points, const Digits& digits) {
  constexpr int micro_batches = 8;
  const Split split = split_of(points.wishes(digits), points.network(), points.stack());
  if (!runs_schedule(split.schedule, 1, split.chunks, micro_batches)) return std::nullopt;
  auto order = make_order(split.schedule, {.chunks = static_cast<int>(split.chunks), .micro_batches = micro_batches});
  return order ? std::optional(std::move(*order)) : std::nullopt;
}

/// A backward in two parts right behind each other is a whole one.
std::vector<Action> with_whole_backwards(const std::vector<Action>& actions) {
  std::vector<Action> whole;
  for (const Action& action : actions) {
    const bool second = action.kind == ActionKind::weight_grad && !whole.empty() &&
                        whole.back().kind == ActionKind::input_grad && whole.back().stage == action.stage &&
                        whole.back().micro_batch == action.micro_batch;
    if (second) whole.back().kind = ActionKind::backward;
    else whole.push_back(action);
  }
  return whole;
}

/// What waits in an order holds its memory (gpipe all of it), and chunks have launches and buckets of their own.
bool same_on_one_stage(const SpacePoints& points, const Digits& one, const Digits& other) {
  const auto a = one_stage_order(points, one), b = one_stage_order(points, other);
  return a && b && a->stages() == b->stages() && with_whole_backwards(a->actions) == with_whole_backwards(b->actions);
}

/// Layers by virtual stage, of a layout that is not to be balanced; none where they cannot lie so.
std::optional<LayerCounts> stated_layers(const SpacePoints& points, const Digits& digits) {
  const auto split = points.split(digits);
  if (!split) return std::nullopt;
  if (!split->layers.empty()) return split->layers;
  const std::int64_t parts = split->pp * split->chunks;
  if (points.network().layers % parts != 0) return std::nullopt;
  return LayerCounts(static_cast<std::size_t>(parts), points.network().layers / parts);
}

bool layers_lie_so(const SpacePoints& points, const Digits& digits) {
  return stated_layers(points, digits).has_value();
}

std::pair<std::string, std::int64_t> scheduled(const SpacePoints& points, const Digits& digits) {
  const Split split = split_of(points.wishes(digits), points.network(), points.stack());
  return {split.schedule, split.chunks};
}

/// Orders that differ in axes of one rank alone.
bool same_order(const SpacePoints& points, const Digits& a, const Digits& b) {
  return axes_in_use(points.wishes(a)) == axes_in_use(points.wishes(b));
}

}  // namespace

bool repeats_context_kind(const SpacePoints& points, const Digits& digits) {
  return is_later(digits, AxisId::cp_kind) && points.wishes(digits).cp == 1;
}

bool repeats_order(const SpacePoints& points, const Digits& digits) {
  return any_earlier(digits, AxisId::order, [&](const Digits& earlier) { return same_order(points, earlier, digits); });
}

bool repeats_tier(const SpacePoints& points, const Digits& digits) {
  if (!points.space().tiers) return false;
  const auto count = [&](AxisId axis) { return points.space().values[static_cast<std::size_t>(axis)].size(); };
  Digits earlier = digits;
  const auto at = [&](AxisId axis) -> std::uint16_t& { return earlier[static_cast<std::size_t>(axis)]; };
  for (at(AxisId::tp_tier) = 0; at(AxisId::tp_tier) < count(AxisId::tp_tier); ++at(AxisId::tp_tier))
    for (at(AxisId::pp_tier) = 0; at(AxisId::pp_tier) < count(AxisId::pp_tier); ++at(AxisId::pp_tier))
      for (at(AxisId::dp_tier) = 0; at(AxisId::dp_tier) < count(AxisId::dp_tier); ++at(AxisId::dp_tier)) {
        if (earlier == digits) return false;
        if (same_order(points, earlier, digits)) return true;
      }
  return false;
}

bool repeats_sequence_split(const SpacePoints& points, const Digits& digits) {
  return is_later(digits, AxisId::sp) && points.wishes(digits).tp == 1;
}

bool repeats_scatter(const SpacePoints& points, const Digits& digits) {
  const SplitWishes wishes = points.wishes(digits);
  if (crosses_repeated(split_of(wishes, points.network(), points.stack()))) return false;
  return any_earlier(digits, AxisId::scatter_boundary, [&](const Digits& earlier) {
    const Split split = split_of(points.wishes(earlier), points.network(), points.stack());
    return split.scatter == Scatter::none || wishes.sequence % (wishes.tp * wishes.cp) == 0;
  });
}

bool repeats_kept_gathers(const SpacePoints& points, const Digits& digits) {
  if (!is_later(digits, AxisId::save_gathered)) return false;
  const auto split = points.split(digits);
  return split && !keeps_gathers(*split);
}

bool repeats_tensor_overlap(const SpacePoints& points, const Digits& digits) {
  const SplitWishes wishes = points.wishes(digits);
  return is_later(digits, AxisId::tp_overlap) && wishes.tp * wishes.cp * wishes.ep * wishes.etp == 1;
}

/// A schedule may bring chunks of its own, whether they are asked for or not.
bool repeats_chunks(const SpacePoints& points, const Digits& digits) {
  return any_earlier(digits, AxisId::chunks, [&](const Digits& earlier) {
    return points.wishes(digits).pp == 1 ? runs_on_one_stage(points, earlier) && layers_lie_so(points, earlier)
                                         : scheduled(points, earlier) == scheduled(points, digits);
  });
}

/// One may be said by name and by default; on one stage many come down to the same order.
bool repeats_schedule(const SpacePoints& points, const Digits& digits) {
  return any_earlier(digits, AxisId::schedule, [&](const Digits& earlier) {
    return points.wishes(digits).pp == 1 ? same_on_one_stage(points, earlier, digits) && layers_lie_so(points, earlier)
                                         : scheduled(points, earlier) == scheduled(points, digits);
  });
}

/// One stage holds all layers, however they are said to lie; elsewhere two layouts may come to the same.
bool repeats_layout(const SpacePoints& points, const Digits& digits) {
  const auto here = points.balances_layers(digits) ? std::nullopt : stated_layers(points, digits);
  return any_earlier(digits, AxisId::layout, [&](const Digits& earlier) {
    if (points.wishes(digits).pp == 1) return layers_lie_so(points, earlier);
    return here && !points.balances_layers(earlier) && stated_layers(points, earlier) == here;
  });
}

bool repeats_even_layers(SpacePoints& points, const Digits& digits) {
  if (!points.balances_layers(digits) || !is_later(digits, AxisId::layout)) return false;
  const auto balanced = points.balanced(digits);
  return balanced && any_earlier(digits, AxisId::layout, [&](const Digits& earlier) {
    return !points.balances_layers(earlier) && stated_layers(points, earlier) == *balanced;
  });
}

bool repeats_zero(const SpacePoints& points, const Digits& digits) {
  return keeps_all_whole(points, digits) &&
         any_earlier(digits, AxisId::zero, [&](const Digits& earlier) { return keeps_all_whole(points, earlier); });
}

bool repeats_replicas(const SpacePoints& points, const Digits& digits) {
  return is_later(digits, AxisId::replicas) && points.wishes(digits).zero == 0;
}

bool repeats_data_overlap(const SpacePoints& points, const Digits& digits) {
  const SplitWishes wishes = points.wishes(digits);
  return is_later(digits, AxisId::dp_overlap) && ranks_of_stage(wishes) == 1;
}

}  // namespace stepcast::sweep
