// Number types as torch.autocast gives them.
#pragma once

#include "model/network/network.h"

namespace stepcast {

/// Weights keep their wide type, and each product reads a cast of them. Products, attention, scans and convolutions
/// read and give numbers of `narrow` bytes; what looks rows up, adds, scales or norms gives the widest type that it
/// reads (PyTorch's page "Automatic Mixed Precision package": the ops that autocast to a lower type, and those that
/// promote; it casts a weight once per forward, which is what a block's operators are). Casts are operators of their
/// own, in front of the kernel that reads them.
void autocast(Network& network, double narrow);

}  // namespace stepcast
