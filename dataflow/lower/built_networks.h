// Networks that have been built, and placed: lowerings that differ in how a network is split share the first.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "dataflow/lower/fuse/block_facts.h"
#include "dataflow/lower/placed_networks.h"
#include "model/network/network.h"

namespace stepcast::dataflow {

/// Not for several threads at once.
class BuiltNetworks {
 public:
  BuiltNetworks() : BuiltNetworks(0) {}
  /// So many placements are kept for lowerings that share them.
  explicit BuiltNetworks(std::size_t most_placed) : placed_(most_placed) {}

  /// `spec` must stay as it is, where it is, for as long as this lives.
  std::shared_ptr<const Network> of(const NetworkSpec& spec, const BatchShape& shape, AttentionForm attention);
  /// Of a network that of() gave last.
  [[nodiscard]] std::shared_ptr<const NetworkFacts> facts(const std::shared_ptr<const Network>& network) const;
  [[nodiscard]] PlacedNetworks& placed() { return placed_; }

 private:
  struct Built {
    const NetworkSpec* spec;
    BatchShape shape;
    AttentionForm attention;
    std::shared_ptr<const Network> network;
    std::shared_ptr<const NetworkFacts> facts;
  };
  std::vector<Built> built_;  ///< the oldest ones first
  PlacedNetworks placed_;
};

}  // namespace stepcast::dataflow
