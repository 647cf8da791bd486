// Turns the works of a lowered step into questions of kernel times. Only own_shapes uses it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataflow/program.h"
#include "model/machine/machine.h"
#include "model/network/network.h"
#include "model/profile/query.h"

namespace stepcast::calibration {

/// What the works were made of.
struct StepSizes {
  const NetworkSpec& network;
  std::int64_t sequence = 1, micro_batch = 1, tensor_ways = 1;
  Precision precision = Precision::bf16;
  [[nodiscard]] double tokens() const { return static_cast<double>(sequence * micro_batch); }
};

/// A kernel and the time that a micro-batch spends on all of its calls.
struct TimedQuery {
  Query query;
  Seconds time;
  double calls = 1;  ///< of one block
};

/// Every kernel of one micro-batch forward and backward that a Query can ask for, block by block, doubles included.
std::vector<TimedQuery> queries_of(const Program& program, const StepSizes& sizes, const Gpu& gpu);

/// One layer of the network that repeats most: its kernels forward, then backward.
struct LayerQueries {
  std::vector<TimedQuery> queries;
  std::vector<std::string> left_out;  ///< labels of works that no Query asks for
};
LayerQueries layer_queries(const Program& program, const StepSizes& sizes, const Gpu& gpu);

}  // namespace stepcast::calibration
