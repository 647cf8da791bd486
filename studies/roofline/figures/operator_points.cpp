#include "studies/roofline/figures/operator_points.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "sim/cost.h"
#include "studies/roofline/figures/operator_traffic.h"
#include "studies/roofline/figures/roof_checks.h"
#include "studies/roofline/figures/stage_work.h"

namespace stepcast::roofline {
namespace {

/// By how long their ranks are occupied, longest first: the slowest stage leads.
std::vector<int> stages_by_load(const StepReport& step) {
  std::vector<int> stages(step.timeline.busy.size());
  std::iota(stages.begin(), stages.end(), 0);
  const auto occupied = [&](int stage) {
    return std::pair(stage == step.slowest_stage, (step.timeline.busy[stage] + step.timeline.hop_wait[stage]).value());
  };
  std::stable_sort(stages.begin(), stages.end(), [&](int a, int b) { return occupied(a) > occupied(b); });
  return stages;
}

bool same_numbers(const KernelWork& a, const KernelWork& b) {
  const auto numbers = [](const KernelWork& w) {
    return std::tuple(w.pass, w.kernel, w.m, w.n, w.k, w.batch, w.sequence, w.backward, w.element_bytes, w.keeps_width,
        w.head_dim, w.flops.value(), w.bytes.value(), w.imbalance, w.launches, w.routed);
  };
  return a.label == b.label && numbers(a) == numbers(b);
}

/// Where a point's work stands in the programs, and how often one rank runs it.
struct PointPlace {
  std::size_t block = 0, work = 0;
  int stage = 0;
  double calls = 0;
};

class PointFinder {
 public:
  PointFinder(const Scenario& scenario, const Prediction& prediction, const Roofs& roofs)
      : gpu_(scenario.machine.row.gpu), step_(prediction.step), roofs_(roofs), cost_(cost_model(scenario)),
        stage_work_(scenario, prediction), programs_(stage_work_.programs()) {}

  std::vector<OperatorPoint> find() {
    const std::vector<int> stages = stages_by_load(step_);
    for (const int stage : stages) add_stage(stage);
    std::vector<OperatorPoint> points;
    points.reserve(places_.size() + 2);
    for (const PointPlace& place : places_) points.push_back(point_of(place));
    add_tail(stages, "optimizer", first().bytes_per_optimizer_element, points);
    add_tail(stages, "gradient norm", first().bytes_per_gradient_element, points);
    std::stable_sort(points.begin(), points.end(),
        [](const OperatorPoint& a, const OperatorPoint& b) { return a.total() > b.total(); });
    return points;
  }

 private:
  [[nodiscard]] const Program& first() const { return programs_.front(); }
  [[nodiscard]] const KernelWork& work_of(const PointPlace& place) const {
    return first().blocks[place.block].works[place.work];
  }

  [[nodiscard]] bool same_point(const PointPlace& a, const PointPlace& b) const {
    return first().blocks[a.block].name == first().blocks[b.block].name && same_numbers(work_of(a), work_of(b));
  }

  /// Of a stage only what no heavier one has: embedding and head stand on one each.
  void add_stage(int stage) {
    const std::size_t known = places_.size();
    const std::vector<double> runs = stage_work_.runs(stage);
    for (std::size_t block = 0; block < runs.size(); ++block) {
      if (!(runs[block] > 0)) continue;
      const double calls = runs[block] * static_cast<double>(programs_.size());
      for (std::size_t work = 0; work < first().blocks[block].works.size(); ++work)
        add_place({block, work, stage, calls}, known);
    }
  }

  void add_place(const PointPlace& place, std::size_t known) {
    const auto same =
        std::find_if(places_.begin(), places_.end(), [&](const PointPlace& one) { return same_point(one, place); });
    if (same == places_.end()) places_.push_back(place);
    else if (same - places_.begin() >= static_cast<std::ptrdiff_t>(known)) same->calls += place.calls;
  }

  OperatorPoint point_of(const PointPlace& place) const {
    const KernelWork& work = work_of(place);
    OperatorPoint point;
    point.block = first().blocks[place.block].name;
    point.name = work.label;
    point.kind = point_kind(work);
    point.pass = work.pass;
    point.kernel = work.kernel;
    point.work = work;
    point.shape = shape_of(place);
    point.stage = place.stage;
    point.calls = place.calls;
    const WorkParts parts = add_means(place, point);
    point.precision = roofs_.limiting(parts.precision);
    point.operand_bytes = parts.operand_bytes;
    finish(point, parts.launch);
    return point;
  }

  /// Time, FLOPs and bytes of one call, over slices in the mean; their laws are alike.
  WorkParts add_means(const PointPlace& place, OperatorPoint& point) const {
    const double slices = static_cast<double>(programs_.size());
    for (const Program& program : programs_) {
      const KernelWork& work = program.blocks[place.block].works[place.work];
      const Price price = cost_.work(work);
      const OperatorTraffic traffic = operator_traffic(work, cost_.parts(work), gpu_);
      point.time += price.time / slices;
      point.flops += work.flops / slices;
      point.hbm += traffic.hbm / slices;
      point.l2 += traffic.l2 / slices;
      point.extrapolated = point.extrapolated || price.extrapolated;
      if (&program == &first()) take_law(price, point), point.l2_from = traffic.l2_from;
    }
    return cost_.parts(work_of(place));
  }

