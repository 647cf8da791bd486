#include "studies/sweep/price/part_keys.h"

#include <algorithm>
#include <array>
#include <bit>

#include "model/base/text.h"

namespace stepcast::sweep {
namespace {

std::int32_t digit_of(const Digits& digits, AxisId axis) { return digits[static_cast<std::size_t>(axis)]; }

bool says_where_weights_live(const std::string& statement) { return !is_boundary_statement(statement); }

}  // namespace

std::size_t PartKeyHash::operator()(const PartKey& key) const { return fnv1a(key); }

bool moves_over_data_ranks(const SplitWishes& wishes, const Stack& stack) {
  return wishes.zero >= 2 || std::any_of(stack.statements.begin(), stack.statements.end(), says_where_weights_live);
}

// A shard is whole elements (local_elements() in dataflow/place): where weights do not divide, sizes are rounded up,
// and are in proportion to 1 / dp nearly, not exactly: those of the split, and those of its family (shared_blocks.cpp),
// whose programs have 2 and 4 data ranks.
bool spreads_over_data_ranks(
    const SplitWishes& wishes, const Split& split, const Stack& stack, std::int64_t equal_shards) {
  constexpr std::int64_t of_family = 4;
  const std::int64_t inside = wishes.tp * wishes.cp;
  const bool alike = equal_shards % (inside * wishes.dp()) == 0 && equal_shards % (inside * of_family) == 0;
  return wishes.zero >= 2 && alike && split.replicas == 1 && !split.experts &&
         std::none_of(stack.statements.begin(), stack.statements.end(), says_where_weights_live);
}

std::int64_t stride_of(const SplitWishes& wishes, MeshAxis wanted) {
  std::int64_t stride = 1;
  for (const MeshAxis axis : wishes.order) {
    if (axis == wanted) return stride;
    stride *= axis == MeshAxis::tp   ? wishes.tp
              : axis == MeshAxis::cp ? wishes.cp
              : axis == MeshAxis::dp ? wishes.dp()
                                     : wishes.pp;
  }
  return stride;
}

// What a micro-batch costs in a block follows from how the block is split and where its groups lie. Data ranks matter
// where gradients or weights are kept in shards over them: then each micro-batch reduces or gathers.
PartKey family_key(
    const Stack& software, const Digits& digits, const SplitWishes& wishes, const Split& split, bool spread) {
  using enum AxisId;
  PartKey key{};
  std::size_t at = 0;
  for (const AxisId axis : {gpus, precision, tp, cp, cp_kind, ep, etp, tp_overlap, recompute})
    key[at++] = digit_of(digits, axis);
  key[at++] = split.sequence;
  key[at++] = !split.kept_gathers.empty();
  if (spread) {
    key[at++] = -2;
    key[at++] = digit_of(digits, zero);
    key[at++] = digit_of(digits, dp_overlap);
    key[at++] = split.dp > 1;
  } else if (moves_over_data_ranks(wishes, software)) {
    key[at++] = 1 + digit_of(digits, zero);
    key[at++] = digit_of(digits, replicas);
    key[at++] = digit_of(digits, dp_overlap);
    key[at++] = static_cast<std::int32_t>(split.dp);
    for (const MeshAxis axis : {MeshAxis::tp, MeshAxis::cp, MeshAxis::dp})
      key[at++] = static_cast<std::int32_t>(stride_of(wishes, axis));
  } else if (split.experts) {
    // Experts lie on all ranks of a stage. Where stages are the outermost axis of the mesh, their groups keep their
    // ranks, whatever the number of stages; a rank's share of the rows is the same then too.
    key[at++] = -1;
    for (const AxisId axis : {order, tp_tier, pp_tier, dp_tier}) key[at++] = digit_of(digits, axis);
    key[at++] = split.order.back() == MeshAxis::pp ? -1 : digit_of(digits, pp);
    // Data ranks that lie nearer than those of tensors and contexts push them apart.
    for (const MeshAxis axis : {MeshAxis::tp, MeshAxis::cp})
      key[at++] = static_cast<std::int32_t>(stride_of(wishes, axis));
  }
  return key;
}

PartKey unit_key(const SplitWishes& wishes, bool spread, double paired) {
  const auto share = std::bit_cast<std::array<std::int32_t, 2>>(paired);
  return {static_cast<std::int32_t>(wishes.micro_batch), static_cast<std::int32_t>(stride_of(wishes, MeshAxis::tp)),
      static_cast<std::int32_t>(stride_of(wishes, MeshAxis::cp)), share[0], share[1],
      static_cast<std::int32_t>(spread ? wishes.dp() : 0),
      static_cast<std::int32_t>(spread ? stride_of(wishes, MeshAxis::dp) : 0)};
}

PartKey once_key(const Digits& digits, bool folded, bool some_layers) {
  using enum AxisId;
  PartKey key{};
  std::size_t at = 0;
  for (const AxisId axis :
      {gpus, precision, tp, cp, pp, ep, etp, order, tp_tier, pp_tier, dp_tier, sp, zero, replicas, dp_overlap})
    key[at++] = digit_of(digits, axis);
  // Tied weights lie on one rank where the stages make a V.
  key[at++] = folded;
  // Layers that are not recomputed are blocks of their own, so that the blocks' numbers differ.
  key[at++] = some_layers;
  return key;
}

PartKey stream_key(const Digits& digits, const SplitWishes& wishes) {
  using enum AxisId;
  PartKey key{};
  std::size_t at = 0;
  for (const AxisId axis : {gpus, precision, tp, cp, cp_kind, sp, scatter_boundary}) key[at++] = digit_of(digits, axis);
  key[at++] = wishes.pp > 1;
  key[at++] = static_cast<std::int32_t>(stride_of(wishes, MeshAxis::tp));
  key[at++] = static_cast<std::int32_t>(stride_of(wishes, MeshAxis::cp));
  return key;
}

PartKey persistent_key(const Digits& digits, bool folded) {
  using enum AxisId;
  PartKey key{};
  std::size_t at = 0;
  for (const AxisId axis : {gpus, precision, tp, cp, pp, ep, etp, zero, replicas}) key[at++] = digit_of(digits, axis);
  key[at++] = folded;
  return key;
}

}  // namespace stepcast::sweep
