// Lists the kernels that one network's training steps run on one GPU. Measuring should know these exactly before
// anything else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/machine/machine.h"
#include "model/network/network.h"
#include "model/profile/query.h"
#include "model/stack.h"

namespace stepcast::calibration {

struct OwnShapesRequest {
  Gpu gpu;                                ///< weighs the shapes: by the time they take there
  Stack stack;                            ///< what is fused; `network` runs under it
  Precision precision = Precision::bf16;  ///< of the projections
  std::int64_t sequence = 0;              ///< 0 = the network's own
  std::int64_t micro_batch = 1;           ///< of layer_shapes()
};

/// Products forward and backward, fused attention and memory-bound operators of the network's training step, as lower()
/// says, split 1, 2, 4 and 8 ways over tensor-parallel ranks (those that divide; experts are dealt out over the same
/// ranks, and over 8 that split nothing else), with one sequence per micro-batch, and 2 and 4 where sequences are
/// short. Heaviest share of a step first, none twice. Experts' grouped products are single ones of their mean rows.
/// Latent attention is asked for with the head size of its queries. The optimizer is not among them: its time depends
/// on nothing but its bytes. Fails where the network does not run at all: a sequence beyond its positions.
Expected<std::vector<Query>> own_shapes(const NetworkSpec& network, const OwnShapesRequest& request);

/// One layer of a network on one GPU: every call of a forward and a backward pass in turn.
struct LayerShapes {
  std::vector<Query> calls;
  std::vector<std::string> left_out;  ///< what of the layer no kernel of this program times, by its label
};
/// Of the layer that repeats most. Fails as own_shapes() does.
Expected<LayerShapes> layer_shapes(const NetworkSpec& network, const OwnShapesRequest& request);

}  // namespace stepcast::calibration
