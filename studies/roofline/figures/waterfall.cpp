#include "studies/roofline/figures/waterfall.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "studies/roofline/figures/link_groups.h"

namespace stepcast::roofline {
namespace {

constexpr std::string_view fall_sends = "boundary";  // of CollectiveReport, sends between neighbouring stages

/// What the kernels of one rank take, roof by roof.
struct KernelParts {
  Seconds useful, repeated, hbm, l2, rest;
  [[nodiscard]] Seconds sum() const { return useful + repeated + hbm + l2 + rest; }
  void add(const KernelParts& more, double times) {
    for (const auto part :
        {&KernelParts::useful, &KernelParts::repeated, &KernelParts::hbm, &KernelParts::l2, &KernelParts::rest})
      this->*part += more.*part * times;
  }
};

/// As MFU counts them. The gradient of fused attention multiplies its scores again: needed are twice the forward FLOPs.
/// Attention whose scores are written out multiplies the whole square: needed is the causal half, if that is what
/// counts.
double needed_share(const OperatorPoint& point, const std::vector<OperatorPoint>& all, bool causal) {
  if (point.kernel == KernelClass::gemm && point.work.head_dim > 0) return causal ? 0.5 : 1;
  if (point.kernel != KernelClass::attention || !point.work.backward) return 1;
  for (const OperatorPoint& one : all)
    if (one.pass == Pass::forward && one.kernel == KernelClass::attention && one.block == point.block &&
        point.name == one.name + " dX" && one.stage == point.stage)
      return std::min(1.0, 2 * (one.flops / point.flops));
  return 1;
}

/// Recomputation is repeated as a whole; of the rest what several ranks do alike, what padding and masks add, and
/// scores made again.
double useful_share(const OperatorPoint& point, const std::vector<OperatorPoint>& all, bool causal) {
  if (point.pass == Pass::recompute) return 0;
  return point.work.flops.value() > 0
             ? std::min(1.0, point.work.useful / point.work.flops) * needed_share(point, all, causal)
             : 1;
}

/// One call. A kernel priced faster than its roofs, as a table of another clock may have it, has its parts shortened to
/// its time: the point carries a warning, and the bars still sum.
KernelParts parts_of(
    const OperatorPoint& point, const std::vector<OperatorPoint>& all, bool causal, const Roofs& roofs) {
  const auto over = [](double amount, double rate) { return Seconds(rate > 0 ? amount / rate : 0); };
  const Seconds compute = over(point.flops.value(), roofs.peak(point.precision).value());
  const Seconds hbm = over(point.hbm.value(), roofs.bandwidth(MemoryLevel::hbm).value());
  const Seconds l2 =
      roofs.measured(MemoryLevel::l2) ? over(point.l2.value(), roofs.bandwidth(MemoryLevel::l2).value()) : Seconds(0);
  KernelParts parts;
  parts.useful = compute * useful_share(point, all, causal);
  parts.repeated = compute - parts.useful;
  parts.hbm = std::max(Seconds(0), hbm - compute);
  parts.l2 = std::max(Seconds(0), l2 - std::max(compute, hbm));
  const Seconds roof = parts.sum();
  if (roof > point.time) {
    KernelParts shorter;
    shorter.add(parts, point.time / roof);
    return shorter;
  }
  parts.rest = point.time - roof;
  return parts;
}

KernelParts kernel_parts(const std::vector<OperatorPoint>& points, int stage, bool causal, const Roofs& roofs) {
  KernelParts all;
  for (const OperatorPoint& point : points)
    if (point.stage == stage && point.pass != Pass::step) all.add(parts_of(point, points, causal, roofs), point.calls);
  return all;
}

/// Inside the pipeline a rank waits for moves of its blocks and for sends; the rest of the rows stands in the tail's
/// phases.
bool waits_in_pipeline(const Program& program, const CollectiveReport& row) {
  if (row.name == fall_sends) return true;
  const RowMove like = move_of_row(program, row);
  return like.move != nullptr && like.move->when == When::each_micro_batch && row.pass != Pass::step;
}

/// By level of the machine. The rows' shares of the phase: what a chunk waits for at its end names no move, so that
/// they may sum to less than it.
std::vector<Seconds> exposed_by_level(const Machine& machine, const Prediction& prediction) {
  std::vector<Seconds> exposed(machine.levels.size());
  Seconds sum;
  for (const CollectiveReport& row : prediction.step.collectives) {
    if (row.stage != prediction.step.slowest_stage || !waits_in_pipeline(prediction.program, row)) continue;
    exposed[static_cast<std::size_t>(std::max(0, link_level(machine, row.span)))] += row.exposed;
    sum += row.exposed;
  }
  const Seconds phase = prediction.step.phases.exposed_communication;
  for (Seconds& time : exposed) time = sum.value() > 0 ? phase * (time / sum) : Seconds(0);
  if (!(sum.value() > 0)) exposed.front() = phase;
  return exposed;
}

class FallBuilder {
 public:
  FallBuilder(const Scenario& scenario, const Prediction& prediction, const Roofs& roofs)
      : machine_(scenario.machine.row), causal_(scenario.causal_attention), prediction_(prediction),
        phases_(prediction.step.phases), roofs_(roofs) {}

