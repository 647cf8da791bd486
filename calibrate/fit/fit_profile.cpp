#include "calibrate/fit/fit_profile.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/fit/beyond_roof.h"
#include "calibrate/fit/conditions.h"
#include "calibrate/fit/fit_collective.h"
#include "calibrate/fit/fit_law.h"
#include "calibrate/fit/fit_overlap.h"
#include "calibrate/fit/part_error.h"
#include "calibrate/fit/pools.h"
#include "calibrate/measure/roofs.h"
#include "model/base/percentile.h"
#include "model/profile/profile_names.h"

namespace stepcast::calibrate {
namespace {

/// Fewer than this many samples of one kind say too little for a law of their own.
constexpr std::size_t fewest = 4;

/// A law that stays as it is keeps its own interval and error without correction.
template <typename Law> void keep_figures_alone(Law& law, const Law& kept) {
  law.spread = kept.spread;
  if (kept.alone.samples > 0) law.alone = kept.alone;
}

class ProfileFit {
 public:
  ProfileFit(const Pools& pools, const FitRequest& request) : pools_(pools), request_(request) {
    out_.profile = request.start;
    out_.profile.id = request.id;
    out_.profile.name = request.name;
    out_.profile.gpu = request.gpu.id;
    out_.profile.units = units_of(request.gpu);
  }

  FittedProfile run() {
    fit_products();
    fit_attentions();
    fit_experts();
    fit_memory_ops();
    fit_collectives();
    fit_slowdowns();
    return std::move(out_);
  }

 private:
  template <typename Law> void record(std::string law, const std::string& software, FittedLaw<Law>& fitted) {
    Refinement& refinement = fitted.law.refinement;
    refinement.software = software;
    out_.laws.push_back({std::move(law), software, refinement.held_out, refinement.spread,
        refinement.correction.empty() ? 0 : fitted.base_mape, fitted.bias, refinement.held_out.samples, {}});
  }
  template <typename Query> bool enough(const std::string& law, const Pool<Query>& pool) {
    if (pool.samples.size() >= fewest) return true;
    out_.notes.push_back(
        fmt::format("{}: {} samples, at least {} are needed; left as it was", law, pool.samples.size(), fewest));
    return false;
  }

  /// The start's own law, where it is to stay: one that was fitted, not a guess.
  const RooflineLaw* kept_gemm(Precision precision, bool block_scaled) const {
    const RooflineLaw* law = request_.keep_laws ? find_gemm(request_.start, precision, block_scaled) : nullptr;
    return law != nullptr && law->source == Source::fitted ? law : nullptr;
  }

  void fit_products() {
    for (const auto& [key, pool] : pools_.gemm) {
      const std::string name = fmt::format("gemm {}{}", to_text(key.first), key.second ? " block-scaled" : "");
      if (!enough(name, pool)) continue;
      auto fitted = fit_gemm(pool.samples, request_.gpu, request_.options, kept_gemm(key.first, key.second));
      if (!fitted) continue;
      if (const RooflineLaw* kept = kept_gemm(key.first, key.second)) keep_figures_alone(fitted->law, *kept);
      record(name, pool.names(), *fitted);
      out_.laws.back().training = part_error(pool.samples, *fitted, out_.profile.units, of_training_size).held_out;
      out_.laws.back().layouts = layout_errors(pool.samples, *fitted, out_.profile.units);
      std::erase_if(out_.profile.gemm,
          [&](const RooflineLaw& old) { return old.precision == key.first && old.block_scaled == key.second; });
      if (key == std::pair(Precision::bf16, false)) follow_with_fp16(fitted->law);
      out_.profile.gemm.push_back(std::move(fitted->law));
    }
    fit_sustained();
    out_.profile = with_all_precisions(std::move(out_.profile), request_.gpu);
    std::stable_sort(
        out_.profile.gemm.begin(), out_.profile.gemm.end(), [](const RooflineLaw& a, const RooflineLaw& b) {
          return std::pair(a.precision, a.block_scaled) < std::pair(b.precision, b.block_scaled);
        });
  }

