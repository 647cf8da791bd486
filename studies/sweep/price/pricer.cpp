#include "studies/sweep/price/pricer.h"

#include <algorithm>
#include <utility>

#include "sim/schedule/schedule_table.h"

namespace stepcast::sweep {
namespace {

// Parts would otherwise pile up: memory must not grow with the space. A part takes some kilobytes.
constexpr std::size_t most_parts = 32768;

const ScheduleKind* kind_named(const std::string& name) {
  for (const ScheduleKind& kind : schedule_kinds())
    if (kind.id == name) return &kind;
  return nullptr;
}

}  // namespace

Pricer::Pricer(SpacePoints& points) : points_(points), lowered_program_(tl::unexpected(Error{})) {
  const auto& values = points.space().values;
  for (const std::string& name : values[static_cast<std::size_t>(AxisId::schedule)]) kinds_.push_back(kind_named(name));
  const PipelineChoice& pipeline = points.pipeline();
  boundable_ = pipeline.slices == 1 && pipeline.memory_cap == 0;
  SplitWishes sharded;
  for (const std::int64_t stage : points.space().numbers[static_cast<std::size_t>(AxisId::zero)]) {
    sharded.zero = stage;
    units_vary_inside_ = units_vary_inside_ || moves_over_data_ranks(sharded, points.stack());
  }
  for (const ScheduleKind* kind : kinds_) units_vary_inside_ = units_vary_inside_ || (kind != nullptr && kind->pairs);
  const auto count = [&](AxisId axis) { return values[static_cast<std::size_t>(axis)].size(); };
  once_here_.resize(2 * count(AxisId::zero) * count(AxisId::replicas) * count(AxisId::dp_overlap));
  peak_here_.resize(once_here_.size());
  forget_here();
}

/// Does the schedule lay the stages there and back?
bool Pricer::folded(const Digits& digits) const {
  const ScheduleKind* kind = kinds_[static_cast<std::size_t>(digit(digits, AxisId::schedule))];
  return kind != nullptr && kind->own_chunks == 2;
}

std::uint64_t Pricer::shape_index(const Digits& digits) const {
  const auto& values = points_.space().values;
  std::uint64_t index =
      points_.recompute(digits).layers > 0 ? 1 + static_cast<std::uint64_t>(digit(digits, AxisId::recompute)) : 0;
  for (const AxisId axis : {AxisId::pp, AxisId::chunks, AxisId::schedule, AxisId::layout})
    index = index * values[static_cast<std::size_t>(axis)].size() + static_cast<std::uint64_t>(digit(digits, axis));
  return index;
}

const Program* Pricer::program(const Digits& digits) {
  if (program_ != nullptr && program_digits_ == digits) return program_;
  lowered_program_ = points_.step_program(digits);
  program_digits_ = digits;
  program_ = lowered_program_ ? &*lowered_program_ : nullptr;
  ++lowered_;
  return program_;
}

std::shared_ptr<const Program> Pricer::single(
    Family& family, const Digits& digits, const SplitWishes& wishes, const Split& split) {
  const bool spread = spreads_over_data_ranks(wishes, split, points_.stack());
  std::shared_ptr<const Program>& known = family.singles[unit_key(wishes, spread)];
  if (known == nullptr) known = points_.block_program(digits);
  if (known != nullptr) return known;
  ++lowered_;
  if (auto here = points_.program(digits)) known = std::make_shared<const Program>(std::move(*here));
  return known;
}

std::unique_ptr<UnitCosts> Pricer::make_units(
    Family& family, const Digits& digits, const SplitWishes& wishes, const Split& split, double paired) {
  const CostModel& cost = *points_.setting(digits).cost;
  const Program* sized = family.programs != nullptr ? points_.sized(*family.programs, wishes, split) : nullptr;
  if (sized != nullptr) return std::make_unique<UnitCosts>(*sized, family.programs->alike(), cost, paired);
  const auto here = single(family, digits, wishes, split);
  return here == nullptr ? nullptr : std::make_unique<UnitCosts>(*here, here, cost, paired);
}

UnitCosts* Pricer::find_units(const Digits& digits) {
  const SplitWishes wishes = points_.wishes(digits);
  const Split split = split_of(wishes, points_.network(), points_.stack());
  std::unique_ptr<Family>& family = families_[family_key(points_.stack(), digits, wishes, split)];
  if (family == nullptr) {
    family = std::make_unique<Family>();
    family->programs = points_.unit_family(digits, wishes, split);
    parts_ += 16;  // the program that a family keeps is as large as so many of its units
  }
  const double in_pairs = points_.paired(split);
  const bool spread = spreads_over_data_ranks(wishes, split, points_.stack());
  std::unique_ptr<UnitCosts>& units = family->units[unit_key(wishes, spread, in_pairs)];
  if (units == nullptr) {
    units = make_units(*family, digits, wishes, split, in_pairs);
    ++parts_;
  }
  return units.get();
}

std::unique_ptr<Pricer::Shape>* Pricer::shape_place(const Digits& digits) {
  const std::uint64_t index = shape_index(digits);
  if (!points_.balances_layers(digits)) return &shapes_[index];
  const auto layers = points_.balanced(digits);
  if (!layers) return nullptr;
  std::vector<std::int64_t> key{static_cast<std::int64_t>(index)};
  key.insert(key.end(), layers->begin(), layers->end());
  return &balanced_shapes_[std::move(key)];
}

// A layout to be balanced has many shapes with the same blocks: one of them is lowered. Where some layers of each stage
// recompute, which blocks follow each other depends on how many a stage has.
std::unique_ptr<Pricer::Shape> Pricer::make_shape(const Digits& digits) {
  std::unique_ptr<ShapePattern>& pattern = patterns_[shape_index(digits)];
  const bool by_stage = points_.recompute(digits).layers > 0;
  if (pattern == nullptr || by_stage) {
    const Program* lowered = program(digits);
    if (lowered == nullptr) return nullptr;
    const ScheduleKind* kind = kinds_[static_cast<std::size_t>(digit(digits, AxisId::schedule))];
    if (kind == nullptr) kind = kind_named(lowered->schedule);
    pattern = std::make_unique<ShapePattern>();
    pattern->shape = stage_shape(*lowered);
    pattern->kind = kind;
    for (const ProgramBlock& block : lowered->blocks) pattern->is_layer.push_back(block.is_layer ? 1 : 0);
  }
  const auto shape = [&](StageShape laid) {
    return std::make_unique<Shape>(
        Shape{std::move(laid), shape_count_++, pattern->kind, schedule_traits(*pattern->kind), {}});
  };
  if (by_stage || !points_.balances_layers(digits)) return shape(pattern->shape);
  const auto layers = points_.balanced(digits);
  return layers ? shape(relaid(pattern->shape, pattern->is_layer, *layers)) : nullptr;
}

Pricer::Shape* Pricer::find_shape(const Digits& digits) {
  std::unique_ptr<Shape>* place = shape_place(digits);
  if (place == nullptr) return nullptr;
  if (*place == nullptr) {
    *place = make_shape(digits);
    ++parts_;
  }
  return place->get();
}

Pricer::Once* Pricer::find_once(const Digits& digits) {
  Once*& here = once_here_[here_place(digits)];
  if (here != nullptr) return here;
  std::unique_ptr<Once>& part = onces_[once_key(digits, folded(digits), points_.recompute(digits).layers > 0)];
  if (part == nullptr) {
    part = std::make_unique<Once>();
    ++parts_;
    if (const Program* lowered = program(digits))
      part->costs = std::make_unique<StepCosts>(*lowered, *points_.setting(digits).cost);
  }
  return here = part.get();
}

const CrossingStream& Pricer::find_stream(const Digits& digits) {
  std::unique_ptr<CrossingStream>& part = streams_[stream_key(digits, points_.wishes(digits))];
  if (part != nullptr) return *part;
  const Program* lowered = program(digits);
  const double micro_batch = static_cast<double>(points_.space().number(digits, AxisId::micro_batch));
  ++parts_;
  part =
      std::make_unique<CrossingStream>(lowered != nullptr ? crossing_stream(*lowered, micro_batch) : CrossingStream{});
  return *part;
}

double Pricer::least_peak(const Digits& digits) {
  double& here = peak_here_[here_place(digits)];
  if (here >= 0) return here;
  const auto [known, added] = persistent_.try_emplace(persistent_key(digits, folded(digits)), 0.0);
  if (added) {
    ++parts_;
    const Once& once = *find_once(digits);
    const Stack& stack = points_.setting(digits).scenario.stack.row;
    if (once.exists()) known->second = rank_memory(Bytes(once.costs->mean_persistent()), stack).peak.value();
  }
  return here = known->second;
}

/// Of what changes between two points that share all digits up to recomputation: sharding, its copies and overlap, a V
/// or not.
std::size_t Pricer::here_place(const Digits& digits) const {
  std::size_t place = 0;
  for (const AxisId axis : {AxisId::zero, AxisId::replicas, AxisId::dp_overlap})
    place = place * points_.space().values[static_cast<std::size_t>(axis)].size() +
            static_cast<std::size_t>(digit(digits, axis));
  return place * 2 + (folded(digits) ? 1 : 0);
}

void Pricer::forget_here() {
  std::fill(once_here_.begin(), once_here_.end(), nullptr);
  std::fill(peak_here_.begin(), peak_here_.end(), -1.0);
}

void Pricer::make_room() {
  if (parts_ <= most_parts) return;
  families_.clear();
  parts_ = 0;
  shapes_.clear();
  balanced_shapes_.clear();
  patterns_.clear();
  shape_count_ = 0;
  onces_.clear();
  streams_.clear();
  persistent_.clear();
  forget_here();
  unit_ = nullptr;
  shape_ = nullptr;
  laid_ = false;
  stale_ = AxisId{};
}

const OnceOnShape& Pricer::once_on(Once& once) {
  if (once.on_shape.size() <= static_cast<std::size_t>(shape_->number))
    once.on_shape.resize(static_cast<std::size_t>(shape_->number) + 1);
  std::unique_ptr<OnceOnShape>& on = once.on_shape[static_cast<std::size_t>(shape_->number)];
  if (on != nullptr) return *on;
  ++parts_;
  on = std::make_unique<OnceOnShape>(once_on_shape(*once.costs, shape_->shape));
  return *on;
}

// More micro-batches than an order needs to settle change nothing, so that few orders are made.
bool Pricer::find_held(ScheduleSize size) {
  size.micro_batches = settled_micro_batches(*shape_->kind, size);
  const auto known = shape_->held.find(size.micro_batches);
  if (known != shape_->held.end()) {
    held_ = &known->second;
    return true;
  }
  auto held = held_units(shape_->shape, *shape_->kind, size);
  if (!held) return false;
  held_ = &shape_->held.emplace(size.micro_batches, std::move(*held)).first->second;
  ++parts_;
  return true;
}

bool Pricer::enter_shape(const Digits& digits) {
  shape_ = find_shape(digits);
  if (unit_ == nullptr || shape_ == nullptr || !shape_->traits.supported) return false;
  const Space& space = points_.space();
  const std::int64_t gpus = space.number(digits, AxisId::gpus), micro_batch = space.number(digits, AxisId::micro_batch);
  const std::int64_t ways =
      space.number(digits, AxisId::tp) * space.number(digits, AxisId::cp) * space.number(digits, AxisId::pp);
  const std::int64_t micro_batches = space.global_batch / (micro_batch * (gpus / ways));
  micro_batches_ = static_cast<double>(micro_batches);
  const ScheduleSize size{
      shape_->shape.ranks, shape_->shape.stages() / shape_->shape.ranks, static_cast<int>(micro_batches), 0};
  if (!find_held(size)) return false;
  lay_units(*unit_, shape_->shape, on_shape_);
  return true;
}

FastPrice Pricer::price(const Digits& digits, AxisId last_changed, double memory_cap) {
  if (!boundable_) return {};
  make_room();
  if (last_changed <= AxisId::recompute) forget_here();
  stale_ = std::min(stale_, last_changed);
  if (least_peak(digits) > memory_cap) return {.bounded = true, .too_large = true};
  const AxisId changed = std::exchange(stale_, AxisId::count_);
  const UnitCosts* before = unit_;
  if (changed <= AxisId::micro_batch || units_vary_inside_) unit_ = find_units(digits);
  // Balanced layers may lie otherwise where sharding changes.
  laid_ = laid_ && changed > AxisId::layout && unit_ == before && !points_.balances_layers(digits);
  Once& once = *find_once(digits);
  if (!once.exists()) return {};
  if (!laid_) {
    laid_ = true;
    bounded_ = enter_shape(digits);
    if (bounded_) {
      const bool blocking = points_.setting(digits).scenario.stack.row.boundary_sends == Manners::blocking;
      const double hop = once.costs->hop(
          find_stream(digits), static_cast<double>(points_.space().number(digits, AxisId::micro_batch)));
      pipeline_ = bound_pipeline(on_shape_, *held_, shape_->traits, hop, blocking, micro_batches_);
    }
  }
  if (!bounded_) return {};
  const OnceOnShape& once_here = once_on(once);
  FastPrice price;
  price.bounded = true;
  price.step_s = bound_step(on_shape_, once_here, pipeline_, shape_->traits, micro_batches_);
  price.memory_bytes =
      rank_memory(Bytes(tensor_bytes(on_shape_, once_here, *held_)), points_.setting(digits).scenario.stack.row)
          .peak.value();
  price.kernel_s = on_shape_.compute * micro_batches_ / shape_->shape.ranks;
  return price;
}

}  // namespace stepcast::sweep
