// Profiles for GPUs that nobody timed: from a relative of the same architecture, else from the datasheet.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "model/catalog.h"
#include "model/profile/kernel_features.h"
#include "model/profile/profile.h"

namespace stepcast {
namespace {

constexpr Precision all_precisions[] = {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16,
    Precision::fp8, Precision::mxfp8, Precision::nvfp4};

FlopsPerSecond peak_of(const Gpu& gpu, Precision precision) { return gpu.peak[static_cast<int>(precision)]; }

/// The 16-bit tensor-core peak, which stands for the chip's size.
FlopsPerSecond main_peak(const Gpu& gpu) {
  return peak_of(gpu, Precision::bf16).value() > 0 ? peak_of(gpu, Precision::bf16) : peak_of(gpu, Precision::fp16);
}

double ratio_or_one(double to, double from) { return to > 0 && from > 0 ? to / from : 1; }

template <typename Law> void mark_transferred(Law& law) {
  law.source = std::max(law.source, Source::transferred);  // a datasheet rate stays one
  law.spread = transferred_spread(law.spread);
  law.refinement.spread = transferred_spread(law.refinement.spread);
}

/// Below its points a curve is its law joined to the first of them; with another bandwidth the law falls less there.
/// So what it gives for fewer bytes becomes points that are scaled like the others. Tables that begin late stay
/// extrapolated.
void add_small_points(CollectiveCurve& curve) {
  constexpr Bytes early(65536), next_to_none(1);
  if (curve.points.size() < 2 || curve.points.front().received > early) return;
  std::vector<CollectiveCurve::Point> points;
  for (Bytes size = curve.points.front().received / 4; size > next_to_none; size = size / 4)
    points.push_back({size, curve_time(curve, size)});
  std::ranges::reverse(points);
  points.insert(points.end(), curve.points.begin(), curve.points.end());
  curve.points = std::move(points);
}

CollectiveCurve scaled_curve(CollectiveCurve curve, double ratio) {
  add_small_points(curve);
  curve.bandwidth = curve.bandwidth * ratio;
  for (auto& point : curve.points) {
    const Seconds latency = std::min(curve.latency, point.time);
    point.time = latency + (point.time - latency) / ratio;
  }
  curve.source = Source::transferred;
  curve.spread = transferred_spread(curve.spread);
  curve.widths.clear();
  curve.held_out = {};
  return curve;
}

/// Corrections speak of waves, tiles and L2: they hold for a chip of the same architecture and about the same width.
bool same_tiling(const Gpu& from, const Gpu& to) {
  const double ratio = ratio_or_one(to.multiprocessors, from.multiprocessors);
  return from.architecture == to.architecture && ratio > 0.9 && ratio < 1.1;
}

/// With a correction go the figures that it was held out with; those of a law alone stay.
void drop_corrections(Profile& profile) {
  const auto drop = [](auto& laws) {
    for (auto& law : laws) {
      Refinement& refinement = law.refinement;
      if (refinement.use != CorrectionUse::none) refinement.held_out = {};
      refinement.use = CorrectionUse::none;
      refinement.correction = {}, refinement.width = {};
    }
  };
  drop(profile.gemm);
  drop(profile.attention_kernels);
  drop(profile.memory_ops);
  drop(profile.moe);
  drop(profile.scans);
  profile.attention.refinement = {};
  profile.memory.refinement = {};
}

/// Large bf16 products reach 61 to 84 % of the datasheet on nine GPUs from A100 to GB300, fp8 51 to 60 %, nvfp4 27 to
/// 37 % with the cast of x (tables of ai-dynamo/aiconfigurator 095f58a).
double usual_gemm_share(Precision precision) {
  if (precision == Precision::nvfp4) return 0.45;
  return precision == Precision::fp8 || precision == Precision::mxfp8 ? 0.6 : 0.72;
}

/// How much longer sustained compute takes on `to`, where `from` runs into its power limit. Power grows with the number
/// of multiprocessors times the cube of the clock (dynamic power is f V^2, and V rises with f), so that a limit allows
/// a clock of (power/multiprocessors)^(1/3). The datasheet's rates are at the boost clock, which is
/// peak/multiprocessors.
double sustained_slowdown(double of_from, const Gpu& from, const Gpu& to, bool peak_is_clock = true) {
  const bool known = from.power_w > 0 && to.power_w > 0 && from.multiprocessors > 0 && to.multiprocessors > 0;
  if (of_from <= 1 || !known) return of_from;
  const double units = static_cast<double>(to.multiprocessors) / from.multiprocessors;
  const double boost = peak_is_clock ? ratio_or_one(main_peak(to).value(), main_peak(from).value()) / units : 1;
  return std::max(1.0, of_from * boost * std::cbrt(units * from.power_w / to.power_w));
}

/// Place of the one feature that depends on a law's rates.
template <typename Names> std::size_t place_of_balance(const Names& names) {
  const auto at = std::ranges::find(names, std::string_view("compute/memory"));
  return static_cast<std::size_t>(at - names.begin());
}

/// Moves what the tables ask of one feature.
void move_feature(Correction& correction, std::size_t place, float by) {
  for (std::size_t i = 0; i < correction.feature.size(); ++i)
    if (correction.feature[i] == place) correction.threshold[i] += by;
  if (place < correction.low.size()) correction.low[place] += by, correction.high[place] += by;
}

/// `law` has the rates that a correction is now asked at, `learned` those that it was learned at.
template <typename Law> void keep_balance(Law& law, const Law& learned, std::size_t place) {
  const double compute = ratio_or_one(law.compute.value(), learned.compute.value());
  const double memory = ratio_or_one(law.memory.value(), learned.memory.value());
  const auto by = static_cast<float>(std::log2(memory / compute));
  if (by == 0) return;
  move_feature(law.refinement.correction, place, by);
  move_feature(law.refinement.width, place, by);
}

/// Corrections of a kernel stay those that it has on the GPU that was timed. Otherwise a faster GPU has another balance
/// of compute and memory, its kernels reach other values of the tables, and they can take longer.
void keep_corrections(Profile& scaled, const Profile& learned) {
  for (RooflineLaw& law : scaled.gemm)
    if (const RooflineLaw* own = find_gemm(learned, law.precision, law.block_scaled))
      keep_balance(law, *own, place_of_balance(gemm_feature_names));
  keep_balance(scaled.attention, learned.attention, place_of_balance(attention_feature_names));
  for (std::size_t i = 0; i < scaled.attention_kernels.size(); ++i)
    keep_balance(scaled.attention_kernels[i], learned.attention_kernels[i], place_of_balance(attention_feature_names));
  for (std::size_t i = 0; i < scaled.moe.size(); ++i)
    keep_balance(scaled.moe[i], learned.moe[i], place_of_balance(moe_feature_names));
}

}  // namespace

Profile with_all_precisions(Profile profile, const Gpu& gpu) {
  const RooflineLaw* known = find_gemm(profile, Precision::bf16);
  if (!known) known = find_gemm(profile, Precision::fp16);
  if (!known || peak_of(gpu, known->precision).value() <= 0) return profile;
  const RooflineLaw reference = *known;
  for (const Precision precision : all_precisions) {
    if (peak_of(gpu, precision).value() <= 0 || find_gemm(profile, precision)) continue;
    RooflineLaw law = reference;
    law.precision = precision;
    law.compute = reference.compute * (peak_of(gpu, precision) / peak_of(gpu, reference.precision));
    law.source = reference.source == Source::fitted || reference.source == Source::measured ? Source::transferred
                                                                                            : reference.source;
    law.spread = {reference.spread.p10 / 1.1, reference.spread.p90 * 1.25};
    // fp16 runs on bf16's kernels at bf16's rate; narrower types have tiles and casts of their own.
    const bool alike =
        operand_bytes(precision) == operand_bytes(reference.precision) && law.compute == reference.compute;
    if (!alike) law.refinement = {}, law.alone = {};
    profile.gemm.push_back(law);
  }
  return profile;
}

Spread transferred_spread(Spread spread) { return {spread.p10 / 1.08, spread.p90 * 1.08}; }

Profile scaled_profile(const Profile& profile, const Gpu& from, const Gpu& to) {
  const double compute = ratio_or_one(main_peak(to).value(), main_peak(from).value());
  const double memory = ratio_or_one(to.memory_bandwidth.value(), from.memory_bandwidth.value());
  const double links = ratio_or_one(to.scale_up_bandwidth.value(), from.scale_up_bandwidth.value());
  Profile out = profile;
  out.id = fmt::format("{}-from-{}", to.id, profile.id);
  out.name = fmt::format("{}, scaled from {} by datasheet", to.name, profile.name);
  out.aliases.clear();
  out.gpu = to.id;
  if (!same_tiling(from, to)) drop_corrections(out);
  out.units = {to.multiprocessors, to.l2};
  std::erase_if(out.gemm, [&](const RooflineLaw& law) { return peak_of(to, law.precision).value() <= 0; });
  const double units = ratio_or_one(static_cast<double>(from.multiprocessors), static_cast<double>(to.multiprocessors));
  for (RooflineLaw& law : out.gemm) {
    const double ratio = ratio_or_one(peak_of(to, law.precision).value(), peak_of(from, law.precision).value());
    law.cast = law.cast * memory;
    law.compute = law.compute * ratio;
    law.memory = law.memory * memory;
    // rows at odd addresses wait for loads of single numbers, of which each multiprocessor makes as many
    for (double* factor : {&law.part_aligned, &law.unaligned})
      if (*factor > 0) *factor = std::max(1.0, *factor * ratio * units);
    mark_transferred(law);
  }
  const auto scale_attention = [&](AttentionLaw& law) {
    law.compute = law.compute * compute;
    law.memory = law.memory * memory;
    mark_transferred(law);
  };
  const auto scale_memory = [&](MemoryLaw& law) {
    law.memory = law.memory * memory;
    mark_transferred(law);
  };
  scale_attention(out.attention);
  for (ScanLaw& law : out.scans) {
    for (Seconds* time : {&law.state, &law.chunk, &law.state_step}) *time = *time * units;
    law.over_learned *= units;
    mark_transferred(law);
  }
  for (HyperConnectionLaw& law : out.hyper_connections) {
    law.near_rate = law.near_rate * memory, law.memory = law.memory * memory;  // near_bytes are no cache's
    law.source = std::max(law.source, Source::transferred);
    law.spread = transferred_spread(law.spread), law.held_out = {};
  }
  for (AttentionLaw& law : out.attention_kernels) scale_attention(law);
  scale_memory(out.memory);
  out.sustained_slowdown = sustained_slowdown(profile.sustained_slowdown, from, to);
  for (MemoryLaw& law : out.memory_ops) scale_memory(law);
  for (RooflineLaw& law : out.moe) {
    law.compute = law.compute * compute;
    law.memory = law.memory * memory;
    mark_transferred(law);
  }
  if (to.scale_up_bandwidth.value() <= 0)
    std::erase_if(out.collectives,
        [](const auto& c) { return c.fabric == FabricKind::nvswitch || c.fabric == FabricKind::nvlink_mesh; });
  for (CollectiveCurve& curve : out.collectives)
    curve = scaled_curve(curve, curve.fabric == FabricKind::pcie || curve.nodes > 1 ? 1 : links);
  if (to.scale_up_bandwidth.value() <= 0) out.engine_all_reduces.clear(), out.engine_exchanges.clear();
  for (EngineAllReduce& law : out.engine_all_reduces)
    law.source = Source::transferred, law.spread = transferred_spread(law.spread);
  for (EngineExchange& law : out.engine_exchanges) {
    if (law.node_ranks == 0) law.rate = law.rate * links;
    law.source = Source::transferred;
    law.spread = transferred_spread(law.spread);
    law.held_out = {};
  }
  out.roofs.clear();  // they were measured: on another GPU, in another host
  out.host = {};
  for (StepFit& fit : out.steps)
    if (!fitted_on(fit, to.id)) fit.spread = widened(fit.spread, other_gpu);
  out.step_spread = transferred_spread(profile.step_spread);
  out.step_spread_source =
      fmt::format("{}; widened by 8 % for the transfer from {}", profile.step_spread_source, from.name);
  out = with_all_precisions(std::move(out), to);
  keep_corrections(out, with_all_precisions(profile, from));
  return out;
}

Profile datasheet_profile(const Gpu& gpu) {
  Profile profile;
  profile.id = gpu.id + "-datasheet";
  profile.name = fmt::format("{}, datasheet times usual efficiencies", gpu.name);
  profile.gpu = gpu.id;
  profile.regime = "burst";
  profile.context =
      fmt::format("No measurements of this GPU. Rates are the datasheet's ({}) times efficiencies that are usual "
                  "on other GPUs.",
          gpu.source);
  for (const Precision precision : all_precisions)
    if (peak_of(gpu, precision).value() > 0)
      profile.gemm.push_back({precision, Seconds(5e-6), peak_of(gpu, precision) * usual_gemm_share(precision),
          gpu.memory_bandwidth * 0.85, 2, Source::datasheet, {0.8, 1.3}});
  // Flash attention reaches 0.54 to 0.62 of the peak on long sequences, on A100, H100 and B200 (same tables).
  profile.attention = {Seconds(12e-6), main_peak(gpu) * 0.55, 600, 0.8, Source::datasheet, {0.75, 1.5}};
  profile.memory = {Seconds(2e-6), gpu.memory_bandwidth * 0.8, Source::datasheet, {0.85, 1.3}};
  // Eight GPUs behind NVSwitch: 68 to 74 % of the link rate at 512 MiB on A100, H100 and B200 (all_gather).
  if (gpu.scale_up_bandwidth.value() > 0)
    for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
             CollectiveKind::all_reduce, CollectiveKind::all_to_all})
      profile.collectives.push_back({kind, FabricKind::nvswitch, 8, Seconds(15e-6), gpu.scale_up_bandwidth * 0.8,
          Bytes(5e6), 0.5, {}, Source::datasheet, {0.75, 1.4}});
  profile.step_spread = {0.8, 1.4};
  profile.step_spread_source = "no hold-outs; datasheet rates miss by 26-38 % on matrix products alone";
  return profile;
}