  /// fp16 runs bf16's kernels at bf16's rate where nobody timed its own.
  void follow_with_fp16(const RooflineLaw& bf16) {
    if (pools_.gemm.contains({Precision::fp16, false})) return;
    if (request_.keep_laws) {
      for (RooflineLaw& law : out_.profile.gemm)
        if (law.precision == Precision::fp16) law.refinement = bf16.refinement;
    } else {  // with_all_precisions() copies it
      std::erase_if(out_.profile.gemm, [](const RooflineLaw& old) { return old.precision == Precision::fp16; });
    }
  }

  /// Training's own: bf16, on chips without it fp16.
  Precision sustained_precision() const {
    return pools_.sustained.contains({Precision::bf16, false}) ? Precision::bf16 : Precision::fp16;
  }

  /// The rates of a law are those of bursts; sustained runs say how much slower it goes on.
  void fit_sustained() {
    const Precision chosen = sustained_precision();
    for (const auto& [key, pool] : pools_.sustained) {
      const RooflineLaw* law = find_gemm(out_.profile, key.first, key.second);
      if (law == nullptr || key != std::pair(chosen, false)) {
        out_.notes.push_back(fmt::format("gemm {}: {} sustained samples left out; {} gives the slow-down of all",
            to_text(key.first), pool.samples.size(), to_text(chosen)));
        continue;
      }
      if (request_.keep_laws) continue;
      const std::vector<double> ratios = sustained_over_burst(pools_.pairs, chosen);
      const double slowdown = ratios.empty() ? sustained_slowdown(*law, out_.profile.units, pool.samples)
                                             : std::max(1.0, percentile(ratios, 0.5));
      out_.profile.sustained_slowdown = slowdown;
      const auto count = static_cast<int>(ratios.empty() ? pool.samples.size() : ratios.size());
      out_.laws.push_back({sustained_law_name, pool.names(), {}, {}, 0, slowdown, count, {}});
    }
  }

  /// Of products that were timed both ways by one library: the same shape says more than the law, which is off by some
  /// per cent itself.
  static std::vector<double> sustained_over_burst(const RowPairs& pairs, Precision precision) {
    std::vector<double> ratios;
    for (const RowPair& pair : pairs.sustained) {
      const auto* gemm = std::get_if<GemmQuery>(&pair.what);
      if (gemm != nullptr && gemm->precision == precision && of_training_size(*gemm)) ratios.push_back(pair.ratio);
    }
    return ratios;
  }

  void fit_slowdowns() {
    if (request_.keep_laws && request_.start.overlap.source <= Source::fitted) return;
    const FittedOverlap fitted = fit_overlap(pools_.pairs.beside);
    OverlapLaw& law = out_.profile.overlap;
    const auto take = [&](const std::optional<FittedSlowdown>& slowdown, const char* what, double& into) {
      if (!slowdown) return;
      into = slowdown->slowdown;
      law.source = Source::fitted;
      out_.laws.push_back(
          {fmt::format("{} beside {}", what, slowdown->neighbour), "", {}, {}, 0, 1 + into, slowdown->pairs, {}});
    };
    take(fitted.products, "products", law.compute_slowdown);
    take(fitted.moves, "moves", law.move_slowdown);
    if (fitted.other_pairs > 0)
      out_.notes.push_back(fmt::format(
          "{} rows beside something else are of no use yet: products and moves are compared", fitted.other_pairs));
    if (pools_.pairs.alone_missing > 0)
      out_.notes.push_back(fmt::format(
          "{} rows beside something else were not timed alone and say nothing", pools_.pairs.alone_missing));
  }

  static bool has_backward(const Pool<AttentionQuery>& pool) {
    return std::any_of(pool.samples.begin(), pool.samples.end(),
        [](const auto& sample) { return sample.query.pass != AttentionPass::forward; });
  }

