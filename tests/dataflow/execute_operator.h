// What the operators mean, in double precision, on one rank's part of the loops.
#pragma once

#include <string>
#include <vector>

#include "model/network/network.h"

namespace stepcast::dataflow {

/// One rank's part of a copy: arrays of the whole tensor's size, and which elements are there.
struct Part {
  std::vector<double> value;
  std::vector<char> held;
  /// Of attention over a part of the keys: what each result was divided by. Empty: nothing of the kind.
  std::vector<double> sums = {};
};

/// One operator on one rank. `walked[i]` are the indices of loop loops_of(op)[i].
struct RankOperator {
  const Network& net;
  const Operator& op;
  std::vector<std::vector<int>> walked;
};

/// Each reads only held elements, else `error` says which.
Part run_operator(const RankOperator& on, const std::vector<const Part*>& inputs, std::string& error);

/// Contributions to the gradients of `targets` (positions of inputs). `upstream` null: the operator is the loss,
/// gradient one. Inputs and the output that backward must not read are null.
std::vector<Part> run_gradient(const RankOperator& on, const Part* upstream, const std::vector<const Part*>& inputs,
    const Part* output, const std::vector<int>& targets, std::string& error);

}  // namespace stepcast::dataflow
