// Gradients that the executor of one rank gives, against finite differences.
#pragma once

#include "model/network/network.h"

namespace stepcast::dataflow {

/// Every gradient of every weight, three elements each, by a central difference.
void expect_true_gradients(const Network& net);

}  // namespace stepcast::dataflow