  void fit_attentions() {
    std::vector<AttentionLaw> laws;
    std::vector<bool> backward;
    for (const auto& [key, pool] : pools_.attention) {
      const std::string name = key.latent ? "latent attention decode" : key.decode ? "attention decode" : "attention";
      if (!enough(name, pool)) continue;
      auto fitted = fit_attention(pool.samples, request_.gpu, request_.options);
      if (!fitted) continue;
      record(name, key.software, *fitted);
      backward.push_back(!key.decode && has_backward(pool));
      if (!backward.back()) fitted->law.backward_efficiency = request_.start.attention.backward_efficiency;
      laws.push_back(std::move(fitted->law));
    }
    if (laws.empty()) return;
    if (const auto training = training_kernel(laws, backward); training < laws.size() && !keeps_attention()) {
      out_.profile.attention = std::move(laws[training]);
      laws.erase(laws.begin() + static_cast<std::ptrdiff_t>(training));
    }
    out_.profile.attention_kernels = std::move(laws);
    if (keeps_attention()) refine_training_attention();
  }

  bool keeps_attention() const { return request_.keep_laws && request_.start.attention.source == Source::fitted; }

  /// The start's law of training with a correction from the software that it describes best.
  void refine_training_attention() {
    double least = INFINITY;
    for (const auto& [key, pool] : pools_.attention) {
      if (key.decode || pool.samples.size() < fewest) continue;
      auto fitted = fit_attention(pool.samples, request_.gpu, request_.options, &request_.start.attention);
      if (!fitted || fitted->base_mape >= least) continue;
      least = fitted->base_mape;
      keep_figures_alone(fitted->law, request_.start.attention);
      fitted->law.refinement.software = key.software;
      out_.profile.attention = std::move(fitted->law);
    }
    std::erase_if(out_.profile.attention_kernels, [&](const AttentionLaw& law) {
      return !law.decode && law.refinement.software == out_.profile.attention.refinement.software;
    });
  }

  /// Which of the fitted kernels training runs: one timed backward as well, else the fastest; laws.size() where none
  /// is.
  std::size_t training_kernel(const std::vector<AttentionLaw>& laws, const std::vector<bool>& backward) const {
    std::size_t best = laws.size();
    for (std::size_t i = 0; i < laws.size(); ++i) {
      if (laws[i].decode) continue;
      const bool first = best == laws.size();
      if (first || backward[i] > backward[best] ||
          (backward[i] == backward[best] && laws[i].compute > laws[best].compute))
        best = i;
    }
    return best;
  }

  void fit_experts() {
    for (const auto& [precision, pool] : pools_.moe) {
      const std::string name = fmt::format("moe {}", to_text(precision));
      if (!enough(name, pool)) continue;
      auto fitted = fit_moe(pool.samples, request_.gpu, request_.options);
      if (!fitted) continue;
      fitted->law.precision = precision;
      record(name, pool.names(), *fitted);
      std::erase_if(out_.profile.moe, [&](const RooflineLaw& old) { return old.precision == precision; });
      out_.profile.moe.push_back(std::move(fitted->law));
    }
  }

  /// One law for whatever memory-bound kernel has none of its own: two parameters, no tables. Plain reads and copies
  /// show what the memory can do, not what a step's kernels make of it: they count where there is nothing else.
  std::optional<FittedLaw<MemoryLaw>> general_memory() const {
    std::vector<Sample<MemoryQuery>> all, probes;
    for (const auto& [op, pool] : pools_.memory) {
      if (pool.samples.size() < fewest) continue;
      std::vector<Sample<MemoryQuery>>& into = find_memory_op(op)->group == "copy" ? probes : all;
      into.insert(into.end(), pool.samples.begin(), pool.samples.end());
    }
    if (all.empty()) all = std::move(probes);
    if (all.size() < fewest) return std::nullopt;
    RefineOptions plain = request_.options;
    plain.correct = false;
    auto general = fit_memory(all, request_.gpu, plain);
    if (!general) return std::nullopt;
    general->law.refinement.width = {};
    return std::move(*general);
  }

  void fit_memory_ops() {
    auto general = general_memory();
    for (const auto& [op, pool] : pools_.memory) {
      if (!enough(op, pool)) continue;
      auto fitted = fit_memory(pool.samples, request_.gpu, request_.options, general ? &general->law : nullptr);
      if (!fitted) continue;
      fitted->law.op = op;
      record(op, pool.names(), *fitted);
      std::erase_if(out_.profile.memory_ops, [&](const MemoryLaw& old) { return old.op == op; });
      out_.profile.memory_ops.push_back(std::move(fitted->law));
    }
    if (!general) return;
    record("memory-bound, any", "", *general);
    out_.profile.memory = std::move(general->law);
  }

