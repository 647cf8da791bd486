#include "studies/whatif/machine_levers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "model/profile/collective_law.h"
#include "model/profile/kernel_features.h"
#include "model/base/quantity_text.h"

namespace stepcast::whatif {
namespace {

constexpr const char* fabric_words[] = {"nvswitch", "nvlink mesh", "pcie", "infiniband", "ethernet"};

bool on_nvlink(FabricKind fabric) { return fabric == FabricKind::nvswitch || fabric == FabricKind::nvlink_mesh; }

/// Whether forecasts take this curve for collectives inside one instance of `level`.
bool inside_curve(const CollectiveCurve& curve, const Level& level) {
  return curve.nodes == 1 && (curve.fabric == level.fabric || (on_nvlink(curve.fabric) && on_nvlink(level.fabric)));
}

// As scaled_profile carries a curve to a GPU with other links: the latency stays.
void scale_curve_rate(CollectiveCurve& curve, double factor) {
  curve.bandwidth = curve.bandwidth * factor;
  for (auto& point : curve.points) {
    const Seconds latency = std::min(curve.latency, point.time);
    point.time = latency + (point.time - latency) / factor;
  }
}

/// Their smallest buffer is all latency; one of the next may take less.
void scale_engine_all_reduces(Profile& profile, double factor) {
  for (EngineAllReduce& law : profile.engine_all_reduces) {
    if (law.points.empty()) continue;
    const Seconds smallest = law.points.front().time;
    for (auto& point : law.points) {
      const Seconds latency = std::min(smallest, point.time);
      point.time = latency + (point.time - latency) / factor;
    }
  }
}

void scale_curve_latency(CollectiveCurve& curve, double factor) {
  for (auto& point : curve.points) point.time += std::min(curve.latency, point.time) * (factor - 1);
  curve.latency = curve.latency * factor;
}

/// The narrowest tier that a collective across nodes passes, by nominal rates. A ring enters an instance through the
/// ports of all its members there; an exchange leaves through each rank's own (through_ports in
/// model/profile/collective_law.cpp).
double narrowest_rate(const Machine& machine, const CollectiveCurve& curve) {
  const double size = curve.ranks, per_node = size / curve.nodes;
  const auto node_gpus = static_cast<double>(machine.levels.front().gpus);
  const bool exchange = curve.kind == CollectiveKind::all_to_all;
  double rate = INFINITY, below = per_node;
  if (per_node > 1)
    rate = machine.levels.front().bandwidth_per_gpu.value() / (exchange ? (per_node - 1) / (size - 1) : 1);
  for (std::size_t i = 1; i < machine.levels.size() && below < size; ++i) {
    const double share = exchange ? (size - below) / (size - 1) : 1 / below;
    rate = std::min(rate, machine.levels[i].bandwidth_per_gpu.value() / share);
    below = std::min(size, per_node * static_cast<double>(machine.levels[i].gpus) / node_gpus);
  }
  return rate;
}

/// Values of measured steps stand instead of the stack's and the profile's own.
void scale_fitted(Scenario& scenario, StepParameter parameter, double factor) {
  for (StepFit& fit : scenario.profile.row.steps)
    for (StepValue& value : fit.values)
      if (value.parameter == parameter) value.value *= factor;
}

double in_force(const Scenario& scenario, StepParameter parameter) { return cost_model(scenario).tuning()[parameter]; }

/// A correction asks about a kernel's compute time over its memory time, as they were where it was learned. Its
/// questions go along with a law whose time for compute grows `factor` times against that for memory: what is asked
/// about is another rate, and not another kernel.
template <std::size_t count>
void keep_questions(Refinement& refinement, const std::array<const char*, count>& names, double factor) {
  const auto ratio =
      static_cast<std::size_t>(std::ranges::find(names, std::string_view("compute/memory")) - names.begin());
  const auto more = static_cast<float>(std::log2(factor));
  for (Correction* correction : {&refinement.correction, &refinement.width}) {
    for (std::size_t i = 0; i < correction->feature.size(); ++i)
      if (correction->feature[i] == ratio) correction->threshold[i] += more;
    if (ratio < correction->low.size()) correction->low[ratio] += more, correction->high[ratio] += more;
  }
}

void scale_compute(RooflineLaw& law, const auto& names, double factor) {
  law.compute = law.compute * factor;
  keep_questions(law.refinement, names, 1 / factor);
}

void scale_compute(AttentionLaw& law, double factor) {
  law.compute = law.compute * factor;
  keep_questions(law.refinement, attention_feature_names, 1 / factor);
}

void scale_memory(RooflineLaw& law, const auto& names, double factor) {
  law.memory = law.memory * factor, law.cast = law.cast * factor;
  keep_questions(law.refinement, names, factor);
}

void scale_memory(AttentionLaw& law, double factor) {
  law.memory = law.memory * factor;
  keep_questions(law.refinement, attention_feature_names, factor);
}

void scale_matrix_units(Scenario& scenario, double factor) {
  for (FlopsPerSecond& peak : scenario.machine.row.gpu.peak) peak = peak * factor;
  Profile& profile = scenario.profile.row;
  for (RooflineLaw& law : profile.gemm) scale_compute(law, gemm_feature_names, factor);
  for (RooflineLaw& law : profile.moe) scale_compute(law, moe_feature_names, factor);
  scale_compute(profile.attention, factor);
  for (AttentionLaw& law : profile.attention_kernels) scale_compute(law, factor);
}

void scale_own_type(Scenario& scenario, double factor) {
  const Precision own = scenario.plan.precision;
  FlopsPerSecond& peak = scenario.machine.row.gpu.peak[static_cast<int>(own)];
  peak = peak * factor;
  for (RooflineLaw& law : scenario.profile.row.gemm)
    if (law.precision == own) scale_compute(law, gemm_feature_names, factor);
}

void scale_hbm(Scenario& scenario, double factor) {
  Gpu& gpu = scenario.machine.row.gpu;
  gpu.memory_bandwidth = gpu.memory_bandwidth * factor;
  Profile& profile = scenario.profile.row;
  for (RooflineLaw& law : profile.gemm) scale_memory(law, gemm_feature_names, factor);
  for (RooflineLaw& law : profile.moe) scale_memory(law, moe_feature_names, factor);
  scale_memory(profile.attention, factor);
  for (AttentionLaw& law : profile.attention_kernels) scale_memory(law, factor);
  profile.memory.memory = profile.memory.memory * factor;
  for (MemoryLaw& law : profile.memory_ops) law.memory = law.memory * factor;
}

void scale_kernel_start(Scenario& scenario, double factor) {
  Profile& profile = scenario.profile.row;
  for (auto* laws : {&profile.gemm, &profile.moe})
    for (RooflineLaw& law : *laws) law.t0 = law.t0 * factor;
  for (AttentionLaw& law : profile.attention_kernels) law.t0 = law.t0 * factor;
  for (MemoryLaw& law : profile.memory_ops) law.t0 = law.t0 * factor;
  for (Seconds* t0 : {&profile.attention.t0, &profile.memory.t0}) *t0 = *t0 * factor;
  scenario.stack.row.launch_gap = scenario.stack.row.launch_gap * factor;
  scale_fitted(scenario, StepParameter::kernel_gap, factor);
}

/// Of an all-reduce over the innermost level: what prices read, and not the level's own latency.
double start_inside(const Scenario& scenario) {
  const Level& level = scenario.machine.row.levels.front();
  const CollectiveCurve* curve =
      find_curve(scenario.profile.row, CollectiveKind::all_reduce, level.fabric, static_cast<int>(level.gpus));
  return curve == nullptr ? 0 : curve->latency.value();
}

/// Of a collective over all nodes of the run, by the law of the first level outside.
double start_across(const Scenario& scenario) {
  const std::vector<Level>& levels = scenario.machine.row.levels;
  const ScaleOutLaw law = scale_out_law(scenario.profile.row, levels[1]);
  const auto gpus = static_cast<double>(scenario.plan.gpus), node = static_cast<double>(levels[0].gpus);
  const double nodes = std::max(2.0, std::ceil(gpus / node));
  return (law.base + law.per_doubling * std::log2(nodes) + law.per_node * nodes).value();
}

void scale_inside_latency(Scenario& scenario, double factor) {
  Level& level = scenario.machine.row.levels.front();
  level.latency = level.latency * factor;
  for (CollectiveCurve& curve : scenario.profile.row.collectives)
    if (inside_curve(curve, level)) scale_curve_latency(curve, factor);
}

/// The law of a fabric that the profile leaves to the default is put into it, so that it can be scaled.
void scale_network_latency(Scenario& scenario, double factor) {
  std::vector<Level>& levels = scenario.machine.row.levels;
  std::vector<ScaleOutLaw>& laws = scenario.profile.row.scale_out;
  for (std::size_t i = 1; i < levels.size(); ++i) {
    levels[i].latency = levels[i].latency * factor;
    if (find_scale_out(scenario.profile.row, levels[i]) == nullptr)
      laws.push_back(scale_out_law(scenario.profile.row, levels[i]));
  }
  for (ScaleOutLaw& law : laws)
    law.base = law.base * factor, law.per_doubling = law.per_doubling * factor, law.per_node = law.per_node * factor,
    law.ring_hops *= factor;
  for (CollectiveCurve& curve : scenario.profile.row.collectives)
    if (curve.nodes > 1) scale_curve_latency(curve, factor);
}

std::string lever_bytes(double amount) { return format_bytes(Bytes(amount)); }
std::string lever_rate(double amount) { return format_rate(BytesPerSecond(amount)); }
std::string lever_flops(double amount) { return format_flops(FlopsPerSecond(amount)); }
std::string lever_seconds(double amount) { return format_seconds(Seconds(amount)); }

struct LeverRow {
  const char *id, *name, *unit;
  bool more_is_faster;
  double (*amount)(const Scenario&);
  std::string (*text)(double);
  void (*scale)(Scenario&, double);
  const char* idle;
  bool of_software = false;
};

const LeverRow rate_levers[] = {
    {"compute", "matrix units, all types", "_flops_per_s", true,
        [](const Scenario& s) { return s.machine.row.gpu.peak[static_cast<int>(s.plan.precision)].value(); },
        lever_flops, scale_matrix_units, "no kernel waits for it"},
    {"own-type", "matrix units, the plan's type alone", "_flops_per_s", true,
        [](const Scenario& s) { return s.machine.row.gpu.peak[static_cast<int>(s.plan.precision)].value(); },
        lever_flops, scale_own_type, "no product runs in this type"},
    {"hbm", "HBM bandwidth", "_bytes_per_s", true,
        [](const Scenario& s) { return s.machine.row.gpu.memory_bandwidth.value(); }, lever_rate, scale_hbm,
        "no kernel waits for it"},
    {"hbm-capacity", "HBM capacity", "_bytes", true, [](const Scenario& s) { return s.machine.row.gpu.memory.value(); },
        lever_bytes, [](Scenario& s, double factor) { s.machine.row.gpu.memory = s.machine.row.gpu.memory * factor; },
        "no time depends on it, and what fits does not change"}};

const LeverRow delay_levers[] = {
    {"host-link", "host to GPU link", "_bytes_per_s", true,
        [](const Scenario& s) { return s.machine.row.host_link.value(); }, lever_rate,
        [](Scenario& s, double factor) { s.machine.row.host_link = s.machine.row.host_link * factor; },
        "nothing is copied from the host", true},
    {"kernel-start", "fixed time per kernel, gaps included", "_s", false,
        [](const Scenario& s) { return s.profile.row.memory.t0.value() + in_force(s, StepParameter::kernel_gap); },
        lever_seconds, scale_kernel_start, "no kernel has one"},
    {"host-per-launch", "host time per launch", "_s", false,
        [](const Scenario& s) { return in_force(s, StepParameter::host_per_launch); }, lever_seconds,
        [](Scenario& s, double factor) {
          s.stack.row.host_per_launch = s.stack.row.host_per_launch * factor;
          scale_fitted(s, StepParameter::host_per_launch, factor);
        },
        "the host stays ahead of the GPU, or launches are captured in a graph", true},
    {"host-per-step", "host time per step", "_s", false,
        [](const Scenario& s) { return in_force(s, StepParameter::host_per_step); }, lever_seconds,
        [](Scenario& s, double factor) {
          s.stack.row.host_per_step = s.stack.row.host_per_step * factor;
          scale_fitted(s, StepParameter::host_per_step, factor);
        },
        "the step has none", true},
    {"data-wait", "wait for data", "_s", false, [](const Scenario& s) { return s.stack.row.data_wait.value(); },
        lever_seconds, [](Scenario& s, double factor) { s.stack.row.data_wait = s.stack.row.data_wait * factor; },
        "the step has none", true},
    {"skew", "spread of kernels' time from GPU to GPU", "", false,
        [](const Scenario& s) { return s.plan.gpus > 1 ? s.stack.row.gpu_spread : 0; }, format_percent,
        [](Scenario& s, double factor) { s.stack.row.gpu_spread *= factor; }, "the run has one GPU", true},
    {"contention", "slow-down of kernels beside collectives", "", false,
        [](const Scenario& s) { return in_force(s, StepParameter::contention); }, format_percent,
        [](Scenario& s, double factor) {
          s.profile.row.overlap.compute_slowdown *= factor;
          scale_fitted(s, StepParameter::contention, factor);
        },
        "no collective runs beside a kernel", true}};

const LeverRow inside_latency = {"latency", "latency inside, of collectives", "_s", false, start_inside, lever_seconds,
    scale_inside_latency, "no collective is priced by a curve with a latency"};
const LeverRow network_latency = {"network-latency", "latency across nodes, of collectives", "_s", false, start_across,
    lever_seconds, scale_network_latency, "nothing crosses nodes, or what does is hidden"};

std::string idle_text(const LeverRow& row, const Scenario& scenario) {
  return row.amount(scenario) == 0 ? "it is 0 here" : row.idle;
}

MachineLever machine_lever(const LeverRow& row) {
  return {row.id, "", row.name, row.unit, row.more_is_faster, row.amount, row.text, row.scale,
      [&row](const Scenario& scenario, const Prediction&) { return idle_text(row, scenario); }, row.of_software};
}

/// Whether a collective or a send of the step crosses this level.
bool level_crossed(const Prediction& prediction, const Machine& machine, std::size_t level) {
  const auto beyond = [&](const CollectiveReport& one) {
    const auto span =
        std::find_if(machine.levels.begin(), machine.levels.end(), [&](const Level& l) { return l.name == one.span; });
    return span != machine.levels.end() && span - machine.levels.begin() >= static_cast<std::ptrdiff_t>(level);
  };
  return std::any_of(prediction.step.collectives.begin(), prediction.step.collectives.end(), beyond);
}

std::string idle_level(const Scenario& scenario, const Prediction& prediction, std::size_t level) {
  const Machine& machine = scenario.machine.row;
  if (level > 0 && scenario.plan.gpus <= machine.levels[level - 1].gpus)
    return fmt::format("the run stays within one {}", machine.levels[level - 1].name);
  if (!level_crossed(prediction, machine, level))
    return fmt::format("nothing moves over the {}", machine.levels[level].name);
  return "what crosses it is hidden behind kernels, or held up elsewhere";
}

MachineLever bandwidth_lever(const Machine& machine, std::size_t i) {
  const Level& level = machine.levels[i];
  const char* fabric = fabric_words[static_cast<int>(level.fabric)];
  const std::string usual = i == 1 ? "nic" : i > 1 ? level.name : on_nvlink(level.fabric) ? "nvlink" : fabric;
  const std::string name = i == 0 ? fmt::format("links inside the {}, {}", level.name, fabric)
                                  : fmt::format("{} into the {}, {}", i == 1 ? "NIC" : "uplinks", level.name, fabric);
  return {usual, usual == level.name ? "" : level.name, name, "_bytes_per_s", true,
      [i](const Scenario& s) { return s.machine.row.levels[i].bandwidth_per_gpu.value(); }, lever_rate,
      [i](Scenario& s, double factor) { scale_bandwidth(s, i, factor); },
      [i](const Scenario& s, const Prediction& p) { return idle_level(s, p, i); }};
}

bool wide_type(Precision precision) { return operand_bytes(precision) >= 2; }

}  // namespace

void scale_bandwidth(Scenario& scenario, std::size_t i, double factor) {
  Machine& machine = scenario.machine.row;
  const Machine before = machine;
  Level& level = machine.levels.at(i);
  level.bandwidth_per_gpu = level.bandwidth_per_gpu * factor;
  level.port_bandwidth = level.port_bandwidth * factor;
  if (i == 0 && on_nvlink(level.fabric)) machine.gpu.scale_up_bandwidth = machine.gpu.scale_up_bandwidth * factor;
  if (i == 0) scale_engine_all_reduces(scenario.profile.row, factor);
  for (EngineExchange& law : scenario.profile.row.engine_exchanges)
    if ((law.node_ranks == 0) == (i == 0)) law.rate = law.rate * factor;
  for (CollectiveCurve& curve : scenario.profile.row.collectives) {
    if (curve.nodes > 1) {
      scale_curve_rate(curve, narrowest_rate(machine, curve) / narrowest_rate(before, curve));
    } else if (i == 0 && inside_curve(curve, level)) {
      scale_curve_rate(curve, factor);
    }
  }
}

std::vector<MachineLever> machine_levers(const Scenario& scenario) {
  const Machine& machine = scenario.machine.row;
  std::vector<MachineLever> levers;
  for (const LeverRow& row : rate_levers)  // with a wide type, nothing but its own products could be meant
    if (row.scale != scale_own_type || !wide_type(scenario.plan.precision)) levers.push_back(machine_lever(row));
  for (std::size_t i = 0; i < machine.levels.size(); ++i) levers.push_back(bandwidth_lever(machine, i));
  levers.push_back(machine_lever(inside_latency));
  if (machine.levels.size() > 1) levers.push_back(machine_lever(network_latency));
  for (const LeverRow& row : delay_levers) levers.push_back(machine_lever(row));
  return levers;
}

}  // namespace stepcast::whatif
