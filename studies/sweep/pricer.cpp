#include "studies/sweep/pricer.h"

#include <algorithm>

namespace stepcast {
namespace {

// Parts of one size after the other would otherwise pile up: memory must not grow with the space. A part takes some kilobytes.
constexpr std::size_t most_parts = 4096;

const ScheduleKind* kind_named(const std::string& name) {
  for (const ScheduleKind& kind : schedule_kinds())
    if (kind.id == name) return &kind;
  return nullptr;
}

/// Ranks between neighbours on an axis.
std::int64_t stride_of(const SplitWishes& wishes, MeshAxis wanted) {
  std::int64_t stride = 1;
  for (const MeshAxis axis : wishes.order) {
    if (axis == wanted) return stride;
    stride *= axis == MeshAxis::tp ? wishes.tp : axis == MeshAxis::cp ? wishes.cp : axis == MeshAxis::dp ? wishes.dp() : wishes.pp;
  }
  return stride;
}

}  // namespace

std::size_t Pricer::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, offset and prime of its 64-bit form
  for (const std::int32_t part : key) hash = (hash ^ static_cast<std::uint32_t>(part)) * 0x100000001b3;
  return hash;
}

Pricer::Pricer(SpacePoints& points) : points_(points), lowered_program_(tl::unexpected(Error{})) {
  for (const std::string& name : points.space().values[static_cast<std::size_t>(AxisId::schedule)]) kinds_.push_back(kind_named(name));
  for (const std::string& statement : points.stack().statements)
    implied_homes_ = implied_homes_ || !statement.starts_with("home boundary:");
}

// What a micro-batch costs in a block follows from how the block is split and where its groups lie. Data ranks matter where
// weights are kept in shards over them, pipeline stages only by being one or several (a tied embedding, sends).
Pricer::Key Pricer::unit_key(const Digits& digits, const SplitWishes& wishes, const Split& split) const {
  using enum AxisId;
  Key key{};
  std::size_t at = 0;
  for (const AxisId axis : {gpus, precision, tp, cp, cp_kind, ep, etp, sp, scatter_boundary, save_gathered, tp_overlap, recompute, micro_batch})
    key[at++] = digit(digits, axis);
  const bool by_all_ranks = split.zero == 3 || implied_homes_ || (split.experts && wishes.order != usual_order);
  key[at++] = split.pp > 1;
  key[at++] = by_all_ranks ? 1 + digit(digits, zero) : 0;
  key[at++] = by_all_ranks ? digit(digits, pp) : 0;
  key[at++] = by_all_ranks ? digit(digits, order) : 0;
  key[at++] = by_all_ranks ? 4 * digit(digits, tp_tier) + 2 * digit(digits, pp_tier) + digit(digits, dp_tier) : 0;
  key[at++] = static_cast<std::int32_t>(stride_of(wishes, MeshAxis::tp));
  key[at++] = static_cast<std::int32_t>(stride_of(wishes, MeshAxis::cp));
  return key;
}

Pricer::Key Pricer::once_key(const Digits& digits) const {
  using enum AxisId;
  Key key{};
  std::size_t at = 0;
  for (const AxisId axis : {gpus, precision, tp, cp, cp_kind, pp, ep, etp, order, tp_tier, pp_tier, dp_tier, sp, zero, dp_overlap})
    key[at++] = digit(digits, axis);
  // Layers that are not recomputed are blocks of their own, so that the blocks' numbers differ.
  key[at++] = points_.wishes(digits).recompute.layers > 0;
  return key;
}

Pricer::Key Pricer::shape_key(const Digits& digits) const {
  using enum AxisId;
  Key key{};
  std::size_t at = 0;
  for (const AxisId axis : {pp, chunks, schedule, layout}) key[at++] = digit(digits, axis);
  const Recompute recomputed = points_.wishes(digits).recompute;
  key[at++] = recomputed.layers > 0 ? 1 + digit(digits, recompute) : 0;
  return key;
}

const Program* Pricer::program(const Digits& digits) {
  if (program_ != nullptr && program_digits_ == digits) return program_;
  lowered_program_ = points_.program(digits);
  program_digits_ = digits;
  program_ = lowered_program_ ? &*lowered_program_ : nullptr;
  ++lowered_;
  return program_;
}

