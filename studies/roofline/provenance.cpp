// The box beside a report: on what its figures rest.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/profile/collective_law.h"
#include "model/base/quantity_text.h"
#include "model/profile/kernel_law.h"
#include "model/version.h"
#include "studies/roofline/report.h"

namespace stepcast::roofline {
namespace {

const char* const not_recorded = "not recorded";

std::string box_value(const std::string& value) { return value.empty() ? not_recorded : value; }

std::string box_clocks(const Conditions& conditions) {
  if (conditions.sm_clock_mhz <= 0 && conditions.memory_clock_mhz <= 0) return not_recorded;
  const auto mhz = [](double value) {
    return value > 0 ? fmt::format("{:.0f} MHz", value) : std::string(not_recorded);
  };
  return fmt::format("SM {}, memory {}", mhz(conditions.sm_clock_mhz), mhz(conditions.memory_clock_mhz));
}

/// Measured over the law's time, 10th to 90th percentile; of nothing measured, what is believed.
std::string box_interval(const Spread& spread) {
  if (spread.p10 == 1 && spread.p90 == 1) return "";
  return fmt::format("; 80 % of times lie at {:.3g} to {:.3g} of it", spread.p10, spread.p90);
}

/// How sure a law is as steps take it: with its correction only where the law's row says so.
std::string box_error(const LawError& kept, const Refinement& refinement) {
  const LawError with{refinement.held_out.mape, refinement.held_out.samples}, alone = error_alone(kept, refinement);
  switch (refinement.use) {
    case CorrectionUse::kernels_and_steps:
      return with.samples > 0 ? to_text(with) + ", with its correction" : "sample count not recorded";
    case CorrectionUse::kernels:
      if (alone.samples > 0) return to_text(alone) + ", without the correction that single kernels get";
      return with.samples > 0
                 ? fmt::format("its error without the correction that single kernels get was not kept (with it: {})",
                       to_text(with))
                 : "sample count not recorded";
    case CorrectionUse::none: break;
  }
  return alone.samples > 0 ? to_text(alone) : "sample count not recorded";
}

template <typename Law> std::string box_law(const Law& law) {
  const bool corrected = law.refinement.use == CorrectionUse::kernels_and_steps;
  return fmt::format("{}{}; {}", to_text(law.source), box_interval(corrected ? law.refinement.spread : law.spread),
      box_error(law.alone, law.refinement));
}

std::string curve_error_text(const CollectiveCurve& curve) {
  std::string text = fmt::format("{}{}", to_text(curve.source), box_interval(curve.spread));
  if (!curve.points.empty()) text += fmt::format(", {} sizes", curve.points.size());
  if (curve.held_out.samples > 0)
    text += fmt::format("; {} samples held out: {:.1f} % off in the mean (MAPE), {:.1f} % at the 95th percentile",
        curve.held_out.samples, 100 * curve.held_out.mape, 100 * curve.held_out.p95);
  return text;
}

class ProvenanceWriter {
 public:
  ProvenanceWriter(const Scenario& scenario, const Prediction& prediction)
      : scenario_(scenario), profile_(scenario.profile.row), prediction_(prediction), cost_(cost_model(scenario)) {}

  Provenance write() {
    circumstances();
    laws();
    curves();
    conventions();
    sources();
    assumptions();
    return std::move(out_);
  }

 private:
  void add(std::string name, std::string value) { out_.facts.push_back({std::move(name), std::move(value)}); }

  void circumstances() {
    const Conditions& conditions = profile_.conditions;
    add("GPU", scenario_.machine.row.gpu.name);
    add("profile", profile_.name.empty() || profile_.name == profile_.id
                       ? profile_.id
                       : fmt::format("{}: {}", profile_.id, profile_.name));
    add("context", box_value(profile_.context));
    add("device", box_value(conditions.device));
    add("regime", box_value(profile_.regime));
    add("clocks", box_clocks(conditions));
    add("power limit", conditions.power_limit_w > 0 ? fmt::format("{:.0f} W", conditions.power_limit_w) : not_recorded);
    add("driver", box_value(conditions.driver));
    add("CUDA", box_value(conditions.cuda));
    add("cuBLAS", box_value(conditions.cublas));
    add("NCCL", box_value(conditions.nccl));
    add("date", box_value(conditions.date));
  }

  /// Types in which the step's products run, in the order in which they first occur.
  [[nodiscard]] std::vector<Precision> product_types() const {
    std::vector<Precision> types;
    for (const ProgramBlock& block : prediction_.program.blocks)
      for (const KernelWork& work : block.works) {
        if (work.kernel != KernelClass::gemm) continue;
        const Precision type = cost_.parts(work).precision;
        if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
      }
    return types;
  }

