// Networks that have been placed: lowerings that differ in what no placement asks for (number types of products, the
// order of a schedule) share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataflow/lower/read_plan.h"
#include "dataflow/place/block.h"
#include "model/network/network.h"

namespace stepcast::dataflow {

/// Not for several threads at once.
class PlacedNetworks {
 public:
  /// Keeps so many; some 100 KB each.
  explicit PlacedNetworks(std::size_t most) : most_(most) {}

  /// place() of the plan. Who gives it other sizes puts its own back.
  Expected<std::shared_ptr<PlacedNetwork>> of(const std::shared_ptr<const Network>& network, const ParsedPlan& plan,
      std::int64_t gpus, const PlacingOptions& options);

 private:
  /// All that place() reads.
  struct Known {
    std::shared_ptr<const Network> network;
    std::vector<MeshLine> meshes;
    std::vector<Statement> statements;
    std::int64_t gpus = 0;
    PlacingOptions options;
    std::shared_ptr<PlacedNetwork> placed;
  };
  std::size_t most_;
  std::vector<Known> known_;
  std::size_t oldest_ = 0;
};

}  // namespace stepcast::dataflow