  std::vector<WaterfallBar> bars(const std::vector<OperatorPoint>& points) {
    add_kernels(kernel_parts(points, prediction_.step.slowest_stage, causal_, roofs_));
    add_links();
    add("bubble", "pipeline bubble", "pipeline", "the rank waits for other stages", phases_.bubble);
    add_tail();
    close();
    return std::move(bars_);
  }

 private:
  void add(std::string key, std::string name, const char* group, std::string about, Seconds time) {
    bars_.push_back({std::move(key), std::move(name), std::move(about), group, time});
  }

  /// Prices sum to no more than the pipeline's compute time, but for rounding, which shortens them.
  void add_kernels(const KernelParts& priced) {
    const Seconds busy = phases_.forward + phases_.backward;
    KernelParts parts = priced;
    if (parts.sum() > busy) parts = KernelParts{}, parts.add(priced, busy / priced.sum());
    const Seconds beside = busy - parts.sum();
    add("useful_compute", "model FLOPs at peak", "compute",
        "the FLOPs that the network needs, at the datasheet's peak of each operator's type", parts.useful);
    add("repeated_compute", "repeated FLOPs at peak", "compute",
        "recomputation, also of the scores inside fused attention's backward, work that several ranks do alike, "
        "padding, masked scores; at peak",
        parts.repeated);
    add("hbm", "HBM beyond compute", "memory",
        "by operator: what its bytes of device memory take beyond its FLOPs, at the datasheet's rate", parts.hbm);
    add("l2", "L2 beyond HBM", "memory",
        roofs_.measured(MemoryLevel::l2) ? "by operator: what its bytes between L2 and multiprocessors take beyond both"
                                         : "nobody measured L2 here: what it costs is in the kernels below their roofs",
        parts.l2);
    add("kernels", "kernels below their roofs", "compute",
        "tiles, waves, launches, sustained clocks: what prices add to the roofs", parts.rest);
    add("beside", "slowed kernels", "compute",
        "kernels slowed by moves beside them, or by a host that launches too slowly", std::max(Seconds(0), beside));
  }

  void add_links() {
    const std::vector<Seconds> exposed = exposed_by_level(machine_, prediction_);
    for (std::size_t i = 0; i < exposed.size(); ++i) {
      const std::string& link = machine_.levels[i].name;
      add("exposed_" + link, fmt::format("exposed communication, {}", link), "network",
          fmt::format("the rank waits for moves that cross the {}", link), exposed[i]);
    }
  }

  void add_tail() {
    add("gradient_sync", "gradient sync", "tail", "gradients become whole after the last backward pass",
        phases_.gradient_sync);
    add("clip", "norm and clip", "tail", "the norm of all gradients", phases_.clip);
    add("optimizer", "optimizer", "tail", "one pass over states, gradients and weights", phases_.optimizer);
    add("parameter_gather", "parameter gather", "tail", "updated weights return to where they are used",
        phases_.parameter_gather);
    add("host", "host", "host", "the host's fixed work per step, and the slowest node", phases_.host);
    add("data_wait", "data wait", "host", "the loader, as far as nothing hides it", phases_.data_wait);
    add("host_to_device", "host to device", "host", "token ids and labels", phases_.host_to_device);
  }

  /// Rounding of the sums, in the longest bar.
  void close() {
    Seconds sum;
    for (const WaterfallBar& bar : bars_) sum += bar.time;
    const auto longest = std::max_element(
        bars_.begin(), bars_.end(), [](const WaterfallBar& a, const WaterfallBar& b) { return a.time < b.time; });
    longest->time += prediction_.step.step_time - sum;
  }

  const Machine& machine_;
  const bool causal_;
  const Prediction& prediction_;
  const Phases& phases_;
  const Roofs& roofs_;
  std::vector<WaterfallBar> bars_;
};

}  // namespace

const char* attention_words(const Waterfall& fall) {
  return fall.causal_attention ? "attention counted causal" : "attention counted full";
}

Waterfall waterfall(const Scenario& scenario, const Prediction& prediction, const std::vector<OperatorPoint>& points,
    const Roofs& roofs) {
  Waterfall fall;
  fall.bars = FallBuilder(scenario, prediction, roofs).bars(points);
  fall.step_time = prediction.step.step_time;
  fall.mfu = prediction.mfu;
  fall.hfu = prediction.hfu;
  fall.causal_attention = scenario.causal_attention;
  return fall;
}

}  // namespace stepcast::roofline