  [[nodiscard]] bool has_attention() const {
    for (const ProgramBlock& block : prediction_.program.blocks)
      for (const KernelWork& work : block.works)
        if (work.kernel == KernelClass::attention) return true;
    return false;
  }

  void laws() {
    for (const Precision type : product_types()) {
      const RooflineLaw* law = find_gemm(profile_, type);
      add(fmt::format("matrix products, {}", to_text(type)),
          law ? box_law(*law) : "the profile has no law: the datasheet's rates, derated");
    }
    if (has_attention()) add("fused attention", box_law(profile_.attention));
    add("memory-bound kernels", box_law(profile_.memory));
    const FoundFit found = step_fit(scenario_);
    add("whole steps",
        found.fit ? fit_remark(scenario_, found) : "no measured step of this software or one like it: laws alone");
    if (!found.fit && !profile_.step_spread_source.empty()) add("interval", profile_.step_spread_source);
    if (const std::string kind = prediction_.step.interval_kind; !kind.empty())
      add("interval", fmt::format("widened to that of {}", kind));
  }

  /// Curves inside the innermost level that collectives of the step lie on, by kind and ranks.
  void curves() {
    const Level& inner = scenario_.machine.row.levels.front();
    std::set<std::string> seen;
    for (const CollectiveReport& row : prediction_.step.collectives) {
      if (row.span != inner.name) continue;
      for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
               CollectiveKind::all_reduce, CollectiveKind::all_to_all, CollectiveKind::send_recv}) {
        if (row.kind != to_text(kind)) continue;
        const CollectiveCurve* curve = find_curve(profile_, kind, inner.fabric, static_cast<int>(row.group_size));
        if (!curve) continue;
        std::string name = fmt::format("{}, {} GPUs", to_text(kind), curve->ranks);
        if (seen.insert(name).second) add(std::move(name), curve_error_text(*curve));
      }
    }
    across();
  }

  void across() {
    const std::vector<Level>& levels = scenario_.machine.row.levels;
    for (std::size_t i = 1; i < levels.size(); ++i) {
      const bool crossed = std::any_of(prediction_.step.collectives.begin(), prediction_.step.collectives.end(),
          [&](const CollectiveReport& row) { return row.span == levels[i].name; });
      if (!crossed) continue;
      const ScaleOutLaw law = scale_out_law(profile_, levels[i]);
      add(fmt::format("across the {}", levels[i].name),
          fmt::format("{} of the ports' rate, {}{}", law.efficiency, to_text(law.source), box_interval(law.spread)));
    }
  }

  void conventions() {
    add("attention FLOPs", fmt::format("executed: {}; MFU counts the {}",
                               has_attention() ? "the causal half of the square, backward 2.5 x forward"
                                               : "the full square, backward 2 x forward, for scores are written out",
                               scenario_.causal_attention ? "causal half" : "full square"));
    add("stack", stack_text());
    add("stepcast", std::string(version()));
  }

  [[nodiscard]] std::string stack_text() const {
    const Stack& stack = scenario_.stack.row;
    return fmt::format("{}: {}, {} to {}", stack.id, stack.name, stack.from.empty() ? "?" : stack.from,
        stack.until.empty() ? "today" : stack.until);
  }

  void sources() {
    for (const std::string& source : profile_.conditions.sources) add("table", source);
    if (!scenario_.machine.row.source.empty()) add("machine", scenario_.machine.row.source);
    if (!scenario_.machine.row.gpu.source.empty()) add("GPU's datasheet", scenario_.machine.row.gpu.source);
    if (!scenario_.machine.row.gpu.unverified.empty())
      add("unverified of the GPU", fmt::format("{}", fmt::join(scenario_.machine.row.gpu.unverified, ", ")));
  }

  void assumptions() {
    for (const Assumption& one : scenario_.assumptions)
      out_.assumptions.push_back(one.why == "default" ? fmt::format("{} {}", one.flag, one.value)
                                                      : fmt::format("{} {} ({})", one.flag, one.value, one.why));
    for (const run::Remark& remark : scenario_.remarks) out_.assumptions.push_back(remark.text);
    for (const Note& note : prediction_.program.notes) out_.assumptions.push_back(note.text);
    out_.assumptions.insert(out_.assumptions.end(), prediction_.step.notes.begin(), prediction_.step.notes.end());
  }

  const Scenario& scenario_;
  const Profile& profile_;
  const Prediction& prediction_;
  const CostModel cost_;
  Provenance out_;
};

}  // namespace

Provenance provenance_of(const Scenario& scenario, const Prediction& prediction) {
  return ProvenanceWriter(scenario, prediction).write();
}

}  // namespace stepcast::roofline