  void fit_collectives() {
    for (const auto& [network, calls] : pools_.collectives)
      for (FittedCurve& fitted : fit_curves(calls, network.fabric, network.machine)) {
        CollectiveCurve& law = fitted.law;
        std::string name =
            fmt::format("{} {} x{}", to_text(law.kind), name_of<FabricKind>(fabric_names, law.fabric), law.ranks);
        if (law.nodes > 1) name += fmt::format(" on {} nodes", law.nodes);
        out_.laws.push_back({name, law.network, law.held_out, law.spread, 0, fitted.bias, fitted.samples, {}});
        std::erase_if(out_.profile.collectives, [&](const CollectiveCurve& old) {
          if (old.kind != law.kind || old.ranks != law.ranks || old.nodes != law.nodes) return false;
          // One's own table of no catalogue machine is worth more than anybody else's.
          return law.nodes == 1 ? old.fabric == law.fabric : law.network.empty() || old.network == law.network;
        });
        out_.profile.collectives.push_back(std::move(law));
      }
  }

  const Pools& pools_;
  const FitRequest& request_;
  FittedProfile out_;
};

/// Whether anything was measured.
bool replace_host_costs(HostCosts& known, const HostCosts& measured) {
  bool any = false;
  for (Seconds HostCosts::*cost :
      {&HostCosts::stream_kernel, &HostCosts::graph_kernel, &HostCosts::graph, &HostCosts::event})
    if ((measured.*cost).value() > 0) known.*cost = measured.*cost, any = true;
  return any;
}

void note_left_out(const Pools& pools, std::vector<std::string>& notes) {
  if (pools.of_others > 0)
    notes.push_back(fmt::format(
        "{} rows are of other GPUs ({}) and were left out", pools.of_others, fmt::join(pools.other_gpus, ", ")));
  if (pools.throttled > 0) notes.push_back(fmt::format("{} throttled bursts were left out", pools.throttled));
  if (pools.warm > 0)
    notes.push_back(fmt::format("{} rows with their data in the level-2 cache are no samples of laws", pools.warm));
  if (pools.beside > 0)
    notes.push_back(
        fmt::format("{} rows beside something else are no samples of laws; they give slow-downs", pools.beside));
  if (pools.sustained_others > 0)
    notes.push_back(fmt::format(
        "{} sustained rows that are no products were left out: laws are of bursts", pools.sustained_others));
}

}  // namespace

Expected<FittedProfile> fit_profile(const Measurements& all, const FitRequest& request) {
  auto [measurements, beyond] = rows_below_roofs(all, request.gpu);
  const Pools pools = pools_of(measurements, request.gpu);
  FittedProfile out = ProfileFit(pools, request).run();
  out.notes.insert(out.notes.end(), beyond.begin(), beyond.end());
  note_left_out(pools, out.notes);
  const std::vector<Roof> roofs = roofs_of(measurements, request.gpu);
  replace_roofs(out.profile.roofs, roofs);
  const bool host = replace_host_costs(out.profile.host, host_costs_of(measurements, request.gpu));
  // The best of a product or two is no roof to make a profile of; bandwidths are found by the plan's few rows.
  const bool bandwidth =
      std::any_of(roofs.begin(), roofs.end(), [](const Roof& roof) { return unit_of(roof) == RoofUnit::bytes; });
  if (out.laws.empty() && !bandwidth && !host)
    return fail("measurements",
        fmt::format("nothing of {} to fit among {} rows", request.gpu.id, measurements.rows.size()),
        pools.other_gpus.empty() ? fmt::format("a law needs {} rows or more of its kind and number type", fewest)
                                 : fmt::format("they are of {}", fmt::join(pools.other_gpus, ", ")));
  TRY(check_below_roofs(out.profile, request.gpu));
  out.profile.conditions = conditions_of(measurements, request.gpu);
  return out;
}

}  // namespace stepcast::calibrate
