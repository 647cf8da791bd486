// The words of --imbalance: "ranks=2% lengths=FILE rank=12x1.5".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "sim/job/uneven.h"

namespace stepcast::whatif {

struct NamedSlow {
  bool node = false;  ///< all GPUs of it
  std::int64_t index = 0;
  double factor = 1;
};

/// Rows that experts get: one of the three.
struct ExpertRows {
  double busiest = 0;         ///< of the busiest rank over the mean
  double spread = 0;          ///< standard deviation of an expert's rows over their mean
  std::vector<double> loads;  ///< by expert, in any unit
  std::string file;
};

struct UnevenWords {
  sim::Unevenness uneven;
  std::optional<sim::Documents> documents;  ///< of which the plan knows how long a sequence is
  std::vector<NamedSlow> named;
  double rail = 1;                ///< NICs of one place on all nodes are so many times slower
  std::optional<NamedSlow> link;  ///< so are those of one node
  std::optional<ExpertRows> experts;
};

/// "none" says that work is even, which commands take in place of the words.
inline bool says_even(std::string_view text) { return text == "none"; }

/// Words, separated by blanks:
///   ranks=S           each rank by a factor of its own that lasts, log-normal with this standard deviation
///   micro-batches=S   each micro-batch, the same on all stages
///   actions=S         each forward and each backward by itself
///   slow=NxF          N GPUs, it is not known which, take F times as long
///   rank=IxF,...  node=IxF,...   this GPU or all GPUs of this node, counted from 0, take F times as long
///   rail=F            the NICs of one GPU of each node give 1/F of their rate
///   link=IxF          the NICs of this node give 1/F of their rate
///   law=P5,P50,P95,MOST,MEAN   cost of micro-batches by its percentiles, in any unit
///   costs=FILE        costs of micro-batches, a number on each line
///   lengths=FILE or lengths=P5,P50,P95,MOST,MEAN   lengths of documents in tokens
///   fill=packed|balanced|padded   how they become sequences (default packed)
///   dealt=sorted|balanced         which pipeline gets which micro-batch (default: as they come)
///   experts=1.3x, experts=20% or experts=FILE   rows of the busiest rank over the mean, the standard deviation of an
///                     expert's rows over their mean, or the rows of each expert
/// No factor F is below 1: the slowest sets the pace.
/// Errors: other words, what is no such number, a word twice, nothing.
Expected<UnevenWords> read_unevenness(const std::string& text, const std::string& where);

}  // namespace stepcast::whatif
