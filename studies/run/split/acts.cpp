#include "studies/run/split/acts.h"

#include <algorithm>

#include "sim/schedule/schedule_table.h"
#include "studies/run/split/split_plan.h"

namespace stepcast::run {

bool is_staged(const Split& split, const RunWishes& /*told*/, const NetworkSpec& /*network*/) { return split.pp > 1; }

bool has_chunks(const Split& split, const RunWishes& /*told*/, const NetworkSpec& /*network*/) {
  return split.pp > 1 || split.chunks > 1;
}

bool is_scheduled(const Split& split, const RunWishes& /*told*/, const NetworkSpec& /*network*/) {
  if (split.pp > 1) return true;
  const auto kind = find_schedule(split.schedule);
  if (!kind || (*kind)->peak == nullptr) return true;
  constexpr int some_micro_batches = 4;
  return (*kind)->peak({1, static_cast<int>(split.chunks), some_micro_batches}, 0) > 1;
}

bool keeps_to_cap(const Split& split, const RunWishes& /*told*/, const NetworkSpec& /*network*/) {
  const auto kind = find_schedule(split.schedule);
  return !kind || (*kind)->takes_cap;
}

bool splits_tensors(const Split& split, const RunWishes& /*told*/, const NetworkSpec& /*network*/) {
  return split.tp > 1;
}

bool splits_context(const Split& split, const RunWishes& /*told*/, const NetworkSpec& /*network*/) {
  return split.cp > 1;
}

bool has_experts(const Split& /*split*/, const RunWishes& /*told*/, const NetworkSpec& network) {
  return network.experts.count > 0;
}

bool has_axes(const Split& split, const RunWishes& /*told*/, const NetworkSpec& /*network*/) {
  const auto sizes = {split.tp, split.cp, split.dp, split.pp};
  return std::ranges::count_if(sizes, [](std::int64_t ranks) { return ranks > 1; }) > 1;
}

bool has_shards(const Split& split, const RunWishes& /*told*/, const NetworkSpec& /*network*/) {
  return split.dp * split.cp > 1 || (split.experts && split.edp() > 1);
}

bool keeps_shards(const Split& split, const RunWishes& /*told*/, const NetworkSpec& /*network*/) {
  return split.zero > 0;
}

bool reduces_gradients(const Split& split, const RunWishes& told, const NetworkSpec& network) {
  return has_shards(split, told, network) || split.sequence;
}

bool gathers_weights(const Split& split, const RunWishes& told, const NetworkSpec& network) {
  return has_shards(split, told, network) && keeps_shards(split, told, network);
}

bool moves_in_layers(const Split& split, const RunWishes& /*told*/, const NetworkSpec& /*network*/) {
  return split.tp > 1 || split.cp > 1 || split.ep > 1 || split.etp > 1;
}

bool sends_repeated(const Split& split, const RunWishes& /*told*/, const NetworkSpec& /*network*/) {
  return crosses_repeated(split);
}

bool gathers_again(const Split& split, const RunWishes& /*told*/, const NetworkSpec& /*network*/) {
  return keeps_gathers(split);
}

}  // namespace stepcast::run
