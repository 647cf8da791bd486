// Networks that have been built: lowerings that differ in how a network is split share it.
#pragma once

#include <memory>
#include <vector>

#include "model/network/network.h"

namespace stepcast::dataflow {

/// Not for several threads at once.
class BuiltNetworks {
 public:
  /// `spec` must stay as it is, where it is, for as long as this lives.
  std::shared_ptr<const Network> of(const NetworkSpec& spec, const BatchShape& shape, AttentionForm attention);

 private:
  struct Built {
    const NetworkSpec* spec;
    BatchShape shape;
    AttentionForm attention;
    std::shared_ptr<const Network> network;
  };
  std::vector<Built> built_;  ///< the oldest ones first
};

}  // namespace stepcast::dataflow
