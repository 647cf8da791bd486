// Timed kernels beside the forecast ones: rows of a measurement file that are operators of this run, and the rest.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/profile/pass_figures.h"
#include "studies/roofline/figures/measured_match.h"
#include "studies/roofline/figures/operator_points.h"
#include "studies/roofline/figures/operator_traffic.h"
#include "studies/roofline/figures/roof_checks.h"

namespace stepcast::roofline {
namespace {

// --- what a row timed ---

/// FLOPs, device-memory bytes and words of a query; empty kind: no kernel.
struct TimedKernel {
  std::string kind, shape;
  Precision precision = Precision::bf16;
  Flops flops;
  Bytes hbm;
};

const char* query_layout_text(GemmLayout layout) {
  static constexpr const char* texts[] = {"", ", nn", ", nt"};
  return texts[static_cast<std::size_t>(layout)];
}

Precision element_type(double element_bytes) {
  if (element_bytes >= 4) return Precision::fp32;
  return element_bytes >= 2 ? Precision::bf16 : Precision::fp8;
}

class KernelOf {
 public:
  explicit KernelOf(const Gpu& gpu) : gpu_(gpu) {}

  TimedKernel operator()(const GemmQuery& g) const {
    KernelWork work;
    work.kernel = KernelClass::gemm;
    work.m = g.m, work.n = g.n, work.k = g.k, work.batch = g.batch;
    work.element_bytes = operand_bytes(g.precision);
    work.bytes = bytes_of(g);
    const WorkParts parts{g.precision, work.element_bytes, work.bytes, cast_bytes_of(g), Seconds()};
    return {"gemm",
        fmt::format("{:.0f} x {:.0f} x {:.0f}{}{}{}{}", g.m, g.n, g.k,
            g.batch > 1 ? fmt::format(", {:.0f} times", g.batch) : "", query_layout_text(g.layout),
            g.block_scaled ? ", block-scaled" : "", g.casts_x ? ", with the cast of x" : ""),
        g.precision, flops_of(g), operator_traffic(work, parts, gpu_).hbm};
  }

  TimedKernel operator()(const AttentionQuery& a) const {
    const PassFigures& pass = pass_figures(a.pass);
    return {"attention",
        fmt::format("{:.0f} x {:.0f} queries, {:.0f} keys, {:.0f} heads of {:.0f} ({:.0f} of keys), {}{}", a.batch,
            a.queries, a.keys, a.heads, a.head_dim, a.kv_heads, pass.name, a.causal ? "" : ", not causal"),
        a.precision, forward_flops_of(a) * pass.products, bytes_of(a) * pass.tensors};
  }

  TimedKernel operator()(const MoeQuery& m) const {
    return {"experts",
        fmt::format(
            "{:.0f} tokens, {:.0f} experts of {:.0f} x {:.0f}, {:.0f} of them each, {:.0f} x {:.0f} ways, skew {:.3g}",
            m.tokens, m.experts, m.hidden, m.inter, m.topk, m.tensor_ways, m.expert_ways, m.skew),
        m.precision, flops_of(m), bytes_of(m)};
  }

  TimedKernel operator()(const MemoryQuery& m) const {
    return {std::string(m.op->id), fmt::format("{:.0f} x {:.0f}", m.rows, m.columns), element_type(m.element_bytes),
        Flops(), bytes_of(m)};
  }

  template <typename Other> TimedKernel operator()(const Other&) const { return {}; }

 private:
  const Gpu& gpu_;
};

bool is_kernel_query(const Query& query) {
  return std::holds_alternative<GemmQuery>(query) || std::holds_alternative<AttentionQuery>(query) ||
         std::holds_alternative<MoeQuery>(query) || std::holds_alternative<MemoryQuery>(query);
}

Seconds median_row_time(std::vector<Seconds> times) {
  const std::size_t half = times.size() / 2;
  std::sort(times.begin(), times.end());
  return times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
}

/// Rows of one point or of one loose kernel.
struct TimedRows {
  std::vector<Seconds> times;
  const MeasurementContext* first = nullptr;
  TimedKernel kernel;

  void add(const Measurement& row, const MeasurementContext& context) {
    if (times.empty()) first = &context;
    times.push_back(row.time);
  }
};

class RowPlacer {
 public:
  RowPlacer(const Measurements& measurements, const std::string& where, const Gpu& gpu, const Roofs& roofs,
      std::vector<OperatorPoint>& points)
      : measurements_(measurements), where_(where), gpu_(gpu), roofs_(roofs), points_(points),
        of_point_(points.size()) {}

  Expected<PlacedRows> place() {
    for (const Measurement& row : measurements_.rows) place_row(row);
    if (placed_ == 0) return nothing_placed();
    for (std::size_t i = 0; i < points_.size(); ++i)
      if (!of_point_[i].times.empty()) set_measured(points_[i], of_point_[i]);
    PlacedRows out;
    for (const auto& [key, rows] : loose_) out.loose.push_back(loose_point(rows));
    std::stable_sort(
        out.loose.begin(), out.loose.end(), [](const LoosePoint& a, const LoosePoint& b) { return a.time > b.time; });
    out.notes = notes();
    return out;
  }

 private:
  const MeasurementContext& context_of(const Measurement& row) const {
    return measurements_.contexts.at(static_cast<std::size_t>(row.context));
  }

