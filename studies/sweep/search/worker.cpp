#include "studies/sweep/search/worker.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace stepcast::sweep {
namespace {

// Candidates of a stretch that wait for a closer look; when full they are looked at, so that memory does not grow.
constexpr std::size_t most_candidates = 1 << 16;

constexpr AxisId innermost = static_cast<AxisId>(axis_count - 1);

SweepRow row_at(const Space& space, std::uint64_t index, const Digits& digits, const Figures& figures) {
  SweepRow row{index, {}, figures};
  for (const AxisRow& axis : axis_rows()) row.choices.push_back(space.value(digits, axis.id));
  return row;
}

}  // namespace

Expected<std::unique_ptr<SweepWorker>> SweepWorker::make(SharedSweep& shared) {
  TRY(auto points, SpacePoints::make(shared.space));
  return make(shared, std::make_shared<SpacePoints>(std::move(points)));
}

std::unique_ptr<SweepWorker> SweepWorker::make(SharedSweep& shared, std::shared_ptr<SpacePoints> points) {
  return std::unique_ptr<SweepWorker>(new SweepWorker(shared, std::move(points)));
}

SweepWorker::SweepWorker(SharedSweep& shared, std::shared_ptr<SpacePoints> points)
    : shared_(shared), points_(std::move(points)), legality_(*points_), pricer_(*points_),
      costs_(shared.objective, shared.front, *points_), list_(most_candidates) {
  for (const AxisRow& row : axis_rows()) strides_[static_cast<std::size_t>(row.id)] = shared.space.stride(row.id);
}

Expected<std::optional<Stretch>> SweepWorker::walk(IndexRange range) {
  stretch_ = {range, {}, {}, {}};
  dismissed_.assign(legality_.reasons().size(), 0);
  index_ = range.begin;
  digits_ = shared_.space.digits(index_);
  changed_ = unpriced_ = AxisId{};
  std::uint64_t steps = 0;
  while (index_ < range.end) {
    if ((++steps & 1023) == 0 && shared_.options.stop && shared_.options.stop()) return std::nullopt;
    const Legality::Verdict verdict = legality_.ask(digits_, changed_);
    if (verdict.reason >= 0) {
      const std::uint64_t from = index_;
      advance(verdict.axis);
      dismiss(verdict, std::min(range.end, index_) - from);
      continue;
    }
    TRY(take_point());
    advance(innermost);
  }
  TRY(look_at_list());
  tell_dismissed();
  stretch_.tally.enumerated = range.size();
  stretch_.work.lowered = pricer_.lowered() - lowered_before_;
  lowered_before_ = pricer_.lowered();
  if (shared_.options.stop && shared_.options.stop()) return std::nullopt;
  return std::move(stretch_);
}

/// To the next number that differs on `axis` or outside of it.
void SweepWorker::advance(AxisId axis) {
  index_ = (index_ / strides_[static_cast<std::size_t>(axis)] + 1) * strides_[static_cast<std::size_t>(axis)];
  if (index_ >= stretch_.range.end) return;
  for (std::size_t inner = static_cast<std::size_t>(axis) + 1; inner < axis_count; ++inner) digits_[inner] = 0;
  std::size_t at = static_cast<std::size_t>(axis);
  while (++digits_[at] == shared_.space.values[at].size()) digits_[at--] = 0;
  changed_ = static_cast<AxisId>(at);
  unpriced_ = std::min(unpriced_, changed_);
}

void SweepWorker::dismiss(const Legality::Verdict& verdict, std::uint64_t count) {
  dismissed_[static_cast<std::size_t>(verdict.reason)] += count;
}

void SweepWorker::tell_dismissed() {
  for (std::size_t reason = 0; reason < dismissed_.size(); ++reason)
    if (const std::uint64_t count = std::exchange(dismissed_[reason], 0); count > 0)
      stretch_.tally.illegal[std::string(legality_.reasons()[reason])] += count;
}

Figures SweepWorker::plan_figures(const Digits& digits) const {
  Figures figures{};
  set_plan_figures(points_->wishes(digits), points_->network(), points_->stack(), figures);
  return figures;
}

Where::Answer SweepWorker::ask(const Figures& figures, FigureNeeds known, const Digits& digits) const {
  std::array<std::string_view, axis_count> words;
  for (const AxisRow& axis : axis_rows())
    words[static_cast<std::size_t>(axis.id)] = shared_.space.value(digits, axis.id);
  return shared_.where.ask(figures, known, words);
}

