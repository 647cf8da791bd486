// Measurements of one GPU in, its Profile out. This is the door that commands use.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/fit_collective.h"
#include "calibrate/fit_kernel.h"

namespace stepcast {

/// Products of one precision. `copies` take the fitted law over at the same rate (fp16 runs at bf16's), as `transferred`.
struct GemmTable {
  Precision precision = Precision::bf16;
  std::vector<GemmMeasurement> gemms;
  std::vector<Precision> copies;
};

struct FitInputs {
  std::string id, name;
  std::vector<std::string> aliases;
  Gpu gpu;                                    ///< bounds the memory rate; its id goes into the profile
  std::string context;                        ///< collections, library versions, clocks, date
  std::string regime = "burst";
  double sustained_slowdown = 1;
  std::vector<GemmTable> gemm;                ///< at least one
  std::vector<AttentionMeasurement> attention;
  std::vector<MemoryMeasurement> memory;      ///< may be empty: 0.8 of the datasheet bandwidth, `assumed`
  std::vector<std::pair<FabricKind, std::vector<CollectiveMeasurement>>> collectives;
  std::vector<ScaleOutLaw> scale_out;
  Spread step_spread;
  std::string step_spread_source;
};

/// A law's name with its held-out error, for reports: "gemm bf16", "all_reduce nvswitch x8".
struct LawError { std::string law; HoldoutError error; };

struct FittedProfile {
  Profile profile;
  std::vector<LawError> errors;
};

/// Fails when a table is too small to fit, naming it.
Expected<FittedProfile> fit_profile(const FitInputs& inputs);

}  // namespace stepcast
