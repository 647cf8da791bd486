#include "studies/sweep/price/pricer.h"

#include <algorithm>
#include <utility>

#include "sim/schedule/schedule_table.h"

namespace stepcast::sweep {
namespace {

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

std::unique_ptr<Pricer::Shape>& Pricer::shape_place(const Digits& digits, const LayerCounts* layers) {
  const std::uint64_t index = shape_index(digits);
  if (layers == nullptr) return shapes_[index];
  std::vector<std::int64_t> key{static_cast<std::int64_t>(index)};
  key.insert(key.end(), layers->begin(), layers->end());
  return balanced_shapes_[std::move(key)];
}

// One program of the network says which blocks follow each other, however they lie on stages. Where some layers of each
// stage recompute, that depends on how many a stage has.
std::unique_ptr<Pricer::Shape> Pricer::make_shape(const Digits& digits, const LayerCounts* layers) {
  auto split = points_.split(digits);
  if (!split) return nullptr;
  if (layers != nullptr) split->layers = *layers;
  drop_even_layers(*split);
  const ScheduleKind* const kind = kind_named(split->schedule);
  const auto shape = [&](StageShape laid) {
    return std::make_unique<Shape>(Shape{std::move(laid), shape_count_++, kind, schedule_traits(*kind), {}});
  };
  const bool by_stage = split->recompute.layers > 0;
  const Program* const lowered = by_stage || pattern_ == nullptr ? program(digits) : nullptr;
  if (by_stage) return lowered == nullptr ? nullptr : shape(stage_shape(*lowered));
  if (pattern_ == nullptr) {
    if (lowered == nullptr) return nullptr;
    pattern_ = std::make_unique<ShapePattern>(ShapePattern{stage_shape(*lowered), {}, {}});
    for (const ProgramBlock& block : lowered->blocks) pattern_->is_layer.push_back(block.is_layer ? 1 : 0);
    std::vector<std::int64_t> counts(lowered->blocks.size(), 0);
    for (const Chunk& chunk : lowered->chunks)
      for (const BlockRun& run : chunk.runs) counts[run.block] += run.count;
    for (std::size_t block = 0; block < counts.size(); ++block)
      if (pattern_->is_layer[block] != 0) pattern_->layers.push_back({static_cast<int>(block), counts[block]});
  }
  return shape(laid_shape(*split, kind->own_chunks == 2));
}

/// Virtual stages are dealt round the ranks, or there and back.
StageShape Pricer::laid_shape(const Split& split, bool folded) const {
  const std::int64_t parts = split.pp * split.chunks;
  std::vector<int> rank_of;
  for (std::int64_t part = 0; part < parts; ++part)
    rank_of.push_back(static_cast<int>(folded && part >= split.pp ? parts - 1 - part : part % split.pp));
  const LayerCounts even(static_cast<std::size_t>(parts), points_.network().layers / parts);
  return relaid(pattern_->shape, pattern_->is_layer, static_cast<int>(split.pp), std::move(rank_of),
      split.layers.empty() ? even : split.layers);
}

/// `layers`: of a point whose layout is to be balanced.
Pricer::Shape* Pricer::find_shape(const Digits& digits, const LayerCounts* layers) {
  std::unique_ptr<Shape>& place = shape_place(digits, layers);
  if (place == nullptr) {
    place = make_shape(digits, layers);
    ++parts_;
  }
  return place.get();
}

Pricer::Once* Pricer::find_once(const Digits& digits) {
  Once*& here = once_here_[here_place(digits)];
  if (here != nullptr) return here;
  std::unique_ptr<Once>& part = onces_[once_key(digits, folded(digits), points_.recompute(digits).layers > 0)];
  if (part == nullptr) {
    part = std::make_unique<Once>();
    ++parts_;
    if (const Program* lowered = program(digits)) {
      part->costs = std::make_unique<StepCosts>(*lowered, *points_.setting(digits).cost);
      (void)find_stream(digits);  // while its program is at hand
    }
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
  if (parts_ <= points_.most_parts()) return;
  parts_ = 0;
  shapes_.clear();
  balanced_shapes_.clear();
  held_on_stages_.clear();
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

const Expected<HeldOnStages>& Pricer::find_held_on_stages(const ScheduleKind& kind, const ScheduleSize& settled) {
  auto [on_stages, added] =
      held_on_stages_.try_emplace({&kind, settled.ranks, settled.chunks, settled.micro_batches}, HeldOnStages{});
  if (added) {
    on_stages->second = held_on_stages(kind, settled);
    ++parts_;
  }
  return on_stages->second;
}

/// However its layers are balanced, which is asked by their times. False where a closer look may refuse the point.
bool Pricer::never_fits(const Digits& digits, const Once& once, double asked) {
  if (pattern_ == nullptr || unit_ == nullptr || unit_->memory == nullptr) return false;
  if (points_.recompute(digits).layers > 0) return false;
  const SplitWishes wishes = points_.wishes(digits);
  const Split split = split_of(wishes, points_.network(), points_.stack());
  const ScheduleKind* const kind = kind_named(split.schedule);
  if (kind == nullptr || !schedule_traits(*kind).supported) return false;
  if (points_.network().layers < split.pp * split.chunks) return false;
  const Stack& stack = points_.setting(digits).scenario.stack.row;
  if (makes_gradients(stack, split.micro_batches)) return false;
  ScheduleSize size{
      static_cast<int>(split.pp), static_cast<int>(split.chunks), static_cast<int>(split.micro_batches), 0};
  size.micro_batches = settled_micro_batches(*kind, size);
  const Expected<HeldOnStages>& held = find_held_on_stages(*kind, size);
  if (!held) return false;
  const Bytes tensors(least_tensor_bytes(*unit_->memory, *once.costs, *held, pattern_->layers));
  return rank_memory(tensors, stack).peak.value() > asked;
}

// More micro-batches than an order needs to settle change nothing, and an order does not depend on what its stages are
// made of: shapes of one size share it, so that few are made.
bool Pricer::find_held(ScheduleSize size) {
  size.micro_batches = settled_micro_batches(*shape_->kind, size);
  const auto known = shape_->held.find(size.micro_batches);
  if (known != shape_->held.end()) {
    held_ = &known->second;
    return true;
  }
  const Expected<HeldOnStages>& on_stages = find_held_on_stages(*shape_->kind, size);
  if (!on_stages) return false;
  held_ = &shape_->held.emplace(size.micro_batches, held_units(shape_->shape, *on_stages)).first->second;
  ++parts_;
  return true;
}

bool Pricer::enter_shape(const Digits& digits, const LayerCounts* layers) {
  timed_ = false;
  shape_ = find_shape(digits, layers);
  if (unit_ == nullptr || unit_->memory == nullptr || shape_ == nullptr || !shape_->traits.supported) return false;
  const Space& space = points_.space();
  const std::int64_t gpus = space.number(digits, AxisId::gpus), micro_batch = space.number(digits, AxisId::micro_batch);
  const std::int64_t ways =
      space.number(digits, AxisId::tp) * space.number(digits, AxisId::cp) * space.number(digits, AxisId::pp);
  const std::int64_t micro_batches = space.global_batch / (micro_batch * (gpus / ways));
  micro_batches_ = static_cast<double>(micro_batches);
  const ScheduleSize size{
      shape_->shape.ranks, shape_->shape.stages() / shape_->shape.ranks, static_cast<int>(micro_batches), 0};
  // Gradients are in the part of a step; the walk through a micro-batch that they are made in has no sizes of them.
  if (makes_gradients(points_.setting(digits).scenario.stack.row, micro_batches) || !find_held(size)) return false;
  lay_memory(*unit_->memory, shape_->shape, memory_on_shape_);
  return true;
}

void Pricer::time_shape(const Digits& digits, const Once& once) {
  const bool blocking = points_.setting(digits).scenario.stack.row.boundary_sends == Manners::blocking;
  const double hop =
      once.costs->hop(find_stream(digits), static_cast<double>(points_.space().number(digits, AxisId::micro_batch)));
  if (unit_->costs == nullptr) unit_ = points_.blocks().timed_unit(digits);
  lay_units(*unit_->costs, shape_->shape, on_shape_);
  pipeline_ = bound_pipeline(on_shape_, *held_, shape_->traits, hop, blocking, micro_batches_);
}

FastPrice Pricer::price(const Digits& digits, AxisId last_changed, MemoryLimits limits) {
  if (!boundable_) return {};
  make_room();
  if (last_changed <= AxisId::recompute) forget_here();
  stale_ = std::min(stale_, last_changed);
  if (least_peak(digits) > limits.asked) return {.bounded = true, .too_large = true};
  const AxisId changed = std::exchange(stale_, AxisId::count_);
  const auto* const before = unit_.get();
  if (changed <= AxisId::micro_batch || units_vary_inside_) unit_ = points_.blocks().unit(digits);
  // Balanced layers may lie otherwise where sharding changes.
  laid_ = laid_ && changed > AxisId::layout && unit_.get() == before && !points_.balances_layers(digits);
  Once& once = *find_once(digits);
  if (!once.exists()) return {};
  if (points_.balances_layers(digits)) {
    if (never_fits(digits, once, limits.asked)) return {.bounded = true, .too_large = true};
    if (limits.layers_open)
      if (const auto open = price_open_layers(digits, once, limits)) return *open;
    const auto layers = points_.balanced(digits);
    return layers && enter_shape(digits, &*layers) ? price_shape(digits, once, limits) : FastPrice{};
  }
  if (!std::exchange(laid_, true)) bounded_ = enter_shape(digits, nullptr);
  return bounded_ ? price_shape(digits, once, limits) : FastPrice{};
}

/// Nothing where one choice is left, or it must be known.
std::optional<FastPrice> Pricer::price_open_layers(const Digits& digits, Once& once, MemoryLimits limits) {
  if (points_.recompute(digits).layers > 0) return std::nullopt;
  const auto choices = points_.blocks().balanced_choices(digits);
  if (!choices || choices->size() == 1) return std::nullopt;
  std::optional<FastPrice> least;
  std::size_t fitting = 0, too_large = 0;
  for (const LayerCounts& layers : *choices) {
    if (!enter_shape(digits, &layers)) return std::nullopt;
    const FastPrice price = price_shape(digits, once, limits);
    fitting += price.memory_bytes <= limits.fits ? 1 : 0;
    too_large += price.memory_bytes > limits.asked ? 1 : 0;
    if (!least) least = price;
    least->step_s = std::min(least->step_s, price.step_s);
    least->memory_bytes = std::min(least->memory_bytes, price.memory_bytes);
    least->kernel_s = std::min(least->kernel_s, price.kernel_s);
  }
  if (too_large == choices->size()) return FastPrice{.bounded = true, .too_large = true};
  return fitting == choices->size() ? least : std::nullopt;
}

FastPrice Pricer::price_shape(const Digits& digits, Once& once, MemoryLimits limits) {
  const OnceOnShape& once_here = once_on(once);
  FastPrice price{.bounded = true};
  const Bytes tensors(tensor_bytes(memory_on_shape_, once_here, *held_));
  price.memory_bytes = rank_memory(tensors, points_.setting(digits).scenario.stack.row).peak.value();
  if (price.memory_bytes > limits.fits) return price;
  if (!std::exchange(timed_, true)) time_shape(digits, once);
  price.step_s = bound_step(on_shape_, once_here, pipeline_, shape_->traits, micro_batches_);
  price.kernel_s = on_shape_.compute * micro_batches_ / shape_->shape.ranks;
  return price;
}

}  // namespace stepcast::sweep