Expected<void> SweepWorker::take_point() {
  if (!shared_.where.empty() && ask(plan_figures(digits_), FigureNeeds::plan, digits_) == Where::Answer::no) {
    ++stretch_.tally.excluded;
    return {};
  }
  const double capacity = points_->setting(digits_).scenario.machine.row.gpu.memory.value();
  const bool layers_open = shared_.where.empty() || shared_.where.needs() < FigureNeeds::memory;
  // A byte more, for misses are compared rounded.
  const FastPrice price = pricer_.price(digits_, unpriced_, {capacity + nearest_miss() + 1, capacity, layers_open});
  unpriced_ = AxisId::count_;
  if (price.too_large) {
    overflow(std::numeric_limits<double>::infinity(), index_);
    return {};
  }
  return price.bounded ? take_bounded(price) : forecast_point(index_, digits_, nullptr);
}

/// Of stretches that have been brought in, and of this one: a stretch that is given up must leave no trace.
double SweepWorker::nearest_miss() const {
  const SweepTally& tally = stretch_.tally;
  const double here = tally.does_not_fit > 0 ? tally.smallest_overflow_bytes : std::numeric_limits<double>::infinity();
  return std::min(here, shared_.smallest_overflow.load(std::memory_order_relaxed));
}

void SweepWorker::overflow(double bytes, std::uint64_t index) {
  SweepTally one;
  one.does_not_fit = 1;
  one.smallest_overflow_bytes = std::round(bytes);
  one.smallest_overflow_index = index;
  stretch_.tally.add(one);
}

Expected<void> SweepWorker::take_bounded(const FastPrice& price) {
  const Setting& setting = points_->setting(digits_);
  const double capacity = setting.scenario.machine.row.gpu.memory.value();
  if (price.memory_bytes > capacity) {
    overflow(price.memory_bytes - capacity, index_);
    return {};
  }
  if (shared_.where.needs() >= FigureNeeds::memory && !shared_.where.empty()) {
    Figures figures = plan_figures(digits_);
    figures[static_cast<std::size_t>(Figure::memory_peak)] = std::round(price.memory_bytes);
    figures[static_cast<std::size_t>(Figure::memory_headroom)] = std::round(capacity - price.memory_bytes);
    if (ask(figures, FigureNeeds::memory, digits_) == Where::Answer::no) {
      ++stretch_.tally.excluded;
      return {};
    }
  }
  if (shared_.options.exhaustive) return forecast_point(index_, digits_, &price);
  ++stretch_.work.priced;
  const Costs costs = costs_.at_least(price, setting);
  if (!shared_.standings.open(costs)) {
    ++stretch_.work.pruned;
    return {};
  }
  list_.add(index_, costs);
  return list_.full() ? look_at_list() : Expected<void>{};
}

Expected<void> SweepWorker::look_at_list() {
  Expected<void> outcome;
  stretch_.work.pruned += list_.look_through(shared_.standings, [&](const Shortlist::Entry& entry) {
    if (shared_.options.stop && shared_.options.stop()) return false;
    const FastPrice least{.bounded = true, .step_s = entry.at_least.of[step_cost]};
    const Digits digits = shared_.space.digits(entry.number);
    outcome = forecast_point(entry.number, digits, &least);
    --stretch_.work.priced;  // forecast_point counts what it prices; this one was counted with its fast price
    return outcome.has_value();
  });
  return outcome;
}

Expected<void> SweepWorker::forecast_point(std::uint64_t index, const Digits& digits, const FastPrice* price) {
  const auto scenario = points_->point(digits);
  const auto prediction =
      scenario ? points_->predict(digits, **scenario) : Expected<Prediction>(tl::unexpected(scenario.error()));
  if (!prediction) {
    // Only points that are always forecast may be refused: what is counted must not depend on what was pruned.
    if (price != nullptr) return tl::unexpected(prediction.error());
    ++stretch_.tally.illegal[fmt::format("the forecast refuses: {}", prediction.error().where)];
    return {};
  }
  const MemoryReport& memory = prediction->step.memory;
  if (!memory.fits) {
    overflow((memory.peak - memory.capacity).value(), index);
    if (price != nullptr) ++stretch_.work.above;  // the fast price said that it fits
    return {};
  }
  const Figures figures =
      figures_of(**scenario, points_->wishes(digits), *prediction, shared_.space.price_per_gpu_hour);
  if (price == nullptr && !shared_.where.empty() && ask(figures, FigureNeeds::memory, digits) == Where::Answer::no) {
    ++stretch_.tally.excluded;
    return {};
  }
  ++stretch_.work.priced;
  ++stretch_.work.refined;
  if (price != nullptr) {
    const double exact = prediction->step.step_time.value(), gap = (exact - price->step_s) / exact;
    stretch_.work.largest_gap = std::max(stretch_.work.largest_gap, gap);
    if (gap < -1e-9) ++stretch_.work.above;
  }
  if (!shared_.where.empty() && ask(figures, FigureNeeds::forecast, digits) != Where::Answer::yes) {
    ++stretch_.work.excluded_late;
    return {};
  }
  shared_.standings.enter(index, costs_.of(figures));
  stretch_.rows.push_back(row_at(shared_.space, index, digits, figures));
  return {};
}

}  // namespace stepcast::sweep
