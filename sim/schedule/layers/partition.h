// Splits a model's layers over pipeline stages so that the slowest stage is as fast as can be: a pipeline's pace is
// that of its slowest stage, and embedding, output head and loss make the first and the last one slow.
#pragma once

#include <vector>

#include "model/base/error.h"

namespace stepcast::sim {

/// Costs are times, or anything that adds up, of one micro-batch.
struct PartitionProblem {
  std::vector<double> layers;  ///< cost of each, in order
  double embedding = 0;        ///< on the first stage
  double head = 0, loss = 0;   ///< on the last stage
  int stages = 1;
  /// First and last stage may hold embedding or head alone, as Megatron-LM's pipeline layouts allow ("E|t|t|L").
  bool bare_ends = false;
};

struct Partition {
  std::vector<int> layers;    ///< how many each stage holds
  std::vector<double> cost;   ///< of each stage, with embedding, head and loss
  double most = 0, mean = 0;  ///< over stages
  /// 1 = all alike; a pipeline with many micro-batches takes this many times as long as one that is.
  [[nodiscard]] double imbalance() const { return mean > 0 ? most / mean : 1; }
};

/// Stages whose ranks are of several kinds, on each of which a layer has its own cost.
struct UnlikeStages {
  std::vector<PartitionProblem> kinds;  ///< the same layers, stages and ends in all
  std::vector<int> kind_of_stage;
};

/// Splits that cannot be better in the slowest stage without a larger sum over stages: of a front from the least
/// maximum to the least sum, up to two dozen. Exact but for the steps along it. Errors: those of split_layers().
Expected<std::vector<std::vector<int>>> split_front(const UnlikeStages& stages);

/// Contiguous stages with the least possible maximum; among those, the least sum of squares. Exact: dynamic
/// programming, O(stages x layers^2).
Expected<Partition> split_layers(const PartitionProblem& problem);

/// The same number of layers everywhere; where they do not divide, the first stages hold one more.
Expected<Partition> split_evenly(const PartitionProblem& problem);

/// The stages as given; fails unless the counts add up to all layers.
Expected<Partition> split_as(const PartitionProblem& problem, const std::vector<int>& layers);

}  // namespace stepcast::sim
