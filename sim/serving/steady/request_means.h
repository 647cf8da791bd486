// Requests as a mean field knows them: means and mean squares of their lengths.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/requests.h"

namespace stepcast::sim {

struct RequestMeans {
  double read = 1, read_square = 1;      ///< positions of a prompt that are read: not those of a shared prefix
  double cached = 0;                     ///< those of the prefix
  double output = 1, output_square = 1;  ///< words that are said
  double least_read = 1, most_read = 1;
  double inverse_gaps = 1;   ///< mean of 1 / (output - 1) over requests with more than one word
  std::int64_t longest = 2;  ///< prompt and output of one request, at most

  [[nodiscard]] double output_deviation() const;
  /// Words that a sequence has said behind its prompt while it speaks, over time and all sequences: long ones are met
  /// more often.
  [[nodiscard]] double said() const { return output_square / (2 * output); }
  /// Positions in the cache of a sequence that speaks.
  [[nodiscard]] double context() const { return cached + read + said(); }
  /// Pairs that attention of a prompt makes for each position that is read: those before it, on the average.
  [[nodiscard]] double behind() const { return cached + read_square / (2 * read); }
};

RequestMeans means_of(const RequestLaw& law);
/// Of one request at least.
RequestMeans means_of(const std::vector<ServingRequest>& requests);

}  // namespace stepcast::sim
