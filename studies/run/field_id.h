// What a run is told, by number: rules of the split name what they read, sweeps index their axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace stepcast::run {

// clang-format off
enum class FieldId : std::uint8_t {
  // The axes of a sweep in the order of its index, outermost first: what the costly parts of a price depend on stands
  // in front.
  gpus, precision, tp, cp, cp_kind, pp, ep, etp, order, tp_tier, pp_tier, dp_tier, sp, scatter_boundary, save_gathered,
  tp_overlap, recompute, micro_batch, chunks, schedule, layout, zero, replicas, dp_overlap,
  // What has one value in all of a sweep.
  machine, stack, profile, param_overlap, pp_overlap, seq_splits, memory_cap, global_batch, sequence,
  encoder_sequence, images, clips, freeze, masked_share, lora, lora_on,
  attention_flops, nodes, dp, count_,
};
// clang-format on
constexpr std::size_t field_count = static_cast<std::size_t>(FieldId::count_);
/// tp_tier, pp_tier and dp_tier are among them: a space file says with them where an axis lies, in place of an order.
constexpr std::size_t axis_count = static_cast<std::size_t>(FieldId::machine);

class FieldSet {
 public:
  constexpr FieldSet(std::initializer_list<FieldId> ids) {
    for (const FieldId id : ids) bits_ |= bit(id);
  }
  [[nodiscard]] constexpr bool has(FieldId id) const { return (bits_ & bit(id)) != 0; }

 private:
  static constexpr std::uint64_t bit(FieldId id) { return std::uint64_t{1} << static_cast<unsigned>(id); }
  static_assert(field_count <= 64);
  std::uint64_t bits_ = 0;
};

}  // namespace stepcast::run