  static void take_law(const Price& price, OperatorPoint& point) {
    point.source = price.source;
    point.spread = price.spread;
    point.law = price.law;
  }

  [[nodiscard]] std::string shape_of(const PointPlace& place) const {
    const KernelWork& work = work_of(place);
    switch (work.kernel) {
      case KernelClass::gemm:
        return fmt::format("{:.0f} x {:.0f} x {:.0f}{}", work.m, work.n, work.k,
            work.batch > 1 ? fmt::format(", {:.0f} times", work.batch) : "");
      case KernelClass::attention: {
        const double last = programs_.back().blocks[place.block].works[place.work].sequence;
        const std::string keys =
            last == work.sequence ? fmt::format("{:.0f}", last) : fmt::format("{:.0f} to {:.0f}", work.sequence, last);
        return fmt::format("{} keys, heads of {:.0f}", keys, work.head_dim);
      }
      case KernelClass::scan: return dataflow::shape_text(work.scan);
      case KernelClass::pointwise:
      case KernelClass::lookup: break;
    }
    return format_bytes_decimal(work.bytes);
  }

  /// What follows from time, FLOPs and bytes.
  void finish(OperatorPoint& point, Seconds launch) const {
    point.share = point.total() / step_.step_time;
    if (point.time.value() > 0) {
      point.rate = point.flops / point.time;
      point.bandwidth = point.hbm / point.time;
    }
    const double intensity = point.intensity(MemoryLevel::hbm);
    const RoofPoint placed{point.precision, intensity, point.rate, point.bandwidth};
    point.share_of_roof = share_of_roof(roofs_, placed);
    point.outside = outside_frame(roofs_.frame, intensity, point.rate);
    point.warning = above_roof(roofs_, placed);
    point.bound = bound_of(point, launch);
  }

  [[nodiscard]] std::string bound_of(const OperatorPoint& point, Seconds launch) const {
    const auto over = [](double amount, double rate) { return rate > 0 ? amount / rate : 0; };
    const double l2 = roofs_.measured(MemoryLevel::l2) ? roofs_.bandwidth(MemoryLevel::l2).value() : 0;
    const std::array<std::pair<double, const char*>, 4> parts{
        {{over(point.flops.value(), roofs_.peak(point.precision).value()), "compute"},
            {over(point.hbm.value(), roofs_.bandwidth(MemoryLevel::hbm).value()), to_text(MemoryLevel::hbm)},
            {over(point.l2.value(), l2), to_text(MemoryLevel::l2)}, {launch.value(), "launch"}}};
    return std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
      return a.first < b.first;
    })->second;
  }

  /// A pass over what the fullest rank updates, as the step's tail has it (sim/step/tail.cpp): every element's bytes
  /// once, by the law of memory-bound kernels. `optimizer` is all of that phase; of the clip phase the norm's reading,
  /// not its collectives.
  void add_tail(const std::vector<int>& stages, const char* name, double bytes_per_element,
      std::vector<OperatorPoint>& points) const {
    double most = 0;
    OperatorPoint point;
    for (const int stage : stages)
      if (const double elements = updated_elements(stage); elements > most) most = elements, point.stage = stage;
    const Bytes bytes(most * bytes_per_element);
    if (!(bytes.value() > 0)) return;
    point.block = "step";
    point.name = point.work.label = name;
    point.pass = point.work.pass = Pass::step;
    point.work.bytes = point.hbm = point.l2 = bytes;
    point.work.element_bytes = point.operand_bytes = 4;
    point.l2_from = "each byte once";
    point.kind = point_kind(point.work);
    point.precision = Precision::fp32;
    point.shape = format_bytes_decimal(bytes);
    point.calls = 1;
    const Price price = cost_.memory(bytes);
    point.time = price.time;
    take_law(price, point);
    finish(point, cost_.profile().memory.t0);
    points.push_back(std::move(point));
  }

  [[nodiscard]] double updated_elements(int stage) const {
    const std::vector<double> runs = stage_work_.runs(stage);
    const double passes = static_cast<double>(step_.order.micro_batches) / step_.order.directions;
    double elements = 0;
    for (std::size_t block = 0; block < runs.size(); ++block)
      elements += first().blocks[block].optimizer_elements * (runs[block] / passes);
    return elements;
  }

  const Gpu& gpu_;
  const StepReport& step_;
  const Roofs& roofs_;
  CostModel cost_;
  StageWork stage_work_;
  std::span<const Program> programs_;
  std::vector<PointPlace> places_;
};

}  // namespace

double OperatorPoint::intensity(MemoryLevel level) const {
  const Bytes bytes = level == MemoryLevel::hbm ? hbm : l2;
  return bytes.value() > 0 ? (flops / bytes).value() : 0;
}

std::vector<OperatorPoint> operator_points(const Scenario& scenario, const Prediction& prediction, const Roofs& roofs) {
  return PointFinder(scenario, prediction, roofs).find();
}

}  // namespace stepcast::roofline
