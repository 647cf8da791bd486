// A GPU and a profile of round numbers, which tests of profiles read, scale and write.
#pragma once

#include <string>

#include "model/machine/machine.h"
#include "model/profile/kernel_features.h"
#include "model/profile/profile.h"

namespace stepcast {

inline Gpu round_gpu(const std::string& id, double bf16_tflops, double memory_gb_per_s) {
  Gpu gpu;
  gpu.id = id;
  gpu.name = id;
  gpu.architecture = "round";
  gpu.peak[static_cast<int>(Precision::bf16)] = FlopsPerSecond(bf16_tflops * 1e12);
  gpu.peak[static_cast<int>(Precision::fp8)] = FlopsPerSecond(2 * bf16_tflops * 1e12);
  gpu.memory_bandwidth = BytesPerSecond(memory_gb_per_s * 1e9);
  gpu.scale_up_bandwidth = BytesPerSecond(100e9);
  return gpu;
}

inline ScanLaw scan_that_takes(Seconds time, const char* kernels) {
  ScanLaw law;
  law.function = "gated_delta", law.t0 = time, law.kernels = kernels;
  return law;
}

inline Profile round_profile() {
  Profile profile;
  profile.id = "round";
  profile.name = "Round";
  profile.gpu = "round-1";
  profile.context = "made by hand";
  profile.regime = "burst";
  profile.sustained_slowdown = 1.1;
  profile.step_spread = {0.9, 1.1};
  profile.step_spread_source = "none";
  profile.gemm = {
      {Precision::bf16, Seconds(5e-6), FlopsPerSecond(80e12), BytesPerSecond(900e9), 2, Source::fitted, {0.9, 1.1}}};
  profile.attention = {Seconds(1e-5), FlopsPerSecond(60e12), 300, 0.8, Source::fitted, {0.8, 1.2}};
  profile.memory = {Seconds(2e-6), BytesPerSecond(800e9), Source::assumed, {0.9, 1.2}};
  CollectiveCurve curve{CollectiveKind::all_gather, FabricKind::nvswitch, 8, Seconds(1e-5), BytesPerSecond(80e9),
      Bytes(1e6), 0.5, {}, Source::measured, {0.9, 1.1}};
  curve.points = {{Bytes(1e3), Seconds(1e-5)}, {Bytes(1e9), Seconds(1.25e-2)}};
  profile.collectives = {curve};
  profile.scale_out = {
      {FabricKind::infiniband, 0.9, Seconds(25e-6), Seconds(12e-6), Seconds(0), Source::assumed, {0.8, 1.5}}};
  return profile;
}

inline Profile profile_with_roofs() {
  Profile profile = round_profile();
  profile.roofs = {{"hbm copy", 900e9, "burst"}, {"fp8 block-scaled", 150e12, "burst"}, {"bf16", 85e12, "sustained"}};
  profile.host.stream_kernel = Seconds(2e-6);
  profile.host.event = Seconds(5e-7);
  return profile;
}

/// The round profile with a correction of its products: 20 % more everywhere.
inline Profile corrected_profile() {
  Profile profile = round_profile();
  Refinement& refinement = profile.gemm[0].refinement;
  refinement.use = CorrectionUse::kernels;
  refinement.software = "ours";
  refinement.held_out = {0.02, 0.01, 0.05, 0.8, 300};
  refinement.spread = {0.95, 1.05};
  Correction& correction = refinement.correction;
  correction.depth = 1;
  correction.feature = {0};
  correction.threshold = {10};
  correction.value = {0.1823F, 0.1823F};
  correction.low.assign(gemm_feature_names.size(), -100);
  correction.high.assign(gemm_feature_names.size(), 100);
  profile.gemm[0].alone = {0.06, 250, true};
  return profile;
}

}  // namespace stepcast
