// What the operators compute that are neither a sum of products nor pointwise, forward and backward. A gradient adds to
// `grad`, that of input `i`.
#pragma once

#include "tests/dataflow/operators/operator_run.h"

namespace stepcast::dataflow::operators {

void attention(OperatorRun& run, Part& out);
void attention_gradient(OperatorRun& run, int i, Part& grad);
void pick_keys(OperatorRun& run, Part& out);  ///< "index"

void scan(OperatorRun& run, Part& out);
void scan_gradient(OperatorRun& run, int i, Part& grad);
void convolve(OperatorRun& run, Part& out);
void convolve_gradient(OperatorRun& run, int i, Part& grad);

void rotate(OperatorRun& run, Part& out);  ///< "rope"
void rotate_gradient(OperatorRun& run, int i, Part& grad);
void softmax(OperatorRun& run, Part& out);
void softmax_gradient(OperatorRun& run, int i, Part& grad);

void select(OperatorRun& run, Part& out);
void select_gradient(OperatorRun& run, int i, Part& grad);
void append(OperatorRun& run, Part& out);
void compress(OperatorRun& run, Part& out);
void compress_gradient(OperatorRun& run, int i, Part& grad);
void part(OperatorRun& run, Part& out);
void part_gradient(OperatorRun& run, int i, Part& grad);
void join(OperatorRun& run, Part& out);
void join_gradient(OperatorRun& run, int i, Part& grad);

void mean(OperatorRun& run, Part& out);
void mean_gradient(OperatorRun& run, int i, Part& grad);
void fill(OperatorRun& run, Part& out);
void fill_gradient(OperatorRun& run, int i, Part& grad);

void choose(OperatorRun& run, Part& out);  ///< "top_k"
void choose_gradient(OperatorRun& run, int i, Part& grad);
void dispatch(OperatorRun& run, Part& out);
void dispatch_gradient(OperatorRun& run, int i, Part& grad);
void combine(OperatorRun& run, Part& out);
void combine_gradient(OperatorRun& run, int i, Part& grad);

}  // namespace stepcast::dataflow::operators
