// One operator on one rank with what it reads. Whatever a rank does not hold is an error that names the element.
#pragma once

#include <array>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tests/dataflow/execute_operator.h"
#include "tests/dataflow/operators/walk.h"

namespace stepcast::dataflow::operators {

bool contains(const std::vector<int>& list, int value);
double logistic(double x);

constexpr double not_read = std::numeric_limits<double>::quiet_NaN();

class OperatorRun {
 public:
  /// `upstream` and `output` are those of a backward pass; null: the gradient is one, the output must not be read.
  OperatorRun(const RankOperator& on, const std::vector<const Part*>& inputs, const Part* upstream, const Part* output,
      std::string& error)
      : net(on.net), op(on.op), walk(on), inputs_(inputs), upstream_(upstream), output_(output), error_(error) {}

  /// `start` on every element of an access that the rank walks; position 0 is the output, 1 + i is input i.
  [[nodiscard]] Part blank(int position, double start) const;

  double at_offset(int input, int offset) {
    const Part* part = inputs_[input];
    if (!part) return not_read;
    return part->held[offset] ? part->value[offset] : missing(op.inputs[input].tensor, offset);
  }
  double in(int input, const Offsets& at) { return at_offset(input, at[1 + input]); }
  /// Gradient of the output's element.
  double up_at(int offset) {
    if (!upstream_) return 1;
    return upstream_->held[offset] ? upstream_->value[offset] : missing(op.output.tensor, offset);
  }
  double up(const Offsets& at) { return up_at(at[0]); }
  /// The output's element, in a backward pass.
  double made(int offset) {
    if (!output_) return not_read;
    return output_->held[offset] ? output_->value[offset] : missing(op.output.tensor, offset);
  }
  double product(const Offsets& at, int except);
  /// The inputs' elements, in order; valid until the next call.
  std::span<const double> operands(const Offsets& at);

  [[nodiscard]] int inputs() const { return static_cast<int>(op.inputs.size()); }
  [[nodiscard]] int last_loop(int input) const { return op.inputs[input].loops.back(); }
  [[nodiscard]] int extent(int loop) const { return static_cast<int>(net.dims[loop].extent); }

  const Network& net;
  const Operator& op;
  Walk walk;

 private:
  double missing(int tensor, int offset);

  const std::vector<const Part*>& inputs_;
  std::array<double, most_accesses> operands_{};
  const Part* upstream_;
  const Part* output_;
  std::string& error_;
};

}  // namespace stepcast::dataflow::operators
