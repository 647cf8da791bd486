#include "calibrate/verdict/verdict.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "calibrate/measure/roofs.h"
#include "calibrate/verdict/distrust.h"
#include "kernels/bench/work.h"
#include "model/base/percentile.h"
#include "model/profile/pass_figures.h"
#include "model/profile/profile_names.h"

namespace stepcast::calibrate {
namespace {

/// As to_text(Work) names it, from what the file holds.
std::string name_of_row(const Measurements& measurements, const Measurement& row) {
  const MeasurementContext& context = measurements.context_of(row);
  std::string name = work_name(row.what);
  if (!context.cache.empty()) name += " " + context.cache;
  if (!context.beside.empty()) name += " beside " + context.beside;
  return context.regime == "sustained" ? name + " sustained" : name;
}

std::vector<RoofVerdict> roof_verdicts(const Measurements& measurements, const Gpu& gpu) {
  std::vector<RoofVerdict> out;
  for (SeenRoof& seen : seen_roofs(measurements, gpu)) {
    const double datasheet = datasheet_rate(seen.roof, gpu);
    out.push_back({std::move(seen.roof), datasheet, work_name(measurements.rows[seen.row].what)});
  }
  return out;
}

/// What a row says of a kernel of ours or of a library beside it: its name, its rate and what bounds it.
struct KernelRate {
  std::string kernel;
  double rate = 0;
  std::vector<std::string> roofs;  ///< the first that was measured counts
};

struct RateOfKernel {
  Seconds time;
  KernelRate operator()(const MemoryQuery& memory) const {
    if (memory.op->group == "copy") return {};  // they are the roofs
    return {std::string(memory.op->id), (bytes_of(memory) / time).value(),
        {"hbm copy", "hbm triad", "hbm read", "hbm write"}};
  }
  KernelRate operator()(const AttentionQuery& attention) const {
    if (attention.pass == AttentionPass::decode)
      return {"attention decode", (bytes_of(attention) / time).value(), {"hbm read", "hbm copy"}};
    const char* pass = attention.pass == AttentionPass::forward    ? "forward"
                       : attention.pass == AttentionPass::backward ? "backward"
                                                                   : "both ways";
    const char* precision = to_text(attention.precision);
    return {fmt::format("attention {} {}", pass, precision),
        (forward_flops_of(attention) * pass_figures(attention.pass).products / time).value(), {precision}};
  }
  template <typename Other> KernelRate operator()(const Other&) const { return {}; }
};

double burst_roof(const std::vector<RoofVerdict>& roofs, const std::string& of) {
  for (const RoofVerdict& verdict : roofs)
    if (verdict.roof.of == of && verdict.roof.regime == "burst") return verdict.roof.rate;
  return 0;
}

KernelShare share_of_roof(KernelRate kernel, const std::vector<RoofVerdict>& roofs, std::string at) {
  KernelShare out{std::move(kernel.kernel), kernel.rate, 0, "", std::move(at)};
  for (std::string& of : kernel.roofs) {
    const double roof = burst_roof(roofs, of);
    if (roof <= 0) continue;
    out.share = kernel.rate / roof;
    out.roof = std::move(of);
    break;
  }
  return out;
}

std::vector<KernelShare> kernel_shares(
    const Measurements& measurements, const Gpu& gpu, const std::vector<RoofVerdict>& roofs) {
  std::map<std::string, KernelShare> best;
  for (const Measurement& row : measurements.rows) {
    const MeasurementContext& context = measurements.context_of(row);
    const bool plain = context.regime == "burst" && context.cache.empty() && context.beside.empty() && !row.throttled;
    if (context.gpu != gpu.id || !plain) continue;
    KernelRate kernel = std::visit(RateOfKernel{row.time}, row.what);
    if (kernel.kernel.empty()) continue;
    const std::string usual = to_text(usual_source(row.what)),
                      whose = context.software.substr(0, context.software.find(' '));
    if (!whose.empty() && whose != usual) kernel.kernel += " by " + whose;
    KernelShare& share = best[kernel.kernel];
    if (kernel.rate > share.rate) share = share_of_roof(std::move(kernel), roofs, work_name(row.what));
  }
  std::vector<KernelShare> out;
  for (auto& [name, share] : best) out.push_back(std::move(share));
  return out;
}

double median_or_zero(const std::vector<double>& values) { return values.empty() ? 0 : percentile(values, 0.5); }

/// How seconds on end compare: the profile's own factor; where the fit had nothing to pair, that of the runs
/// themselves.
void add_sustained(Verdict& verdict, const MeasureResult& result) {
  for (const SlowdownVerdict& slowdown : verdict.slowdowns)
    if (slowdown.what == sustained_law_name) verdict.sustained_slowdown = slowdown.factor;
  std::vector<double> ratios, constants;
  for (const SustainedResult& sustained : result.sustained) {
    if (sustained.work.find(" / ") != std::string::npos) continue;  // several in turn draw less power
    if (sustained.run.burst.value() > 0) ratios.push_back(sustained.run.settled / sustained.run.burst);
    if (sustained.run.time_constant.value() > 0) constants.push_back(sustained.run.time_constant.value());
  }
  if (verdict.sustained_slowdown == 0) verdict.sustained_slowdown = median_or_zero(ratios);
  verdict.time_constant = Seconds(median_or_zero(constants));
}

double drift_of(const std::vector<MeasureResult::Repeated>& repeats) {
  std::vector<double> changes;
  for (const MeasureResult::Repeated& repeat : repeats) changes.push_back(std::abs(repeat.again / repeat.first - 1));
  return median_or_zero(changes);
}

}  // namespace

Verdict verdict_of(
    const MeasureResult& result, const FittedProfile& fitted, const Gpu& gpu, const GpuSettings& settings) {
  const Measurements& measurements = result.measurements;
  Verdict out;
  out.rows = measurements.rows.size();
  out.resumed = result.resumed;
  out.roofs = roof_verdicts(measurements, gpu);
  out.kernels = kernel_shares(measurements, gpu, out.roofs);
  for (const LawFit& fit : fitted.laws) {
    if (fit.held_out.samples > 0) out.laws.push_back(fit);
    else out.slowdowns.push_back({fit.law, fit.bias, fit.samples});
  }
  add_sustained(out, result);
  out.host = host_costs_of(measurements, gpu);
  out.drift = drift_of(result.repeats);
  out.repeats = static_cast<int>(result.repeats.size());
  for (const Measurement& row : measurements.rows)
    if (row.throttled) out.throttled.push_back(name_of_row(measurements, row));
  out.skipped = result.skipped;
  out.distrust = distrust_lines({result, fitted, gpu, settings, out});
  return out;
}

}  // namespace stepcast::calibrate