namespace {

bool same_rates(const Gpu& a, const Gpu& b) {
  for (const Precision precision : all_precisions)
    if (!(peak_of(a, precision) == peak_of(b, precision))) return false;
  return a.memory_bandwidth == b.memory_bandwidth && a.scale_up_bandwidth == b.scale_up_bandwidth &&
         a.power_w == b.power_w;
}

/// For a GPU that somebody describes. Among the chips of a catalogue a higher peak per multiprocessor is a higher
/// clock, which the power limit takes back; one that somebody writes down is meant: the design does as much at the
/// clocks of `from`.
Profile scaled_to_described(const Profile& profile, const Gpu& from, const Gpu& to) {
  Profile out = scaled_profile(profile, from, to);
  out.sustained_slowdown = sustained_slowdown(profile.sustained_slowdown, from, to, false);
  return out;
}

/// `Row` is a profile or the head of one; `laws_of` is asked only of the one that is taken.
template <typename Row, typename LawsOf>
Profile chosen_profile(const Gpu& gpu, const std::vector<Row>& profiles, LawsOf laws_of) {
  const auto own = std::ranges::find(profiles, gpu.id, &Row::gpu);
  if (own != profiles.end()) {
    // A GPU that somebody edited is no longer the one that was measured: its rates scale with what was changed.
    const auto row = std::ranges::find(built_in().gpus, gpu.id, &Gpu::id);
    return row == built_in().gpus.end() || same_rates(*row, gpu) ? with_all_precisions(laws_of(*own), gpu)
                                                                 : scaled_to_described(laws_of(*own), *row, gpu);
  }

  const auto row = std::ranges::find(built_in().gpus, gpu.id, &Gpu::id);
  const bool edited = row != built_in().gpus.end() && !same_rates(*row, gpu);
  const Gpu& meant = edited ? *row : gpu;  // whoever edits a GPU keeps its relative
  const Row* nearest = nullptr;
  const Gpu* relative = nullptr;
  double nearest_distance = INFINITY;
  for (const Row& profile : profiles)
    for (const Gpu& other : built_in().gpus) {
      if (other.id != profile.gpu || other.architecture != gpu.architecture || main_peak(other).value() <= 0) continue;
      const double distance = std::abs(std::log(ratio_or_one(main_peak(meant).value(), main_peak(other).value())));
      if (distance < nearest_distance) nearest = &profile, relative = &other, nearest_distance = distance;
    }
  if (nearest == nullptr) return datasheet_profile(gpu);
  if (row == built_in().gpus.end()) return scaled_to_described(laws_of(*nearest), *relative, gpu);
  Profile out = scaled_profile(laws_of(*nearest), *relative, gpu);
  if (edited) {
    const double before = sustained_slowdown(laws_of(*nearest).sustained_slowdown, *relative, *row);
    out.sustained_slowdown = sustained_slowdown(before, *row, gpu, false);
  }
  return out;
}

}  // namespace

Profile default_profile(const Gpu& gpu, const std::vector<Profile>& profiles) {
  return chosen_profile(gpu, profiles, [](const Profile& profile) -> const Profile& { return profile; });
}

Profile default_profile(const Gpu& gpu, const std::vector<ProfileRow>& profiles) {
  return chosen_profile(gpu, profiles, [](const ProfileRow& row) -> const Profile& { return row.steps(); });
}

Profile default_kernel_profile(const Gpu& gpu, const std::vector<ProfileRow>& profiles) {
  return chosen_profile(gpu, profiles, [](const ProfileRow& row) -> const Profile& { return row.whole(); });
}

}  // namespace stepcast
