#include "tests/dataflow/operators/operator_run.h"

#include <algorithm>
#include <cmath>

namespace stepcast::dataflow::operators {

bool contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

Part OperatorRun::blank(int position, double start) const {
  const Access& access = position == 0 ? op.output : op.inputs[position - 1];
  Part part;
  part.value.assign(static_cast<std::size_t>(net.elements(access.tensor)), 0);
  part.held.assign(part.value.size(), 0);
  walk.each([&](int loop) { return contains(access.loops, loop); },
      [&](const Offsets& at) {
        part.value[at[position]] = start;
        part.held[at[position]] = 1;
      });
  return part;
}

double OperatorRun::product(const Offsets& at, int except) {
  double p = 1;
  for (int i = 0; i < inputs(); ++i)
    if (i != except) p *= in(i, at);
  return p;
}

std::span<const double> OperatorRun::operands(const Offsets& at) {
  for (int i = 0; i < inputs(); ++i) operands_[i] = in(i, at);
  return {operands_.data(), op.inputs.size()};
}

double OperatorRun::missing(int tensor, int offset) {
  if (error_.empty())
    error_ = op.name + " reads element " + std::to_string(offset) + " of " + net.tensors[tensor].name +
             ", which its rank does not hold";
  return not_read;
}

}  // namespace stepcast::dataflow::operators
