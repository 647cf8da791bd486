// Finds records that speak against themselves or against their own group, in any list of measured runs: no names, only
// figures. doubts.h has what people know of single records besides.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stepcast::records {

/// What the checks look at.
struct CheckedRun {
  std::string id;
  std::string group;  ///< one network with one software in one precision on one GPU
  std::string sizes;  ///< within the group: GPUs, batch, sequence, split; all but the micro-batch
  std::int64_t micro_batch = 1;
  double seconds = 0, forecast_s = 0;
  double flops_per_s = 0, peak_flops_per_s = 0;  ///< of one GPU: the model's as measured; the chip's, 0 = not known
  double seconds_by_tokens = 0;                  ///< what its tokens per second mean; 0: it states none
  std::string untold;                            ///< of its split, what it does not say and what decides; empty: none
};

/// Reasons by id, each a sentence with the figures. The checks, in this order:
/// - a split that is not stated;
/// - a rate above what the GPU has;
/// - a time that is 5 % and more off what its own tokens per second mean;
/// - a time of at least four digits that repeats that of an earlier record of the same sizes and micro-batch;
/// - measured over forecast further from the median of its group of four or more than 22 % and 3.5 standard deviations
///   (1.48 x the median distance);
/// - measured over forecast 10 % and more off the straight line (over the logarithm of the micro-batch) between the
///   next smaller and the next larger micro-batch of the same sizes.
/// The last two judge by a forecast: they name at most a tenth of a group (at least one), the farthest first.
std::map<std::string, std::string> doubts_found(const std::vector<CheckedRun>& runs);

}  // namespace stepcast::records