UnitCosts* Pricer::find_units(const Digits& digits) {
  const SplitWishes wishes = points_.wishes(digits);
  const Split split = split_of(wishes, points_.network(), points_.stack());
  std::unique_ptr<UnitCosts>& part = units_[unit_key(digits, wishes, split)];
  if (part == nullptr)
    if (const Program* lowered = program(digits)) part = std::make_unique<UnitCosts>(*lowered, *points_.setting(digits).cost);
  return part.get();
}

Pricer::Shape* Pricer::find_shape(const Digits& digits) {
  const int number = static_cast<int>(shapes_.size());
  std::unique_ptr<Shape>& part = shapes_[shape_key(digits)];
  if (part == nullptr)
    if (const Program* lowered = program(digits)) part = std::make_unique<Shape>(Shape{stage_shape(*lowered), number, {}});
  return part.get();
}

Pricer::Once* Pricer::find_once(const Digits& digits) {
  std::unique_ptr<Once>& part = onces_[once_key(digits)];
  if (part == nullptr) {
    part = std::make_unique<Once>();
    if (const Program* lowered = program(digits)) part->costs = std::make_unique<StepCosts>(*lowered, *points_.setting(digits).cost);
  }
  return part.get();
}

void Pricer::make_room() {
  if (units_.size() <= most_parts && shapes_.size() <= most_parts && onces_.size() <= most_parts) return;
  units_.clear();
  shapes_.clear();
  onces_.clear();
}

const OnceOnShape& Pricer::once_on(Once& once) {
  if (once.on_shape.size() <= static_cast<std::size_t>(shape_->number)) once.on_shape.resize(static_cast<std::size_t>(shape_->number) + 1);
  std::unique_ptr<OnceOnShape>& on = once.on_shape[static_cast<std::size_t>(shape_->number)];
  if (on == nullptr) on = std::make_unique<OnceOnShape>(once_on_shape(*once.costs, shape_->shape));
  return *on;
}

void Pricer::enter_shape(const Digits& digits) {
  shape_ = find_shape(digits);
  bounded_ = unit_ != nullptr && shape_ != nullptr && once_->exists();
  if (!bounded_) return;
  const SplitWishes wishes = points_.wishes(digits);
  const Split split = split_of(wishes, points_.network(), points_.stack());
  kind_ = kinds_[static_cast<std::size_t>(digit(digits, AxisId::schedule))];
  if (kind_ == nullptr) kind_ = kind_named(split.schedule);
  traits_ = schedule_traits(*kind_);
  bounded_ = traits_.supported && !points_.balances_layers(digits);
  if (!bounded_) return;
  on_shape_ = units_on_shape(*unit_, shape_->shape);
  micro_batches_ = static_cast<double>(split.micro_batches);
  const auto known = shape_->held.find(split.micro_batches);
  if (known != shape_->held.end()) {
    held_ = &known->second;
  } else {
    auto held = held_units(shape_->shape, *kind_, {static_cast<int>(split.pp), static_cast<int>(split.chunks), static_cast<int>(split.micro_batches), 0});
    bounded_ = held.has_value();
    if (bounded_) held_ = &shape_->held.emplace(split.micro_batches, std::move(*held)).first->second;
  }
  if (bounded_) enter_pipeline(digits);
}

void Pricer::enter_pipeline(const Digits& digits) {
  const bool blocking = points_.setting(digits).scenario.stack.row.boundary_sends == Manners::blocking;
  const double hop = shape_->shape.ranks > 1 ? once_->costs->send(unit_->edge_bytes()) + unit_->edge_gather() : 0;
  pipeline_ = bound_pipeline(on_shape_, traits_, hop, blocking, micro_batches_);
}

FastPrice Pricer::price(const Digits& digits, AxisId changed) {
  if (changed <= AxisId::micro_batch) {
    make_room();
    unit_ = find_units(digits);
  }
  once_ = find_once(digits);
  if (changed <= AxisId::layout) enter_shape(digits);
  if (!bounded_ || !once_->exists()) return {};
  const OnceOnShape& once = once_on(*once_);
  FastPrice price;
  price.bounded = true;
  price.step_s = bound_step(on_shape_, once, pipeline_, traits_, micro_batches_);
  price.memory_bytes = rank_memory(Bytes(tensor_bytes(on_shape_, once, *held_)), points_.setting(digits).scenario.stack.row).peak.value();
  price.kernel_s = on_shape_.compute * micro_batches_ / shape_->shape.ranks;
  return price;
}

}  // namespace stepcast
