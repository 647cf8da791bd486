// What one rank of a stage works through in a step: the program of the whole sequence or of each of its slices, and how
// often every block of it runs. Two copies of the model put the chunks of two stages on a rank.
#pragma once

#include <span>
#include <vector>

#include "studies/run/forecast.h"
#include "studies/run/scenario.h"

namespace stepcast::roofline {

class StageWork {
 public:
  /// `prediction` must outlive it.
  StageWork(const Scenario& scenario, const Prediction& prediction);

  /// The whole sequence, or its slices, first to last.
  [[nodiscard]] std::span<const Program> programs() const;
  /// How often one rank of `stage` runs each block in a step, each of programs() so many times.
  [[nodiscard]] std::vector<double> runs(int stage) const;
  /// Executed in the step by matrix products, attention and scans of one rank, repeats and padding counted.
  [[nodiscard]] Flops matrix_flops(int stage) const;

 private:
  const Prediction* prediction_;
  std::vector<Program> slices_;  ///< empty: the sequence is whole
};

}  // namespace stepcast::roofline
