#include "model/profile/scan_law.h"

#include <algorithm>
#include <cmath>

namespace stepcast {
namespace {

// Backward runs the chunks again and makes two products of each: three times the FLOPs of forward.
constexpr double backward_flops = 3;

// What no profile has is that of H100, by the number of its multiprocessors: laws fitted on one generation miss another
// by 22 to 29 % (forward kernels of serving libraries, ai-dynamo/aiconfigurator 095f58a).
constexpr double usual_units = 132;
constexpr Spread elsewhere{0.7, 1.5};
// Scans whose kernels nobody timed, by their FLOPs from those of Mamba-2.
constexpr Spread unknown{0.5, 2};

ScanLaw usual_law(const char* function, Seconds t0, Seconds first, Seconds state, Seconds chunk, Seconds step,
    Seconds state_step, double softness) {
  return {function, t0, first, state, chunk, step, state_step, softness, 64, 128, 128, Source::transferred, elsewhere};
}

/// gated_delta and kda: one set of constants for Hopper and Blackwell, of fla's Triton kernels. ssd: on B200
/// a serving library's kernel takes 11 us for a wave of 148 states and a chunk of 128 positions; training's takes twice
/// that, which is what measured steps of Nemotron 3 Nano leave (docs/runs.md). Hopper's by the ratio that gated_delta
/// shows.
const std::vector<ScanLaw>& usual_laws() {
  static const std::vector<ScanLaw> rows = [] {
    std::vector<ScanLaw> laws{usual_law("gated_delta", Seconds(21.0e-6), Seconds(3.9e-6), Seconds(82.4e-9),
                                  Seconds(52.7e-9), Seconds(2.0e-6), Seconds(59.8e-9), 1.44),
        usual_law("kda", Seconds(29.9e-6), Seconds(21.4e-6), Seconds(154.7e-9), Seconds(193.1e-9), Seconds(2.7e-6),
            Seconds(95.7e-9), 1.27),
        usual_law("ssd", Seconds(20e-6), Seconds(0), Seconds(0), Seconds(190e-9), Seconds(2.0e-6), Seconds(0), 1.44)};
    laws.back().positions = 128, laws.back().value_size = 64;
    return laws;
  }();
  return rows;
}

double state_chunk_flops(
    const ScanFunction& function, double positions, double value_size, double key_size, double group_share) {
  return scan_flops(
      function, {positions * value_size, positions * key_size * group_share, value_size, key_size, positions});
}

double soft_max(double p, Seconds a, Seconds b) {
  return std::pow(std::pow(a.value(), p) + std::pow(b.value(), p), 1 / p);
}

/// That of the engine's own kernels, else the one that is nobody's in particular; null where there is neither.
const ScanLaw* timed_law(const Profile& profile, const ScanFunction& function, std::string_view kernels) {
  const ScanLaw* plain = nullptr;
  for (const ScanLaw& law : profile.scans) {
    if (law.function != function.name) continue;
    if (law.kernels == kernels) return &law;
    if (law.kernels.empty() && plain == nullptr) plain = &law;
  }
  return plain;
}

/// What is usual on other GPUs.
ScanLaw transferred_law(const Profile& profile, const ScanFunction& function) {
  const auto named = [&](std::string_view name) { return [name](const ScanLaw& law) { return law.function == name; }; };
  const std::vector<ScanLaw>& usual = usual_laws();
  const auto row = std::ranges::find_if(usual, named(function.name));
  ScanLaw law = row != usual.end() ? *row : usual.back();
  const int units = profile.units.multiprocessors;
  const double slower = units > 0 ? usual_units / units : 1;
  for (Seconds* time : {&law.state, &law.chunk, &law.state_step}) *time = *time * slower;
  if (row == usual.end()) law.source = Source::assumed, law.spread = unknown;
  return law;
}

KernelTime time_by(const ScanLaw& law, const ScanShape& scan, bool backward) {
  const ScanFunction& function = *scan.function;
  const ScanFunction& measured = *find_scan(law.function);
  const double positions = scan.chunk > 0 ? std::min(scan.chunk, scan.positions) : law.positions;
  const double share = scan.heads > 0 ? scan.groups / scan.heads : 1;
  // As many FLOPs per position as the law's state has, times so much.
  const double flops = state_chunk_flops(function, positions, scan.value_size, scan.key_size, share) / positions;
  const double known = state_chunk_flops(measured, law.positions, law.value_size, law.key_size, share) / law.positions;
  const double size = flops / known * (backward ? backward_flops : 1);
  const double states = scan.heads * scan.sequences, chunks = std::ceil(scan.positions / law.positions),
               filled = std::min(scan.positions, law.positions) / law.positions;
  const Seconds start = law.t0 + law.first_chunk * filled;
  const Seconds apart = (law.state + law.chunk * (scan.positions / law.positions)) * (states * size);
  const Seconds chain = Seconds(soft_max(2, law.step * (chunks - 1), law.state_step * (states * (chunks - 1) * size)));
  KernelTime out;
  out.time = Seconds(soft_max(law.softness, start, apart)) + chain;
  out.source = law.source;
  out.spread = backward ? Spread{law.spread.p10 * elsewhere.p10, law.spread.p90 * elsewhere.p90} : law.spread;
  out.bound = start > apart + chain ? Bound::launch : Bound::compute;
  return out;
}

/// What the law takes on the GPU that its corrections were learned on: one of their features.
Seconds learned_time(const ScanLaw& law, const ScanShape& scan, Seconds here) {
  if (law.over_learned == 1) return here;
  ScanLaw learned = law;
  for (Seconds* time : {&learned.state, &learned.chunk, &learned.state_step}) *time = *time / law.over_learned;
  return time_by(learned, scan, false).time;
}

/// Forward kernels alone were timed.
KernelTime corrected_scan(const ScanLaw& law, const ScanShape& scan, KernelTime out) {
  const Refinement& refinement = law.refinement;
  if (refinement.correction.empty() && refinement.width.empty()) return out;
  const ScanFeatures features = scan_features(scan, learned_time(law, scan, out.time));
  const Correction& bounds = refinement.correction.empty() ? refinement.width : refinement.correction;
  const double outside = distance_outside(bounds, features);
  out.time = out.time * std::exp(faded(sum_at(refinement.correction, features), outside));
  const double width = std::exp(faded(sum_at(refinement.width, features), outside)) * (1 + outside / 2);
  out.spread = {std::pow(refinement.spread.p10, width), std::pow(refinement.spread.p90, width)};
  out.corrected = !refinement.correction.empty();
  if (out.corrected) out.error = {refinement.held_out.mape, refinement.held_out.samples};
  return out;
}

}  // namespace

ScanFeatures scan_features(const ScanShape& scan, Seconds alone) {
  const auto doublings = [](double value) { return static_cast<float>(std::log2(std::max(value, 1e-30))); };
  const double states = scan.sequences * scan.heads;
  return {doublings(scan.sequences), doublings(scan.positions), doublings(scan.heads), doublings(scan.groups),
      doublings(states), doublings(scan.sequences * scan.positions), doublings(states * scan.positions),
      doublings(alone.value())};
}

KernelTime scan_time_alone(const ScanLaw& law, const ScanShape& scan) { return time_by(law, scan, false); }

KernelTime scan_time(const ScanLaw& law, const ScanShape& scan) {
  return corrected_scan(law, scan, time_by(law, scan, false));
}

KernelTime scan_time(const Profile& profile, const ScanShape& scan, bool backward, std::string_view kernels) {
  const auto timed = [&](const ScanLaw& law) { return backward ? time_by(law, scan, true) : scan_time(law, scan); };
  const ScanLaw* own = timed_law(profile, *scan.function, kernels);
  return own != nullptr ? timed(*own) : timed(transferred_law(profile, *scan.function));
}

}  // namespace stepcast
