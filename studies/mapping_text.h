// The parallelism flags as text of the notation: what the flags mean is what this text means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "studies/flags.h"

namespace stepcast {

/// A split as the flags state it, checked.
struct Split {
  std::int64_t tp = 1, cp = 1, dp = 1, pp = 1, chunks = 1;
  bool experts = false;          ///< the network has experts: a second mesh line factors the same ranks for them
  std::int64_t ep = 1, etp = 1;
  [[nodiscard]] std::int64_t edp() const { return tp * cp * dp / (ep * etp); }
  bool vocabulary = false;       ///< embedding and LM head split over tp
  bool sequence = false;         ///< sequence parallelism beside tp
  std::int64_t zero = 1;
  Recompute recompute;
  bool recompute_whole = false;  ///< the stack runs a recomputed region to its end
  std::string schedule = "1f1b";
  std::int64_t micro_batches = 1;
  std::vector<std::int64_t> layers;  ///< per virtual stage, in forward order; empty: the same number on all
};

/// Three to five lines:
///   mesh tp:8 cp:1 dp:16 pp:4
///   use tp, vocab, sp, dp, zero1
///   par layer on pp sched 1f1b for mb:64
///   recompute attn.core
///   save O at use
/// Axes of size 1 stay in the mesh, since the aliases name them.
std::string mapping_text(const Split& split);

}  // namespace stepcast
