// Turns the measurements of one GPU into its Profile. This is the door that commands use.
#pragma once

#include <string>
#include <vector>

#include "calibrate/rows/measurement.h"
#include "calibrate/fit/part_error.h"
#include "calibrate/fit/numeric/refine.h"
#include "model/base/error.h"
#include "model/machine/machine.h"
#include "model/profile/profile.h"

namespace stepcast::calibrate {

struct FitRequest {
  std::string id, name;
  Gpu gpu;        ///< measurements of others are left out, with a note
  Profile start;  ///< laws of what was not measured, with their own sources
  RefineOptions options;
  /// laws of `start` that were fitted stay; corrections and intervals on them are new
  bool keep_laws = false;
};

/// One fitted law for a report: what, whose kernels, and how well it forecast what it had not seen.
struct LawFit {
  std::string law, software;  ///< "gemm bf16", "trtllm 1.3.0rc20"
  HeldOut held_out;
  Spread spread;
  double base_mape = 0;  ///< without correction; 0 where there is none
  double bias = 1;       ///< median of measured / predicted
  int samples = 0;
  HeldOut training = {};              ///< of products, those of training size alone (of_training_size)
  std::vector<PartFit> layouts = {};  ///< of products of training size, where several layouts were timed
};

/// What the law of the sustained slow-down is called; its bias is the factor.
inline constexpr const char* sustained_law_name = "sustained over burst";

struct FittedProfile {
  Profile profile;
  std::vector<LawFit> laws;
  std::vector<std::string> notes;  ///< what was left out and why
};

/// Products are fitted per precision, attention per software and pass, experts per precision, memory-bound operators
/// one by one and together, collectives per kind, fabric and number of ranks. Sustained products give the sustained
/// slow-down, rows with something beside them what moves and products cost each other, warm reads and the fastest rows
/// the roofs, launches the host's costs; throttled bursts nothing. Attention of training is the one with backward
/// samples, else the fastest of those that were timed. Fails where nothing can be fitted.
Expected<FittedProfile> fit_profile(const Measurements& measurements, const FitRequest& request);

}  // namespace stepcast::calibrate
