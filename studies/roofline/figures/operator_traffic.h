// Counts the bytes that one call of a kernel moves to and from device memory, and between L2 and the multiprocessors.
#pragma once

#include <string>

#include "dataflow/program.h"
#include "model/machine/machine.h"
#include "sim/cost.h"

namespace stepcast::roofline {

struct OperatorTraffic {
  /// with what waves of tiles read again because L2 does not hold it, and with casts beside the kernel
  Bytes hbm;
  Bytes l2;             ///< never below what the kernel itself moves to and from device memory
  std::string l2_from;  ///< "tiles of 256 x 128, waves of 12 x 11", "queries in blocks of 128", "each byte once"
};

/// HBM bytes are what a profiler's counters would show. Prices differ in one point: a law fitted on measured products
/// takes every byte once, for its rates have seen what is read again (sim/cost/kernel.cpp).
/// `parts` = CostModel::parts(work). A GPU whose file says neither multiprocessors nor L2 has every byte once on both
/// levels.
OperatorTraffic operator_traffic(const KernelWork& work, const WorkParts& parts, const Gpu& gpu);

}  // namespace stepcast::roofline