  void place_row(const Measurement& row) {
    const MeasurementContext& context = context_of(row);
    if (!is_kernel_query(row.what)) return void(++no_kernels_);
    if (!context.gpu.empty() && context.gpu != gpu_.id) return other_gpus_.insert(context.gpu), void(++of_others_);
    // sustained runs are meant to pull clocks down
    if (row.throttled && context.regime != "sustained") return void(++throttled_);
    if (!context.beside.empty()) return void(++beside_);
    if (!context.cache.empty()) return void(++warm_);
    ++placed_;
    bool found = false;
    for (std::size_t i = 0; i < points_.size(); ++i)
      if (is_same_kernel(row.what, points_[i])) of_point_[i].add(row, context), found = true;
    if (!found) add_loose(row, context);
  }

  void add_loose(const Measurement& row, const MeasurementContext& context) {
    TimedKernel kernel = std::visit(KernelOf(gpu_), row.what);
    TimedRows& rows = loose_[{kernel.kind, kernel.shape, kernel.precision}];
    rows.add(row, context);
    rows.kernel = std::move(kernel);
  }

  [[nodiscard]] std::string source_of(const TimedRows& rows) const {
    const std::string& software = rows.first->software;
    return software.empty() ? where_ : fmt::format("{}, {}", software, where_);
  }

  void set_measured(OperatorPoint& point, const TimedRows& rows) const {
    MeasuredPoint measured;
    measured.time = median_row_time(rows.times);
    measured.rows = static_cast<int>(rows.times.size());
    measured.source = source_of(rows);
    measured.rate = point.flops / measured.time;
    const RoofPoint placed{
        point.precision, point.intensity(MemoryLevel::hbm), measured.rate, point.hbm / measured.time};
    measured.share_of_roof = share_of_roof(roofs_, placed);
    if (const std::string above = above_roof(roofs_, placed); !above.empty())
      point.warning += fmt::format("{}as measured {}", point.warning.empty() ? "" : "; ", above);
    point.measured = std::move(measured);
  }

  [[nodiscard]] LoosePoint loose_point(const TimedRows& rows) const {
    LoosePoint point;
    point.kind = rows.kernel.kind;
    point.shape = rows.kernel.shape;
    point.source = source_of(rows);
    if (rows.times.size() > 1) point.source += fmt::format(", median of {} rows", rows.times.size());
    point.precision = roofs_.limiting(rows.kernel.precision);
    point.flops = rows.kernel.flops;
    point.hbm = rows.kernel.hbm;
    point.time = median_row_time(rows.times);
    point.rate = point.flops / point.time;
    if (point.hbm.value() > 0) point.flops_per_byte = (point.flops / point.hbm).value();
    const RoofPoint placed{point.precision, point.flops_per_byte, point.rate, point.hbm / point.time};
    point.share_of_roof = share_of_roof(roofs_, placed);
    point.outside = outside_frame(roofs_.frame, point.flops_per_byte, point.rate);
    point.warning = above_roof(roofs_, placed);
    return point;
  }

  // --- what was left out ---

  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    const auto add = [&](std::size_t count, const std::string& why) {
      if (count > 0) notes.push_back(fmt::format("{} {} {}", count, count == 1 ? "row" : "rows", why));
    };
    add(throttled_, "with clocks pulled down left out");
    add(beside_, "with something else on the GPU left out");
    add(warm_, "out of a warm L2 left out: their bytes did not come from device memory");
    add(of_others_, fmt::format("of other GPUs left out: {}", fmt::join(other_gpus_, ", ")));
    add(no_kernels_, "of collectives, copies and launches: no kernels under these roofs");
    return notes;
  }

  [[nodiscard]] tl::unexpected<Error> nothing_placed() const {
    if (of_others_ == 0 || throttled_ + beside_ + warm_ > 0)
      return fail(where_, fmt::format("no row of a kernel on {} that can be shown{}", gpu_.id, reasons()),
          "what stepcast calibrate measure or import wrote of this GPU");
    return fail(where_,
        fmt::format("no row is of a kernel on {}: its kernels ran on {}", gpu_.id, fmt::join(other_gpus_, ", ")),
        "a file of this GPU, or a machine with that one");
  }
  [[nodiscard]] std::string reasons() const {
    const std::vector<std::string> all = notes();
    return all.empty() ? std::string() : fmt::format(" ({})", fmt::join(all, "; "));
  }

  const Measurements& measurements_;
  const std::string& where_;
  const Gpu& gpu_;
  const Roofs& roofs_;
  std::vector<OperatorPoint>& points_;
  std::vector<TimedRows> of_point_;
  std::map<std::tuple<std::string, std::string, Precision>, TimedRows> loose_;
  std::set<std::string> other_gpus_;
  std::size_t placed_ = 0, throttled_ = 0, beside_ = 0, warm_ = 0, of_others_ = 0, no_kernels_ = 0;
};

}  // namespace

Expected<PlacedRows> place_measured(const Measurements& measurements, const std::string& where, const Gpu& gpu,
    const Roofs& roofs, std::vector<OperatorPoint>& points) {
  return RowPlacer(measurements, where, gpu, roofs, points).place();
}

}  // namespace stepcast::roofline
