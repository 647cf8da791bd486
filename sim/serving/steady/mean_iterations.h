// Times of iterations that hold so many words and prompts on the average: between whole numbers they are linear.
#pragma once

#include "sim/serving/served_run.h"
#include "sim/serving/steady/request_means.h"

namespace stepcast::sim {

/// Of one group of ranks. The timer must outlive it.
class MeanIterations {
 public:
  MeanIterations(const RequestMeans& means, const BatchTimer& timer) : means_(means), timer_(&timer) {}

  /// Of words alone: one at least.
  [[nodiscard]] double words(double sequences) const;
  /// Of prompts, or pieces of them, with so many positions together, and words beside them.
  [[nodiscard]] double mixed(double sequences, double prompts, double positions) const;

 private:
  [[nodiscard]] double time(double sequences, double prompts, double positions) const;

  RequestMeans means_;
  const BatchTimer* timer_;
};

}  // namespace stepcast::sim
