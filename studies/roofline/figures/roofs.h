// The roofs of one GPU: how fast it can multiply and how fast bytes can reach it, by datasheet and as measured, and the
// frame of the picture, which follows from the datasheet alone so that two reports of one GPU lie over each other.
// Roofline: Williams, Waterman, Patterson, CACM 52(4), 2009. Hierarchical: Yang, Kurth, Williams, arXiv 2009.05257.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/machine/machine.h"
#include "model/profile/profile.h"

namespace stepcast::roofline {

/// What a roof rests on. burst and sustained are the highest rates that were measured (Profile::roofs); fitted is the
/// rate that a law of the profile tends to for large work; assumed has no measurement and no datasheet behind it.
enum class RoofBasis : std::uint8_t { datasheet, burst, sustained, fitted, assumed };
const char* to_text(RoofBasis basis);
/// Drawn solid: somebody timed it.
inline bool is_measured(RoofBasis basis) { return basis != RoofBasis::datasheet && basis != RoofBasis::assumed; }

enum class MemoryLevel : std::uint8_t { hbm, l2 };
const char* to_text(MemoryLevel level);  ///< "HBM", "L2"

struct ComputeRoof {
  Precision precision = Precision::bf16;
  RoofBasis basis = RoofBasis::datasheet;
  FlopsPerSecond rate;
  std::string from;  ///< "datasheet, dense", "8192 x 8192 x 8192", "law of matrix products, bursts"
};

std::string basis_text(const ComputeRoof& roof);  ///< "datasheet", "fitted", "sustained fit"

struct MemoryRoof {
  MemoryLevel level = MemoryLevel::hbm;
  RoofBasis basis = RoofBasis::datasheet;
  BytesPerSecond rate;
  std::string from;
};

/// Where a slope meets a flat roof: with fewer FLOPs per byte memory limits, with more the multiply-adds do.
struct Ridge {
  Precision precision = Precision::bf16;
  MemoryLevel level = MemoryLevel::hbm;
  /// of the compute roof: the datasheet's, or the fastest measured, then over measured HBM
  RoofBasis basis = RoofBasis::datasheet;
  double flops_per_byte = 0;
  FlopsPerSecond rate;
};

/// Powers of ten at the ends of both axes: x in FLOP/B, y in FLOP/s.
struct Frame {
  int x_low = 0, x_high = 4, y_low = 12, y_high = 16;
  friend bool operator==(const Frame&, const Frame&) = default;
};

struct Roofs {
  std::vector<ComputeRoof> compute;  ///< by precision, the datasheet's first
  std::vector<MemoryRoof> memory;    ///< HBM, then L2; the datasheet's (or assumed) first
  std::vector<Ridge> ridges;
  Frame frame;
  std::vector<std::string> notes;  ///< what no roof could be drawn of, and why

  /// The datasheet's (L2: the best known); 0 where there is none.
  [[nodiscard]] FlopsPerSecond peak(Precision precision) const;
  [[nodiscard]] BytesPerSecond bandwidth(MemoryLevel level) const;
  /// For a precision without a peak, the one that prices fall back on (sim/cost): bf16, fp16, tf32 or fp32.
  [[nodiscard]] Precision limiting(Precision precision) const;
  [[nodiscard]] bool measured(MemoryLevel level) const;
};

/// The frame, in whole decades: x from a decade below the lowest ridge of the datasheet's HBM slope to a decade above
/// the highest, y from what that slope gives at the left edge to the decade above the highest peak; x holds 1 to 10,000
/// FLOP/B in any case. Nothing measured moves it.
/// A profile of another GPU gives no roof, a law that nobody timed here (transferred, datasheet, assumed) none either:
/// notes say so.
Roofs roofs_of(const Gpu& gpu, const Profile& profile);

}  // namespace stepcast::roofline
