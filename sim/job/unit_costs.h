// What the micro-batches of a step cost where their sequences differ in length, and which pipeline gets which of them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/job/draws.h"

namespace stepcast::sim {

/// Of one micro-batch over one that is full of whole sequences: its tokens, and the pairs of tokens that attend.
struct UnitCost {
  double linear = 1, quadratic = 1;
  /// With the share of the time that goes into attending.
  [[nodiscard]] double with(double attending) const { return linear * (1 - attending) + quadratic * attending; }
};

/// How documents become sequences.
enum class Fill : std::uint8_t {
  packed,    ///< one behind the other, cut at the end of a sequence; no token sees another document
  balanced,  ///< packed, too, but those of a step the longest first, each where the fewest pairs attend
  padded,    ///< each is one sequence, filled up to the longest of its micro-batch
};

struct Documents {
  std::vector<double> lengths;  ///< tokens; one is as likely as another, and what is longer than a sequence is cut
  Fill fill = Fill::packed;
  double sequence = 1;         ///< tokens of a whole one
  std::int64_t sequences = 1;  ///< of a micro-batch
};
std::vector<UnitCost> filled_units(const Documents& documents, std::int64_t count, Draws& draws);

/// Who gets which micro-batch of a step.
enum class Dealing : std::uint8_t {
  as_they_come,
  sorted,    ///< by cost, so that pipelines work at much the same at a time (batches by length)
  balanced,  ///< the costliest first, each to the pipeline with the least so far (Graham 1969, doi 10.1137/0117039)
};
/// Puts micro-batches in order: those of the first of `copies` pipelines, of the second, ...; each has as many.
void deal(std::vector<UnitCost>& units, std::int64_t copies, double attending, Dealing dealing);

}  // namespace stepcast::sim
