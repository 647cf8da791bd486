// Decides whether a timed kernel is the operator of a point. Shape, pass and type must all be equal.
#pragma once

#include "model/profile/query.h"
#include "studies/roofline/figures/operator_points.h"

namespace stepcast::roofline {

/// Matrix products: the work's own m, n, k and batch under the layout of its pass (tn forward, nn input gradient, nt
/// weight gradient with m and n turned; narrow types run all as tn). Attention: keys, head size, FLOPs (which count
/// sequences and heads) within 0.1 % and bytes (which count heads of keys) within 5 %. Memory-bound operators: the op
/// that the name stands for, bytes within 10 %. Layers of experts, collectives, copies and launches never are.
bool is_same_kernel(const Query& query, const OperatorPoint& point);

}  // namespace stepcast::roofline
