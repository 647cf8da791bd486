// Says what a picture must tell of a point that its frame does not hold or that no machine could reach. Nothing is
// clamped.
#pragma once

#include <string>

#include "studies/roofline/figures/roofs.h"

namespace stepcast::roofline {

std::string flops_per_byte_text(double flops_per_byte);  ///< "412 FLOP/B"
std::string large_intensity(double flops_per_byte);      ///< "6.57 G", "1.75 P"

/// Work without FLOPs has flops_per_byte and rate 0; bandwidth is that of device memory.
struct RoofPoint {
  Precision precision = Precision::bf16;
  double flops_per_byte = 0;
  FlopsPerSecond rate;
  BytesPerSecond bandwidth;
};

/// Rate over the datasheet's roof at its intensity, of work without FLOPs bandwidth over the datasheet's; 0 = no such
/// roof.
double share_of_roof(const Roofs& roofs, const RoofPoint& point);

/// "" inside; "no FLOPs counted", "0.02 FLOP/B lies left of the frame", both sides joined by a comma.
std::string outside_frame(const Frame& frame, double flops_per_byte, FlopsPerSecond rate);

/// "" up to 1 % above; else by how much the point lies above the datasheet's roof or the measured burst one, and what
/// to check.
std::string above_roof(const Roofs& roofs, const RoofPoint& point);

}  // namespace stepcast::roofline
